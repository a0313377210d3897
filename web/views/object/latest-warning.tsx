/** Why an object waits: the latest warning about it. */
import type { ApiObject } from '../../core/objects.ts';
import { useEventsOf } from './events.tsx';

interface LatestWarningProps {
  readonly object: ApiObject;
  readonly otherwise: string;
}

export function LatestWarning({ object, otherwise }: LatestWarningProps) {
  const { events } = useEventsOf(object);
  const latest = events.find(({ type }) => type === 'Warning') ?? events[0];
  return (
    <section class="panel">
      <p class="podstate">
        <strong class="warn">{object.status?.phase}</strong> {latest?.message ?? otherwise}
      </p>
    </section>
  );
}
