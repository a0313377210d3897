/**
 * The format of data files and backups. The number goes up when an older version could not read the data:
 *
 *   1  keys begin with the plural of a resource, as in `deployments`
 *   2  keys begin with the group and the resource, as in `apps/deployments`
 *
 * The store does not know what its keys mean. Callers that open data of a former format pass a mapping of its keys to
 * those of today.
 */
import { SEPARATOR } from './store.ts';

export const FORMAT = 2;

/** A data file of format 2 that names a journal (`journaled-engine.ts`): what it lacks is there. The next format is 4. */
export const JOURNALED = 3;

/** Unknown resources listed in a message. */
const NAMED_MAX = 20;

export interface Upgrade {
  /** The format it upgrades from. */
  readonly from: number;
  /** Today's form of a key; undefined when it is unknown. An unknown key is kept as it is. */
  key(former: string): string | undefined;
}

/** The result of an upgrade. */
export interface Upgraded {
  readonly objects: number;
  /** First segments of unknown keys, each once. Their values are kept, but not served. */
  readonly unknown: readonly string[];
}

/** Renames the keys of one data file or backup, and records unknown ones. */
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

/** The result of the upgrade of a data folder, for the operator. */
export function upgradedSentence(dataDir: string, { objects, unknown }: Upgraded): string {
  const taken = `the data folder ${dataDir} had a former format, and was taken over with ${objects} objects`;
  return unknown.length ? `${taken}; ${unknownSentence(unknown)}` : taken;
}

export const unknownSentence = (unknown: readonly string[]): string =>
  `this version does not know ${unknown.join(', ')}: what is there of them is kept, and not shown`;
