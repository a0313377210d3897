/**
 * What can be done with an object, beside editing and deleting it. Each action says beforehand what it would do, and how
 * kubectl would. A new one is an entry in `actions`.
 */
import { type Kind, kindOf } from '../../core/kinds.ts';
import type { ApiObject } from '../../core/objects.ts';
import { may } from '../../core/rights.ts';
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

/** An action ready to be shown, with what it needs to know, such as the existing revisions. */
export interface Plan {
  readonly fields: readonly Field[];
  /** The objects that it is for, where there may be many. */
  readonly objects?: readonly {
    readonly uid: string;
    readonly namespace: string | undefined;
    readonly name: string;
  }[];
  /** What has to be typed before it can be carried out. */
  readonly confirmation?: string | undefined;
  readonly isDanger?: boolean;
  /** What would be done, one sentence each. */
  readonly steps: (values: Values) => readonly string[];
  readonly commands: (values: Values) => readonly string[];
  /** Carries it out and reports progress. Throws the server's refusal. */
  readonly run: (values: Values, tell: (progress: string) => void, signal: AbortSignal) => Promise<void>;
}

/** A right: to the object, a part of it, or another kind in its namespace. */
interface Need {
  readonly verb: string;
  readonly subresource?: string;
  readonly kind?: string;
}

export interface Action {
  readonly id: string;
  readonly title: string;
  readonly applies: (target: Target) => boolean;
  /** What the user must be allowed to do; most change the object itself. */
  readonly needs?: readonly Need[];
  readonly plan: (target: Target) => Promise<Plan>;
}

const actions: readonly Action[] = [scale, restart, rollBack, trigger, cordon, uncordon, drain, evict];

const change: readonly Need[] = [{ verb: 'patch' }];

/** Those that fit an object and that the user may do. */
export const actionsOf = (target: Target): readonly Action[] =>
  actions.filter(
    ({ applies, needs = change }) => applies(target) && needs.every((need) => isAllowed(target, need)),
  );

const isAllowed = ({ kind, object }: Target, { verb, subresource, kind: other }: Need): boolean =>
  may(verb, other === undefined ? kind : kindOf(other), {
    namespace: object.metadata.namespace,
    subresource,
    ...(other === undefined ? { name: object.metadata.name } : {}),
  });
