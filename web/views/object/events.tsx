/** Events about an object, the latest first. */
import { kindOf, pathOf } from '../../core/kinds.ts';
import { useLiveObjects } from '../../core/live.ts';
import type { ApiObject } from '../../core/objects.ts';
import { Age } from '../../ui/age.tsx';
import { Refusal } from '../../ui/refusal.tsx';
import { eventTime } from './event-time.ts';

const shownMax = 100;

interface ObjectEvents {
  /** The latest first. */
  readonly events: readonly ApiObject[];
  readonly error: Error | undefined;
  readonly isLoading: boolean;
}

export function useEventsOf({ metadata: { uid, namespace } }: ApiObject): ObjectEvents {
  const live = useLiveObjects(pathOf(kindOf('events')!, namespace), {
    fieldSelector: `involvedObject.uid=${uid}`,
  });
  const events = live.items.value
    .toSorted((a, b) => (eventTime(a) < eventTime(b) ? 1 : -1))
    .slice(0, shownMax);
  return { events, error: live.error.value, isLoading: live.state.value === 'loading' };
}

export const EventsOf = ({ object }: { readonly object: ApiObject }) => <Events of={useEventsOf(object)} />;

export const Events = ({ of: { events, error, isLoading } }: { readonly of: ObjectEvents }) => (
  <section class="panel whole">
    <h2>Events</h2>
    {error && <Refusal error={error} what="Events cannot be shown." />}
    {events.length === 0 && !error && <p class="quiet">{isLoading ? 'Loading…' : 'None are kept.'}</p>}
    <EventTable events={events} />
  </section>
);

function EventTable({ events }: { readonly events: readonly ApiObject[] }) {
  if (events.length === 0) return null;
  return (
    <table class="simple events">
      <tbody>
        {events.map((event) => (
          <tr key={event.metadata.uid}>
            <td class="quiet">
              <Age since={eventTime(event)} />
            </td>
            <td>
              <span class={`badge ${event.type === 'Warning' ? 'warn' : ''}`}>{event.reason}</span>
            </td>
            <td>
              {event.message}
              {event.count > 1 && <span class="quiet"> ({event.count} times)</span>}
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}
