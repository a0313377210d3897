/** Events about an object, the latest first. */
import { kindOf, pathOf } from '../../core/kinds.ts';
import { useLiveObjects } from '../../core/live.ts';
import type { ApiObject } from '../../core/objects.ts';
import { Age } from '../../ui/age.tsx';
import { Refusal } from '../../ui/refusal.tsx';
import { eventTime } from './event-time.ts';

const shownMax = 100;

export function Events({ object }: { readonly object: ApiObject }) {
  const kind = kindOf('events')!;
  const { uid, namespace } = object.metadata;
  const live = useLiveObjects(pathOf(kind, namespace), { fieldSelector: `involvedObject.uid=${uid}` });
  const events = live.items.value
    .toSorted((a, b) => (eventTime(a) < eventTime(b) ? 1 : -1))
    .slice(0, shownMax);
  return (
    <section class="panel whole">
      <h2>Events</h2>
      {live.error.value && <Refusal error={live.error.value} what="Events cannot be shown." />}
      {events.length === 0 && !live.error.value && (
        <p class="quiet">{live.state.value === 'loading' ? 'Loading…' : 'None are kept.'}</p>
      )}
      <EventTable events={events} />
    </section>
  );
}

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
