/**
 * The guarantees of a watch, by name:
 *
 *   ordered       versions only increase
 *   unique        no change is delivered twice
 *   atomic        every object is as one write left it, and the initial state is that of one version
 *   reliable      between the first and the last event, none is missing
 *   resumable     a watch from a version has no older events, and gets 410 only if that version was compacted
 *   bookmarkable  all events up to a bookmark come before it, and none of them after it
 *   filtered      objects and event types are as the selectors demand
 */
import type { Log, Scope, Told } from './log.ts';

export interface Bookmark {
  readonly type: 'BOOKMARK';
  readonly version: number;
  /** Whether it is the bookmark that ends the initial state. */
  readonly endsState: boolean;
}

export type WatchLine = Told | Bookmark;

export interface WatchRecord {
  readonly name: string;
  readonly scope: Scope;
  /** The version it started after; undefined: it started with the current state. */
  readonly after: number | undefined;
  readonly lines: readonly WatchLine[];
}

export type Property =
  | 'ordered'
  | 'unique'
  | 'atomic'
  | 'reliable'
  | 'resumable'
  | 'bookmarkable'
  | 'filtered';

type Check = (watch: Divided, log: Log) => string | undefined;

/** A watch, with its initial state separated from the changes. */
interface Divided {
  readonly scope: Scope;
  readonly state: readonly Told[];
  /** The version of that state, or the one it started after; undefined: it broke off before. */
  readonly begin: number | undefined;
  readonly changes: readonly WatchLine[];
  /** Whether the start version was in the request. */
  readonly asked: boolean;
}

export function checkWatch(watch: WatchRecord, log: Log): { property: Property; what: string }[] {
  const divided = divide(watch);
  const problems: { property: Property; what: string }[] = [];
  for (const [property, check] of Object.entries(properties) as [Property, Check][]) {
    const what = check(divided, log);
    if (what) problems.push({ property, what: `${watch.name}: ${what}` });
  }
  return problems;
}

function divide({ scope, after, lines }: WatchRecord): Divided {
  if (after !== undefined) return { scope, state: [], begin: after, changes: lines, asked: true };
  const end = lines.findIndex((line) => isBookmark(line) && line.endsState);
  const state = (end < 0 ? lines : lines.slice(0, end)).filter((line): line is Told => !isBookmark(line));
  return {
    scope,
    state,
    begin: lines[end]?.version,
    changes: end < 0 ? [] : lines.slice(end + 1),
    asked: false,
  };
}

const isBookmark = (line: WatchLine): line is Bookmark => line.type === 'BOOKMARK';
const eventsOf = ({ changes }: Divided): Told[] => changes.filter((line): line is Told => !isBookmark(line));
const brief = ({ type, key, version }: Told): string => `${type} ${key} ${version}`;

export const properties: Readonly<Record<Property, Check>> = {
  ordered(watch) {
    const events = eventsOf(watch);
    const at = events.findIndex(({ version }, i) => version < (events[i - 1]?.version ?? 0));
    return at < 0 ? undefined : `${brief(events[at]!)} came after ${brief(events[at - 1]!)}`;
  },

  unique(watch) {
    const seen = new Set<number>();
    for (const event of eventsOf(watch)) {
      if (seen.has(event.version)) return `${brief(event)} was told before`;
      seen.add(event.version);
    }
    return undefined;
  },

  atomic({ scope, state, begin, ...watch }, log) {
    const wanted = new Map(log.eventsAfter(scope, log.base).map((event) => [event.version, event]));
    for (const event of eventsOf({ scope, state, begin, ...watch })) {
      const written = wanted.get(event.version);
      if (written && written.text !== event.text)
        return `${brief(event)} is ${event.text}, not ${written.text}`;
    }
    if (begin === undefined || watch.asked) return undefined;
    const whole = log.state(scope, begin);
    const at = Array.from({ length: Math.max(whole.length, state.length) }).findIndex(
      (_, i) =>
        !whole[i] || !state[i] || brief(whole[i]) !== brief(state[i]) || whole[i].text !== state[i].text,
    );
    if (at < 0) return undefined;
    return `its state at ${begin} has ${JSON.stringify(state[at])} instead of ${JSON.stringify(whole[at])}`;
  },

  reliable(watch, log) {
    const events = eventsOf(watch);
    const last = Math.max(0, ...events.map(({ version }) => version));
    return missing(watch, log, last, new Set(events.map(({ version }) => version)));
  },

  resumable(watch) {
    const { begin } = watch;
    if (begin === undefined) return undefined;
    const old = eventsOf(watch).find(({ version }) => version <= begin);
    return old && `${brief(old)} is not after ${begin}`;
  },

  bookmarkable(watch, log) {
    const told = new Set<number>();
    let newest = 0;
    let marked = 0;
    for (const line of watch.changes) {
      if (isBookmark(line)) {
        if (line.version < newest) return `a bookmark at ${line.version} came after ${newest}`;
        marked = line.version;
        const left = missing(watch, log, marked, told);
        if (left) return `at the bookmark ${marked}, ${left}`;
      } else {
        if (line.version <= marked) return `${brief(line)} came after a bookmark at ${marked}`;
        told.add(line.version);
      }
      newest = Math.max(newest, line.version);
    }
    return undefined;
  },

  filtered(watch, log) {
    const wanted = new Map(log.eventsAfter(watch.scope, log.base).map((event) => [event.version, event]));
    for (const event of eventsOf(watch)) {
      const right = wanted.get(event.version);
      if (!right || right.key !== event.key)
        return `${brief(event)} is none of ${JSON.stringify(watch.scope)}`;
      if (right.type !== event.type) return `${brief(event)} should be ${right.type}`;
    }
    return undefined;
  },
};

/** The first change up to a version that should have been delivered and was not. */
function missing(
  { scope, begin }: Divided,
  log: Log,
  upTo: number,
  told: ReadonlySet<number>,
): string | undefined {
  if (begin === undefined) return undefined;
  const left = log.eventsAfter(scope, begin).find(({ version }) => version <= upTo && !told.has(version));
  return left && `${brief(left)} was left out`;
}
