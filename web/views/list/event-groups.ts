/** Events grouped by what they say: the same reason about objects of one kind is one line, with all its objects. */
import type { ApiObject } from '../../core/objects.ts';
import { eventTime } from '../object/event-time.ts';

interface AboutObject {
  readonly apiVersion: string;
  readonly kind: string;
  readonly namespace: string | undefined;
  readonly name: string;
  /** How often, and when last. */
  readonly count: number;
  readonly latest: string;
  readonly message: string;
}

export interface EventGroup {
  readonly key: string;
  readonly isWarning: boolean;
  readonly reason: string;
  readonly kind: string;
  /** The message of the latest of them. */
  readonly message: string;
  readonly count: number;
  readonly latest: string;
  /** The latest first. */
  readonly objects: readonly AboutObject[];
}

/** The latest first. */
export function groupsOf(events: readonly ApiObject[]): readonly EventGroup[] {
  const groups = new Map<
    string,
    Map<string, AboutObject & { readonly isWarning: boolean; readonly reason: string }>
  >();
  for (const event of events) {
    const about = event.involvedObject ?? event.regarding ?? {};
    const message = String(event.message ?? event.note ?? '');
    const name = String(about.name ?? '');
    const key = [event.type, event.reason, about.kind, about.namespace, pattern(message, name)].join('\n');
    const objects = groups.get(key) ?? new Map();
    const known = objects.get(name);
    const latest = eventTime(event);
    objects.set(name, {
      apiVersion: String(about.apiVersion ?? ''),
      kind: String(about.kind ?? ''),
      namespace: about.namespace,
      name,
      isWarning: event.type === 'Warning',
      reason: String(event.reason ?? ''),
      count: (known?.count ?? 0) + (event.count ?? event.series?.count ?? 1),
      ...(known && known.latest > latest
        ? { latest: known.latest, message: known.message }
        : { latest, message }),
    });
    groups.set(key, objects);
  }
  return [...groups]
    .map(([key, byName]) => {
      const objects = [...byName.values()].sort((a, b) => (a.latest < b.latest ? 1 : -1));
      const { isWarning, reason, kind, message, latest } = objects[0]!;
      const count = objects.reduce((sum, each) => sum + each.count, 0);
      return { key, isWarning, reason, kind, message, latest, count, objects };
    })
    .sort((a, b) => (a.latest < b.latest ? 1 : -1));
}

/** A message without what differs between objects: names, numbers, generated endings. */
const pattern = (message: string, name: string): string =>
  (name ? message.replaceAll(name, '…') : message)
    .replace(/\b[\da-f]{8}-[\da-f-]{27}\b/g, '…')
    .replace(/-[bcdfghjklmnpqrstvwxz2456789]{5,10}\b/g, '-…')
    .replace(/\d+(?:\.\d+)*/g, '0');
