/** What clients did and were answered. Times are ticks of one clock, so that it can be told what came before what. */
import type { Scope, Told } from './log.ts';

interface Timed {
  readonly client: number;
  readonly begun: number;
  /** Infinity: nobody knows what came of it. */
  readonly ended: number;
}

/** What a write was to leave behind; what it does not name stays as it was. */
export interface Wanted {
  readonly mark: string;
  readonly base?: string;
  readonly colour?: string | null;
}

export type WriteOutcome =
  /** Deletions do not all tell their version. */
  | { readonly ok: true; readonly version: number | undefined; readonly uid: string; readonly text?: string }
  | { readonly ok: false; readonly because: 'exists' | 'conflict' | 'missing' }
  | 'unknown';

export interface WriteOperation extends Timed {
  readonly kind: 'write';
  readonly verb: 'create' | 'update' | 'patch' | 'delete';
  readonly key: string;
  /** undefined for a deletion. */
  readonly wanted: Wanted | undefined;
  /** The version it insists on. */
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
  /** The version that was asked for, instead of the newest. */
  readonly exact: number | undefined;
  readonly items: readonly Omit<Told, 'type'>[];
  /** The last pages were not to be had any more. */
  readonly cut: boolean;
}

/** A version was said to be too old. */
export interface Expiry {
  readonly what: string;
  readonly version: number;
  /** The newest version anybody had heard of by then. */
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
