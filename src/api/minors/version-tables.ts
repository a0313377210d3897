/**
 * What each minor of Kubernetes serves, as intervals: `versions.json` and `former-tables.json`, whose `legend` explains
 * every key. Both are read from the last patch of each minor; `docs/next-minor.md` tells how they grow.
 */
import type { FieldDefinition, FieldTableFile, ModelDefinition } from '../model/model.ts';
import former from './former-tables.json' with { type: 'json' };
import versions from './versions.json' with { type: 'json' };

/** From and to which minor something is there; without an end, from the first or to the last. */
export interface Interval {
  readonly since?: string;
  readonly until?: string;
  /** The minors, where they have a gap. */
  readonly served?: readonly string[];
}

/** One value, or one from each minor on: `{ "1.22": …, "1.27": … }`. */
export type ByMinor<T> = T | Readonly<Record<string, T>>;

export interface ResourceRow extends Interval {
  readonly kind: string;
  readonly namespaced: boolean;
  readonly singular: string;
  readonly verbs: ByMinor<readonly string[]>;
  readonly short?: readonly string[];
  readonly categories?: readonly string[];
  readonly default: boolean;
  readonly gate?: string;
  readonly stored?: ByMinor<string>;
  readonly deprecated?: ByMinor<string>;
  readonly removed?: ByMinor<string>;
  readonly replacement?: ByMinor<string>;
  readonly subresources?: Readonly<Record<string, SubresourceRow>>;
}

interface SubresourceRow extends Interval {
  readonly verbs: readonly string[];
  readonly kind?: string;
  readonly gate?: string;
}

export interface FieldRow extends Interval {
  readonly model?: Readonly<Record<string, string>>;
  readonly gate?: string;
  readonly off?: string;
  readonly whenOff?: 'kept' | 'refused' | 'ignored';
  readonly empty?: Readonly<Record<string, 'null' | 'zero' | null>>;
}

interface TypeRow extends Interval {
  readonly fields?: Readonly<Record<string, FieldRow>>;
}

type ColumnRow = readonly [name: string, type: string, format: string, priority: number];

export interface VersionTables {
  readonly minors: Readonly<Record<string, string>>;
  readonly groupVersions: Readonly<
    Record<
      string,
      Interval & {
        readonly priority?: ByMinor<readonly number[]>;
        readonly resources: Readonly<Record<string, ResourceRow>>;
      }
    >
  >;
  readonly types: Readonly<Record<string, Readonly<Record<string, TypeRow>>>>;
  readonly gates: Readonly<Record<string, Readonly<Record<string, string | null>>>>;
  readonly values: Readonly<Record<string, Readonly<Record<string, Readonly<Record<string, Interval>>>>>>;
  readonly openapi: Readonly<
    Record<string, Record<string, Record<string, Record<string, readonly [before: unknown, after: unknown]>>>>
  >;
  readonly columns: Readonly<Record<string, Readonly<Record<string, readonly ColumnRow[] | null>>>>;
  readonly admission: Readonly<Record<string, Readonly<Record<string, readonly string[]>>>>;
}

type Last<T> = T & { readonly last?: string };

export interface FormerTables {
  readonly tables: Readonly<
    Record<string, FieldTableFile & { readonly last: Readonly<Record<string, string>> }>
  >;
  readonly gone: Readonly<
    Record<
      string,
      {
        readonly fields?: Readonly<Record<string, Readonly<Record<string, Last<FieldDefinition>>>>>;
        readonly models?: Readonly<Record<string, Last<ModelDefinition>>>;
      }
    >
  >;
}

export const versionTables: VersionTables = versions;
export const formerTables: FormerTables = former;

/** `1.29` → 29. */
export const minorOf = (version: string): number => Number(version.split('.')[1]);

/** Whether an interval holds a minor. */
export const holds = ({ since, until, served }: Interval, minor: number): boolean =>
  (since === undefined || minorOf(since) <= minor) &&
  (until === undefined || minorOf(until) >= minor) &&
  (served === undefined || served.includes(`1.${minor}`));

/** The value of the newest minor that is not after this one; undefined: there was none yet. */
export function valueAt<T>(values: Readonly<Record<string, T>>, minor: number): T | undefined {
  let found: T | undefined;
  let from = -1;
  for (const [version, value] of Object.entries(values))
    if (minorOf(version) <= minor && minorOf(version) > from) {
      found = value;
      from = minorOf(version);
    }
  return found;
}

/** The same, of what may be one value for all minors. */
export const inForce = <T extends string | readonly unknown[]>(
  value: ByMinor<T> | undefined,
  minor: number,
): T | undefined =>
  value === undefined || typeof value === 'string' || Array.isArray(value)
    ? (value as T | undefined)
    : valueAt(value as Readonly<Record<string, T>>, minor);
