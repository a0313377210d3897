/** Requests a second and how long they take, for as long as history. */

import { Plot } from '../../ui/plot.tsx';
import { Refusal } from '../../ui/refusal.tsx';
import { newestOf, useSamples, valuesOf } from '../../ui/sample-lines.ts';

const milliseconds = (value: number | undefined): string =>
  value === undefined ? '–' : `${value.toFixed(value < 10 ? 2 : 1)} ms`;

export function Requests() {
  const samples = useSamples({ of: 'requests', namespace: undefined, name: undefined });
  const rates = valuesOf(samples, 'milliPerSecond', 1e-3);
  const means = valuesOf(samples, 'meanMicros', 1e-3);
  const longest = valuesOf(samples, 'longestMicros', 1e-3);
  const isEmpty = newestOf(rates) === undefined;
  return (
    <section class="panel whole">
      <h2>Requests</h2>
      {samples.error && isEmpty && <Refusal error={samples.error} what="Requests cannot be shown." />}
      {!samples.error && isEmpty && (
        <p class="quiet">{samples.isKnown && 'There are no samples of this time.'}</p>
      )}
      {!isEmpty && (
        <div class="plots">
          <Plot
            title="A second"
            now={(newestOf(rates) ?? 0).toFixed(1)}
            series={[{ label: 'requests', colour: '--accent' }]}
            data={[samples.times, rates]}
            format={String}
          />
          <Plot
            title="Latency, mean and longest"
            now={`${milliseconds(newestOf(means))}, ${milliseconds(newestOf(longest))}`}
            series={[
              { label: 'longest', colour: '--warn' },
              { label: 'mean', colour: '--good' },
            ]}
            data={[samples.times, longest, means]}
            format={(value) => `${value} ms`}
          />
        </div>
      )}
    </section>
  );
}
