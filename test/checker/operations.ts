/** What clients did, and the answers. Times are ticks of one logical clock, so that operations can be ordered. */
import type { Scope, Told } from './log.ts';

interface Timed {
  readonly client: number;
  readonly begun: number;
  /** Infinity: there was no answer, so the outcome is unknown. */
  readonly ended: number;
}

/** The state a write asks for; fields it does not name are kept. */
export interface Wanted {
  readonly mark: string;
  readonly base?: string;
  readonly colour?: string | null;
}

export type WriteOutcome =
  /** Not every deletion's answer has a version. */
  | { readonly ok: true; readonly version: number | undefined; readonly uid: string; readonly text?: string }
  | { readonly ok: false; readonly because: 'exists' | 'conflict' | 'missing' }
  | 'unknown';

export interface WriteOperation extends Timed {
  readonly kind: 'write';
  readonly verb: 'create' | 'update' | 'patch' | 'delete';
  readonly key: string;
  /** Undefined for a deletion. */
  readonly wanted: Wanted | undefined;
  /** The resourceVersion precondition. */
  readonly expected: number | undefined;
  readonly outcome: WriteOutcome;
}

export interface ReadOperation extends Timed {
  readonly kind: 'read';
  readonly key: string;
  readonly found: { readonly version: number; readonly text: string } | undefined;
}

export interface ListOperation extends Timed {
  readonly kind: 'list';
  readonly scope: Scope;
  /** The version of each page. */
  readonly versions: readonly number[];
  /** The version that was requested, instead of the newest. */
  readonly exact: number | undefined;
  readonly items: readonly Omit<Told, 'type'>[];
  /** The last pages could not be read any more (410). */
  readonly cut: boolean;
}

/** A version that the server reported as too old. */
export interface Expiry {
  readonly what: string;
  readonly version: number;
  /** The newest version that any client had seen by then. */
  readonly newestKnown: number;
}

export type Operation = WriteOperation | ReadOperation | ListOperation;

export class Clock {
  #now = 0;

  tick(): number {
    this.#now += 1;
    return this.#now;
  }
}
