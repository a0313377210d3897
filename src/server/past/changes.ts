/**
 * What was changed: the windows of all collections that a user may list, put into one order. Nothing is kept for it beside
 * the window that watches need.
 */
import { badRequest, continueExpired, StatusError } from '../../api/errors/errors.ts';
import type { Kind } from '../../api/kind/kind.ts';
import type { Registry } from '../../registry/registry.ts';
import type { Entry } from '../../registry/view/entry.ts';
import { Filter } from '../../registry/view/filter.ts';
import type { HistoryGap } from '../../registry/view/history-gap.ts';
import type { View } from '../../registry/view/view.ts';
import type { WatchEvent } from '../../registry/view/watch-event.ts';
import { inSlices } from '../../time-slices.ts';
import { beginningShown, type Change, changeShown } from './shown-change.ts';

/** Steps of the event loop's slices that a byte of an object takes: it is parsed, and compared. */
const byteSteps = 6;

export interface ChangeQuestion {
  /** Names of resources, as kubectl takes them; undefined: all. */
  readonly resources: readonly string[] | undefined;
  /** Changes of objects with this name. */
  readonly name: string | undefined;
  readonly sinceMs: number | undefined;
  readonly untilMs: number | undefined;
  readonly limit: number;
  /** Where the answer before ended. */
  readonly continues: string | undefined;
  readonly withObjects: boolean;
  readonly gaps: readonly HistoryGap[];
  /** The namespaces in which the user may list a kind, of those that are asked about; undefined: all objects. */
  readable(kind: Kind): Promise<readonly string[] | undefined>;
}

/** A change, or the state in which history begins. Old states may have to be read from the store: only those told are. */
interface Found {
  readonly kind: Kind;
  readonly revision: number;
  readonly timeMs: number;
  readonly event?: WatchEvent;
  readonly beginning?: Entry;
}

/** What is asked of one view, and what was found in it: events may be in a store with revisions of its own. */
interface Source {
  readonly view: View;
  after: number;
  readonly until: number;
  readonly found: Found[];
}

export async function changesOf(
  registry: Registry,
  question: ChangeQuestion,
): Promise<{ readonly items: readonly Change[]; readonly continues: string | undefined }> {
  const kinds = kindsOf(registry, question);
  const sources = sourcesOf(registry, kinds, question);
  for (const kind of kinds) {
    const namespaces = await question.readable(kind);
    const source = sources.find(({ view }) => view === registry.view.of(kind))!;
    await inSlices(collected(kind, namespaces && new Set(namespaces), source, question));
  }
  for (const { found } of sources) found.sort((a, b) => a.revision - b.revision);
  const { page, continues } = merged(sources, question.limit);
  const items: Change[] = [];
  const work = function* (): Generator<number, void> {
    for (const one of page) {
      const { kind, event, beginning } = one;
      items.push(event ? changeShown(kind, event, question) : beginningShown(kind, beginning!, question));
      yield ((beginning?.length ?? 0) + (event?.entry?.length ?? 0) + (event?.previous?.length ?? 0)) *
        byteSteps;
    }
  };
  await inSlices(work());
  return { items, continues };
}

/** The kinds that are meant, by resource, singular, kind or short name, with or without a group. */
function kindsOf(registry: Registry, { resources }: ChangeQuestion): readonly Kind[] {
  const stored = [...registry.kinds].filter((kind) => kind.storage === kind);
  if (!resources) return stored;
  const named = resources.flatMap((word) => {
    const [name, ...group] = word.toLowerCase().split('.');
    const isNamed = (kind: Kind): boolean =>
      [kind.resource, kind.singular, kind.kind.toLowerCase(), ...kind.shortNames].includes(name!) &&
      (group.length === 0 || kind.group === group.join('.'));
    const found = stored.filter(isNamed);
    if (found.length === 0)
      throw new StatusError(404, 'NotFound', `there is no resource ${JSON.stringify(word)}`, {});
    // As kubectl does where several groups have a resource of this name: the first one.
    return group.length === 0 ? found.slice(0, 1) : found;
  });
  // Two words may mean the same.
  return [...new Set(named)];
}

function sourcesOf({ view }: Registry, kinds: readonly Kind[], question: ChangeQuestion): Source[] {
  const { sinceMs, untilMs, continues } = question;
  const views = [...new Set([view, ...kinds.map((kind) => view.of(kind))])];
  const given = continues?.split('.').map(Number);
  if (given && (given.length !== views.length || !given.every((revision) => Number.isSafeInteger(revision))))
    throw badRequest('continue: it is not from an answer to this question');
  return views.map((one, i) => {
    const first = sinceMs === undefined ? one.compacted : one.revisionAt(sinceMs);
    const after = given?.[i] ?? first;
    if (given && after < one.compacted) throw continueExpired('');
    return {
      view: one,
      after,
      until: untilMs === undefined ? one.revision : one.revisionAt(untilMs),
      found: [],
    };
  });
}

function* collected(
  kind: Kind,
  namespaces: ReadonlySet<string> | undefined,
  source: Source,
  { name, limit, sinceMs, continues }: ChangeQuestion,
): Generator<number, void> {
  const collection = source.view.findCollection(kind.id);
  if (!collection || namespaces?.size === 0) return;
  const isAsked = (entry: { readonly namespace: string; readonly name: string }): boolean =>
    (name === undefined || entry.name === name) && (!namespaces || namespaces.has(entry.namespace));
  let left = limit + 1;
  const changed = new Set<string>();
  const { endNumber } = collection;
  for (let number = collection.numberAfter(source.after); number < endNumber && left > 0; number++) {
    const event = collection.event(number);
    // Dropped meanwhile.
    if (!event) continue;
    if (event.revision > source.until) break;
    yield 1;
    if (!isAsked(event)) continue;
    left--;
    const { revision, timeMs } = event;
    // The history of one object begins with the state before its first change.
    if (name !== undefined && sinceMs === undefined && !continues && !changed.has(event.namespace)) {
      changed.add(event.namespace);
      if (event.previous) source.found.push(beginningOf(kind, event.previous));
    }
    source.found.push({ kind, revision, timeMs, event });
  }
  if (name === undefined || sinceMs !== undefined || continues || left === 0) return;
  for (const entry of collection.select(new Filter(undefined, name, undefined, undefined)).entries)
    if (isAsked(entry) && !changed.has(entry.namespace) && entry.revision <= source.until)
      source.found.push(beginningOf(kind, entry));
}

const beginningOf = (kind: Kind, entry: Entry): Found => ({
  kind,
  revision: entry.revision,
  timeMs: Number.NEGATIVE_INFINITY,
  beginning: entry,
});

/** The oldest changes of all views. Revisions order those of one view; times those of several. */
function merged(
  sources: readonly Source[],
  limit: number,
): { readonly page: readonly Found[]; readonly continues: string | undefined } {
  const page: Found[] = [];
  const at = sources.map(() => 0);
  const next = (i: number): Found | undefined => sources[i]!.found[at[i]!];
  const earliest = (): number => {
    let best = -1;
    for (const i of sources.keys())
      if (next(i) && (best < 0 || next(i)!.timeMs < next(best)!.timeMs)) best = i;
    return best;
  };
  let i = earliest();
  for (; i >= 0 && page.length < limit; i = earliest()) {
    page.push(next(i)!);
    if (next(i)!.event) sources[i]!.after = next(i)!.revision;
    at[i]!++;
  }
  return { page, continues: i < 0 ? undefined : sources.map(({ after }) => after).join('.') };
}
