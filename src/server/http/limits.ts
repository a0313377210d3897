/**
 * Limits: the one table of all bounds on counts, sizes and times. Each is set by an option; `/metrics` shows its
 * value under the option's name, and how often it was reached.
 */

// Where a default is computed its type is written, so that the package's types can be made of this file alone.
const kibibyte = 1024;
const mebibyte = 1024 * kibibyte;
const gibibyte = 1024 * mebibyte;

/** How a limit is set and shown. */
export interface LimitForm {
  /** The option of the command, without its dashes; also the name in metrics. */
  readonly option: string;
  /** Unit of the value. */
  readonly unit: 'count' | 'bytes' | 'ms';
  /** Default. */
  readonly default: number;
  /** Description for `wherry --help`. */
  readonly says: string;
}

/** Names and defaults are those of kube-apiserver where it has them. */
const forms = {
  readsInFlightMax: {
    option: 'max-requests-inflight',
    unit: 'count',
    default: 400,
    says: 'requests that read and are under way at once; more get a 429',
  },
  writesInFlightMax: {
    option: 'max-mutating-requests-inflight',
    unit: 'count',
    default: 200,
    says: 'the same for requests that write',
  },
  watchersMax: {
    option: 'max-watches',
    unit: 'count',
    default: 20_000,
    says: 'watches that are open at once',
  },
  watchersPerClientMax: {
    option: 'max-watches-per-client',
    unit: 'count',
    default: 15_000,
    says: 'the same for one user at one address',
  },
  connectionsMax: {
    option: 'max-connections',
    unit: 'count',
    default: 5_000,
    says: 'connections to pods, services and nodes (log, exec, attach, port-forward, proxy)',
  },
  connectionsPerClientMax: {
    option: 'max-connections-per-client',
    unit: 'count',
    default: 2_500,
    says: 'the same for one user at one address',
  },
  headerBytesMax: {
    option: 'max-header-bytes',
    unit: 'bytes',
    default: mebibyte as number,
    says: 'header of a request',
  },
  bodyBytesMax: {
    option: 'max-body-bytes',
    unit: 'bytes',
    default: (3 * mebibyte) as number,
    says: 'body of a request',
  },
  bodyTimeoutMs: {
    option: 'body-timeout',
    unit: 'ms',
    default: 60_000,
    says: 'time a body may take to arrive',
  },
  requestTimeoutMs: {
    option: 'request-timeout',
    unit: 'ms',
    default: 60_000,
    says: 'time a request may take, and its client to read the answer',
  },
  watcherBacklogBytesMax: {
    option: 'max-watch-backlog-bytes',
    unit: 'bytes',
    default: mebibyte as number,
    says: 'what waits in memory for one watcher; what more there is waits in history',
  },
  objectsWarned: {
    option: 'warn-objects',
    unit: 'count',
    default: 100_000,
    says: 'objects from which on a warning is logged',
  },
  bytesWarned: {
    option: 'warn-bytes',
    unit: 'bytes',
    default: gibibyte as number,
    says: 'size of the store from which on a warning is logged',
  },
} as const;

/** The limits, by their names in `StartOptions.limits`. */
export type LimitName = keyof typeof forms;
/** Limits by command line option. */
export type LimitOption = (typeof forms)[LimitName]['option'];
/** A value for each limit; unit and meaning are in `limitForms`. */
export type Limits = { readonly [name in LimitName]: number };

/** Option, unit, default and meaning of each limit. */
export const limitForms: Readonly<Record<LimitName, LimitForm>> = forms;
/** All limits, in the order of `wherry --help`. */
export const limitNames = Object.keys(forms) as readonly LimitName[];

/** The defaults. */
export const defaultLimits = Object.fromEntries(
  limitNames.map((name) => [name, forms[name].default]),
) as Limits;

/** The longest delay of a timer; also the bound for sizes and counts. */
const limitMax = 2 ** 31 - 1;
const bytesMax = 2 ** 48;
/** Smallest header limit: below it Node's parser reads requests only in part. */
const headerBytesMin = kibibyte;

/** Why limits are invalid; undefined when they are valid. */
export function limitsProblem(limits: Partial<Limits>): string | undefined {
  for (const [name, value] of Object.entries(limits)) {
    if (!Object.hasOwn(forms, name)) return `there is no limit ${JSON.stringify(name)}`;
    if (value === undefined) continue;
    const { unit } = forms[name as LimitName];
    const min = name === 'headerBytesMax' ? headerBytesMin : 1;
    const max = unit === 'bytes' && name !== 'headerBytesMax' ? bytesMax : limitMax;
    if (!Number.isSafeInteger(value) || value < min || value > max)
      return `the limit ${name} must be a whole number from ${min} to ${max}, not ${value}`;
  }
  return undefined;
}

/** The limits of a server, and how often each was reached. */
export class LimitKeeper {
  readonly limits: Limits;
  readonly #reached = new Map<LimitName, number>();

  constructor(limits: Partial<Limits> = {}) {
    const given = Object.entries(limits).filter(([, value]) => value !== undefined);
    this.limits = { ...defaultLimits, ...Object.fromEntries(given) };
  }

  /** Counts a refusal, a cut or a warning. */
  reached(name: LimitName): void {
    this.#reached.set(name, this.timesReached(name) + 1);
  }

  timesReached(name: LimitName): number {
    return this.#reached.get(name) ?? 0;
  }
}
