/**
 * The format of what is kept, in data files and in backups. The number goes up when an older version could not read it:
 *
 *   1  keys begin with the plural of a resource, as in `deployments`
 *   2  keys begin with the group and the resource, as in `apps/deployments`
 *
 * The store does not know what its keys mean. Code that opens a store or a backup of a former format hands in how the
 * former keys are called now.
 */
import { SEPARATOR } from './store.ts';

export const FORMAT = 2;

/** Unknown resources that are named; there may be any number. */
const NAMED_MAX = 20;

export interface Upgrade {
  /** The format it upgrades from. */
  readonly from: number;
  /** What a key is called now; undefined when it is unknown. An unknown key is kept as it is. */
  key(former: string): string | undefined;
}

/** What an upgrade found. */
export interface Upgraded {
  readonly objects: number;
  /** First segments of keys that were unknown, each once. What they hold is kept, and not shown. */
  readonly unknown: readonly string[];
}

/** Renames the keys of one data file or backup, and notes which were unknown. */
export class Renaming {
  readonly #unknown = new Set<string>();

  constructor(private readonly upgrade: Upgrade) {}

  get unknown(): string[] {
    return [...this.#unknown];
  }

  key(former: string): string {
    const now = this.upgrade.key(former);
    if (now === undefined && this.#unknown.size < NAMED_MAX)
      this.#unknown.add(former.split(SEPARATOR, 1)[0]!);
    return now ?? former;
  }
}

/** `reads format 2`, or `reads formats 1 and 2` where there is an upgrade. */
export const readableFormats = (upgrade: Upgrade | undefined): string =>
  upgrade ? `formats ${upgrade.from} and ${FORMAT}` : `format ${FORMAT}`;

/** What became of a data folder of a former format, for the operator. */
export function upgradedSentence(dataDir: string, { objects, unknown }: Upgraded): string {
  const taken = `the data folder ${dataDir} had a former format, and was taken over with ${objects} objects`;
  return unknown.length ? `${taken}; ${unknownSentence(unknown)}` : taken;
}

export const unknownSentence = (unknown: readonly string[]): string =>
  `this version does not know ${unknown.join(', ')}: what is there of them is kept, and not shown`;
