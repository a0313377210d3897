/** Requests a second and their latency, from the server's metrics. */
import { useState } from 'preact/hooks';
import { Plot } from '../../ui/plot.tsx';
import { Refusal } from '../../ui/refusal.tsx';
import { ratesOf, sampleRequests, useSamples } from './samples.ts';

const everyMs = 2_000;

export function Requests() {
  const [error, setError] = useState<Error>();
  const [times, rates, latencies] = ratesOf(useSamples(sampleRequests, everyMs, true, setError));
  if (times!.length === 0)
    return (
      <section class="panel whole">
        <h2>Requests</h2>
        {error ? <Refusal error={error} what="Requests cannot be shown." /> : <p class="quiet">Measuring…</p>}
      </section>
    );
  const latency = latencies!.findLast((value) => value !== null);
  return (
    <section class="panel whole">
      <h2>Requests</h2>
      <div class="plots">
        <Plot
          title="A second"
          now={(rates!.at(-1) ?? 0).toFixed(1)}
          series={[{ label: 'requests', colour: '--accent' }]}
          data={[times!, rates!]}
          format={String}
        />
        <Plot
          title="Milliseconds each"
          now={latency === undefined ? '' : latency!.toFixed(1)}
          series={[{ label: 'milliseconds', colour: '--warn' }]}
          data={[times!, latencies!]}
          format={String}
        />
      </div>
    </section>
  );
}
