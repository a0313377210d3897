/** Processor time and memory over time, from samples of the server. */

import { bytesText, coresText } from '../core/quantity.ts';
import { Plot } from './plot.tsx';
import { newestOf, type Samples, valuesOf } from './sample-lines.ts';

interface UsagePlotsProps {
  readonly samples: Samples;
  /** The container, for samples of a pod. */
  readonly container?: string;
  /** What stands behind the newest figure. */
  readonly cpuNote: string;
  readonly memoryNote: string;
}

export function UsagePlots({ samples, container, cpuNote, memoryNote }: UsagePlotsProps) {
  const cores = valuesOf(samples, 'nanoCores', 1e-9, container);
  const bytes = valuesOf(samples, 'bytes', 1, container);
  return (
    <>
      <Plot
        title="CPU"
        now={`${coresText(newestOf(cores) ?? 0)}${cpuNote}`}
        series={[{ label: 'CPU', colour: '--accent' }]}
        data={[samples.times, cores]}
        format={coresText}
      />
      <Plot
        title="Memory"
        now={`${bytesText(newestOf(bytes) ?? 0)}${memoryNote}`}
        series={[{ label: 'Memory', colour: '--good' }]}
        data={[samples.times, bytes]}
        format={bytesText}
        binary
      />
    </>
  );
}
