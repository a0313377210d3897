/** A change as clients see it: what, when, by whom, and which fields. */

import type { Kind } from '../../api/kind/kind.ts';
import { isJsonObject, type JsonObject } from '../../api/text/object.ts';
import { composedKey } from '../../composed-key.ts';
import type { Entry } from '../../registry/view/entry.ts';
import type { HistoryGap } from '../../registry/view/history-gap.ts';
import type { WatchEvent } from '../../registry/view/watch-event.ts';
import { difference, type FieldChange } from './difference.ts';

const messageCharsMax = 1_024;

interface Writer {
  readonly manager: string;
  readonly operation: string;
  readonly subresource?: string;
  /** When the manager says that it wrote. */
  readonly time?: string;
}

export interface Change {
  readonly version: string;
  /** When it was written; absent for the state in which history begins. */
  readonly time?: string;
  /** `STATE`: the object as it was when history begins. */
  readonly type: 'STATE' | 'ADDED' | 'MODIFIED' | 'DELETED';
  /** Found after a gap: it was changed between these times, it is not known when. */
  readonly gap?: { readonly from: string; readonly to?: string };
  readonly apiVersion: string;
  readonly kind: string;
  readonly resource: string;
  readonly namespace?: string;
  readonly name: string;
  readonly uid: string;
  readonly writer?: Writer;
  /** Fields that differ from the version before. */
  readonly fields?: readonly FieldChange[];
  /** There are more fields than are listed. */
  readonly isCut?: true;
  /** What an event of the cluster says. */
  readonly event?: EventWords;
  readonly object?: JsonObject;
}

interface EventWords {
  readonly type: string;
  readonly reason: string;
  readonly message: string;
  readonly count?: number;
  /** What it is about: `Pod/web-1`. */
  readonly about: string;
}

interface Told {
  readonly withObjects: boolean;
  readonly gaps: readonly HistoryGap[];
}

export function changeShown(kind: Kind, event: WatchEvent, told: Told): Change {
  const { revision, timeMs, entry, previous } = event;
  const now = entry?.stored() as unknown as JsonObject | undefined;
  const before = previous?.stored() as unknown as JsonObject | undefined;
  const object = (now ?? before)!;
  const differs = now && before ? difference(before, now, hiddenIn(kind)) : undefined;
  const gap = gapOf(told.gaps, kind, revision);
  return {
    version: String(revision),
    time: written(timeMs),
    type: !entry ? 'DELETED' : previous ? 'MODIFIED' : 'ADDED',
    ...(gap ? { gap } : {}),
    ...identity(kind, (entry ?? previous)!),
    // Who deletes leaves no trace in the object.
    ...(now ? writerOf(now, before) : {}),
    ...(differs ? { fields: differs.fields } : {}),
    ...(differs?.isCut ? { isCut: true } : {}),
    ...(now ? eventOf(kind, now) : {}),
    ...(told.withObjects ? { object } : {}),
  };
}

export function beginningShown(kind: Kind, entry: Entry, { withObjects }: Told): Change {
  const object = entry.stored() as unknown as JsonObject;
  return {
    version: String(entry.revision),
    type: 'STATE',
    ...identity(kind, entry),
    ...writerOf(object, undefined),
    ...eventOf(kind, object),
    ...(withObjects ? { object } : {}),
  };
}

const written = (timeMs: number): string => new Date(timeMs).toISOString();

const identity = (kind: Kind, { namespace, name, uid }: Entry) => ({
  apiVersion: kind.apiVersion,
  kind: kind.kind,
  resource: kind.resource,
  ...(namespace ? { namespace } : {}),
  name,
  uid,
});

const resourceName = ({ resource, group }: Kind): string => (group ? `${resource}.${group}` : resource);

function gapOf(gaps: readonly HistoryGap[], kind: Kind, revision: number): Change['gap'] {
  const gap = gaps.find(
    ({ versions, resources }) =>
      versions &&
      versions.first <= revision &&
      revision <= versions.last &&
      (!resources || resources.includes(resourceName(kind))),
  );
  return gap && { from: written(gap.fromMs), ...(gap.toMs === undefined ? {} : { to: written(gap.toMs) }) };
}

/** Values of secrets are not told, nor is the annotation that repeats them. */
function hiddenIn({ group, resource }: Kind): (path: string) => boolean {
  if (group || resource !== 'secrets') return () => false;
  return (path) => /^(data|stringData)\b|last-applied-configuration/.test(path);
}

/** The entry of managed fields that the version before does not have. */
function writerOf(object: JsonObject, before: JsonObject | undefined): { readonly writer?: Writer } {
  const former = new Map(managedOf(before).map((entry) => [ownerOf(entry), entry]));
  const fresh = managedOf(object)
    .map((entry) => ({ entry, share: shareIn(entry, former.get(ownerOf(entry))) }))
    .filter(({ share }) => share > 0);
  // Without a fresh entry nobody has told who it was.
  const [first] = fresh.toSorted(
    (a, b) => b.share - a.share || (String(a.entry['time']) < String(b.entry['time']) ? 1 : -1),
  );
  if (!first) return {};
  const { entry: latest } = first;
  const { manager, operation, subresource, time } = latest;
  return {
    writer: {
      manager: String(manager ?? ''),
      operation: String(operation ?? 'Update'),
      ...(subresource ? { subresource: String(subresource) } : {}),
      ...(time ? { time: String(time) } : {}),
    },
  };
}

const ownerOf = ({ manager, operation, subresource, apiVersion }: JsonObject): string =>
  composedKey(...[manager, operation, subresource, apiVersion].map(String));

/**
 * How sure it is that an owner of fields has written: 3 with a new entry or a new time, 2 with more fields, 1 with less,
 * which others may have taken, 0 when nothing has changed. Times are whole seconds, so they alone do not tell.
 */
function shareIn(entry: JsonObject, before: JsonObject | undefined): number {
  if (!before || before['time'] !== entry['time']) return 3;
  const [now, then] = [JSON.stringify(entry), JSON.stringify(before)];
  if (now === then) return 0;
  return now.length > then.length ? 2 : 1;
}

function managedOf(object: JsonObject | undefined): JsonObject[] {
  const metadata = object?.['metadata'];
  const entries = isJsonObject(metadata) ? metadata['managedFields'] : undefined;
  return Array.isArray(entries) ? entries.filter(isJsonObject) : [];
}

function eventOf({ resource, kind }: Kind, object: JsonObject): { readonly event?: EventWords } {
  if (resource !== 'events' || kind !== 'Event') return {};
  const about = object['involvedObject'] ?? object['regarding'];
  const { kind: what = '', name = '' } = isJsonObject(about) ? about : {};
  const { type, reason, message, note, count } = object;
  return {
    event: {
      type: String(type ?? ''),
      reason: String(reason ?? ''),
      message: String(message ?? note ?? '').slice(0, messageCharsMax),
      ...(typeof count === 'number' ? { count } : {}),
      about: `${what}/${name}`,
    },
  };
}
