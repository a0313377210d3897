/** The events about an object, oldest first. */
import type { Event } from '../api/generated/types.ts';
import type { Registry } from '../registry/registry.ts';
import type { Place } from '../registry/target.ts';
import { everything } from '../registry/view/filter.ts';

/** @param place undefined: all events */
export function eventsAbout({ view }: Registry, place: Place | undefined): Event[] {
  return view
    .collection('core/events')
    .select(everything)
    .entries.map((entry) => ({ entry, event: entry.object() as Event }))
    .filter(({ event }) => place === undefined || isAbout(event, place))
    .sort((a, b) => a.entry.revision - b.entry.revision)
    .map(({ event }) => event);
}

function isAbout({ involvedObject = {} }: Event, { kind, namespace, name }: Place): boolean {
  return (
    involvedObject.kind === kind.kind &&
    (involvedObject.namespace ?? '') === namespace &&
    involvedObject.name === name
  );
}
