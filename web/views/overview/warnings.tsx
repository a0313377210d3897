/** The latest warnings. */
import { kindNamed, kindOf, pathOf } from '../../core/kinds.ts';
import { useLiveObjects } from '../../core/live.ts';
import { Age } from '../../ui/age.tsx';
import { FullLink } from '../../ui/link.tsx';
import { Refusal } from '../../ui/refusal.tsx';
import { eventTime } from '../object/event-time.ts';

const shownMax = 10;

export function Warnings({ namespace }: { readonly namespace: string | undefined }) {
  const live = useLiveObjects(pathOf(kindOf('events')!, namespace), { fieldSelector: 'type=Warning' });
  const events = live.items.value
    .toSorted((a, b) => (eventTime(a) < eventTime(b) ? 1 : -1))
    .slice(0, shownMax);
  return (
    <section class="panel whole">
      <h2>Recent warnings</h2>
      {live.error.value && <Refusal error={live.error.value} what="Events cannot be shown." />}
      {events.length === 0 && !live.error.value && <p class="quiet">None.</p>}
      {events.length > 0 && (
        <table class="simple events">
          <tbody>
            {events.map((event) => {
              const about = event.involvedObject ?? {};
              const kind = kindNamed(about.apiVersion ?? '', about.kind ?? '');
              return (
                <tr key={event.metadata.uid}>
                  <td class="quiet">
                    <Age since={eventTime(event)} />
                  </td>
                  <td>
                    <span class="badge warn">{event.reason}</span>
                  </td>
                  <td>
                    <span class="quiet">{about.kind}</span>{' '}
                    {kind ? (
                      <FullLink
                        kind={kind}
                        within={namespace}
                        namespace={about.namespace}
                        name={about.name ?? ''}
                      />
                    ) : (
                      <span>{about.name}</span>
                    )}{' '}
                    {event.message}
                  </td>
                </tr>
              );
            })}
          </tbody>
        </table>
      )}
    </section>
  );
}
