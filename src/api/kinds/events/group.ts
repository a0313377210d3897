/** The events group: the events of the core in another form. */
import type { Group } from '../../kind/group.ts';
import { eventsEvent } from './events-event.ts';

export const group: Group = {
  name: 'events.k8s.io',
  priority: 17_750,
  versions: { v1: {} },
  kinds: [eventsEvent],
};
