/**
 * The sampler: takes samples of what nodes and containers use, and of requests, for as long as the server runs, so that
 * charts show the past when they are opened. Loaded with the first sample.
 */
import type { Registry } from '../../registry/registry.ts';
import type { NodeReport, UsageReports } from '../computed/usage-reports.ts';
import type { BriefTotals, RequestMetrics } from '../observe/request-metrics.ts';
import { SampleBlocks, type SeriesName } from './sample-blocks.ts';

/** Bytes of all samples; see `sample-blocks.ts`. 2 bytes a sample: 100 containers for six weeks. */
const bytesMax = 64 * 1024 * 1024;
/** Part of a processor's time that sampling may take: in a large cluster samples are further apart. */
const shareMax = 0.05;
const pauseMaxMs = 60_000;

export interface Sampled {
  readonly registry: Registry;
  readonly usage: UsageReports;
  readonly requests: RequestMetrics;
  /** Time between samples. */
  readonly everyMs: number;
  /** How long samples are kept: as long as history. */
  readonly ageMaxMs: number;
}

export class Sampler {
  readonly blocks: SampleBlocks;
  #before: (BriefTotals & { readonly atMs: number }) | undefined;
  #isTaking = false;
  /** On the monotonic clock. */
  #pauseUntilMs = 0;

  constructor(readonly sampled: Sampled) {
    this.blocks = new SampleBlocks({ ageMaxMs: sampled.ageMaxMs, bytesMax });
  }

  nowMs(): number {
    return this.sampled.registry.sources.nowMs();
  }

  /** Takes a round of samples if the newest one is half as old as they may get: a chart begins with the present. */
  async freshen(): Promise<void> {
    if (this.nowMs() - this.blocks.newestMs >= this.sampled.everyMs / 2) await this.take();
  }

  /** Takes a round of samples, unless one is under way or the last one was expensive. */
  async take(): Promise<void> {
    if (this.#isTaking || performance.now() < this.#pauseUntilMs) return;
    this.#isTaking = true;
    try {
      await this.#take();
    } finally {
      this.#isTaking = false;
    }
  }

  async #take(): Promise<void> {
    const { registry, usage } = this.sampled;
    const before = process.cpuUsage();
    const reports = registry.view.collection('core/nodes').size > 0 ? await usage.all() : [];
    const atMs = registry.sources.nowMs();
    this.blocks.add({ atMs, values: [...requestValues(this.#requests(atMs)), ...usageValues(reports)] });
    // Other work of the process counts, too: a server that is busy takes fewer samples.
    const { user, system } = process.cpuUsage(before);
    this.#pauseUntilMs = performance.now() + Math.min(pauseMaxMs, (user + system) / 1_000 / shareMax);
  }

  /** Requests since the last round. */
  #requests(atMs: number): RequestRound | undefined {
    const totals = this.sampled.requests.takeBrief();
    const before = this.#before;
    this.#before = { ...totals, atMs };
    if (!before || atMs <= before.atMs) return undefined;
    const count = totals.count - before.count;
    return {
      milliPerSecond: (1e6 * count) / (atMs - before.atMs),
      ...(count > 0
        ? {
            meanMicros: (1e3 * (totals.totalMs - before.totalMs)) / count,
            longestMicros: totals.longestMs * 1e3,
          }
        : {}),
    };
  }
}

interface RequestRound {
  readonly milliPerSecond: number;
  readonly meanMicros?: number;
  readonly longestMicros?: number;
}

function* requestValues(round: RequestRound | undefined): Generator<readonly [SeriesName, number]> {
  if (!round) return;
  for (const [figure, value] of Object.entries(round)) yield [['requests', figure], value];
}

function* usageValues(reports: readonly NodeReport[]): Generator<readonly [SeriesName, number]> {
  for (const node of reports) {
    yield [['node', node.name, 'nanoCores'], node.nanoCores];
    yield [['node', node.name, 'bytes'], node.memoryBytes];
    for (const { namespace, name, containers } of node.pods)
      for (const container of containers) {
        yield [['pod', namespace, name, container.name, 'nanoCores'], container.nanoCores];
        yield [['pod', namespace, name, container.name, 'bytes'], container.memoryBytes];
      }
  }
}
