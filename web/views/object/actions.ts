/**
 * What can be done with an object, beside editing and deleting it. Each action says beforehand what it would do, and how
 * kubectl would. A new one is an entry in `actions`.
 */
import type { Kind } from '../../core/kinds.ts';
import type { ApiObject } from '../../core/objects.ts';
import { cordon, drain, evict, uncordon } from './node-actions.ts';
import { restart, rollBack, scale, trigger } from './workload-actions.ts';

export interface Field {
  readonly name: string;
  readonly label: string;
  readonly type: 'number' | 'text' | 'choice';
  readonly initial: string;
  readonly optional?: boolean;
  readonly choices?: readonly { readonly value: string; readonly label: string }[];
}

export type Values = Readonly<Record<string, string>>;

export interface Target {
  readonly kind: Kind;
  readonly object: ApiObject;
}

/** What an action needs to know before it can be shown, such as the revisions there are. */
export interface Plan {
  readonly fields: readonly Field[];
  /** What would be done, one sentence each. */
  readonly steps: (values: Values) => readonly string[];
  readonly commands: (values: Values) => readonly string[];
  /** Does it; tells how far it is. Throws what the server refuses. */
  readonly run: (values: Values, tell: (progress: string) => void, signal: AbortSignal) => Promise<void>;
}

export interface Action {
  readonly id: string;
  readonly title: string;
  readonly applies: (target: Target) => boolean;
  readonly plan: (target: Target) => Promise<Plan>;
}

const actions: readonly Action[] = [scale, restart, rollBack, trigger, cordon, uncordon, drain, evict];

export const actionsOf = (target: Target): readonly Action[] =>
  actions.filter(({ applies }) => applies(target));
