/** Process metrics: CPU, memory, open files and event loop lag, under the names that Prometheus clients use. */
import { readdir, readFile } from 'node:fs/promises';
import { type IntervalHistogram, monitorEventLoopDelay } from 'node:perf_hooks';
import { getHeapStatistics } from 'node:v8';
import { wallClock } from '../../clock.ts';
import { residentBytes } from '../../platform.ts';
import type { Exposition } from './exposition.ts';

/** Sampling interval of the event loop delay. */
const resolutionMs = 20;
const quantiles = [50, 90, 99];

export class ProcessMetrics {
  /** Created at the first scrape: a server that is not scraped measures nothing. */
  #delay: IntervalHistogram | undefined;
  #closed = false;

  async writeTo(out: Exposition): Promise<void> {
    writeProcess(out);
    await writeFiles(out);
    await this.#writeLoop(out);
  }

  close(): void {
    this.#closed = true;
    this.#delay?.disable();
  }

  async #writeLoop(out: Exposition): Promise<void> {
    const begunMs = performance.now();
    await new Promise((resolve) => setImmediate(resolve));
    out.single(
      'nodejs_eventloop_lag_seconds',
      'gauge',
      'How long the event loop took to come round just now.',
      (performance.now() - begunMs) / 1000,
    );
    if (this.#closed) return;
    if (!this.#delay) {
      this.#delay = monitorEventLoopDelay({ resolution: resolutionMs });
      this.#delay.enable();
      return;
    }
    const delay = this.#delay;
    // Without samples there are no values: the minimum would not be zero.
    if (delay.count === 0) return;
    const figures: [string, number, string][] = [
      ['min', delay.min, 'Shortest'],
      ['max', delay.max, 'Longest'],
      ['mean', delay.mean, 'Mean'],
      ['stddev', delay.stddev, 'Standard deviation of the'],
      ...quantiles.map((p): [string, number, string] => [
        `p${p}`,
        delay.percentile(p),
        `${p}th percentile of the`,
      ]),
    ];
    for (const [name, nanoseconds, what] of figures)
      out.single(
        `nodejs_eventloop_lag_${name}_seconds`,
        'gauge',
        `${what} delay of the event loop since this was last asked for.`,
        nanoseconds / 1e9,
      );
    delay.reset();
  }
}

function writeProcess(out: Exposition): void {
  const { user, system } = process.cpuUsage();
  const heap = getHeapStatistics();
  const startSeconds = Math.round(wallClock() / 1000 - process.uptime());
  out
    .single('process_cpu_seconds_total', 'counter', 'Processor time used.', (user + system) / 1e6)
    .single('process_start_time_seconds', 'gauge', 'When the process started, in Unix time.', startSeconds)
    .single('process_resident_memory_bytes', 'gauge', 'Resident memory.', residentBytes())
    .single('nodejs_heap_size_used_bytes', 'gauge', 'JavaScript heap in use.', heap.used_heap_size)
    .single('nodejs_heap_size_total_bytes', 'gauge', 'JavaScript heap.', heap.total_heap_size)
    .single('nodejs_external_memory_bytes', 'gauge', 'Memory of buffers and the like.', heap.external_memory)
    .family('nodejs_version_info', 'gauge', 'Version of Node.')
    .sample(1, `version="${process.version}"`);
}

/** Open files are known on Linux only; elsewhere these metrics are left out. */
async function writeFiles(out: Exposition): Promise<void> {
  try {
    const [open, limits] = await Promise.all([
      readdir('/proc/self/fd'),
      readFile('/proc/self/limits', 'utf8'),
    ]);
    out.single('process_open_fds', 'gauge', 'Files and sockets that are open.', open.length);
    const max = /^Max open files\s+(\d+)/m.exec(limits)?.[1];
    if (max) out.single('process_max_fds', 'gauge', 'Most files and sockets that may be.', Number(max));
  } catch {}
}
