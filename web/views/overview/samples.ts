/** Numbers that are sampled while the overview is looked at: requests from `/metrics`, use from the metrics API. */
import { useEffect, useState } from 'preact/hooks';
import { ApiError, ask, askText } from '../../core/api.ts';
import { quantity } from '../../core/quantity.ts';

const keptMax = 150;

/** Samples a source every few seconds; keeps the last ones, oldest first. `undefined` samples are skipped. */
export function useSamples<T>(
  sample: () => Promise<T | undefined>,
  everyMs: number,
  active: boolean,
  refused?: (error: ApiError) => void,
): readonly T[] {
  const [samples, setSamples] = useState<readonly T[]>([]);
  useEffect(() => {
    if (!active) return;
    let stopped = false;
    const take = async (): Promise<void> => {
      if (document.visibilityState !== 'visible') return;
      const value = await sample().catch((error: unknown) => {
        if (error instanceof ApiError) refused?.(error);
        return undefined;
      });
      if (!stopped && value !== undefined) setSamples((before) => [...before.slice(1 - keptMax), value]);
    };
    void take();
    const timer = setInterval(() => void take(), everyMs);
    return () => {
      stopped = true;
      clearInterval(timer);
    };
  }, [active]);
  return samples;
}

export interface RequestCounts {
  /** In seconds. */
  readonly time: number;
  readonly requests: number;
  readonly seconds: number;
  readonly timed: number;
}

/** Watches, connections and logs last as long as they are wanted, so their durations say nothing. */
const lasting = /verb="(?:WATCH|CONNECT)"|subresource="log"/;

function countRequests(text: string, time: number): RequestCounts {
  let [requests, seconds, timed] = [0, 0, 0];
  for (const line of text.split('\n')) {
    if (!line.startsWith('apiserver_request_') || lasting.test(line)) continue;
    const value = Number(line.slice(line.lastIndexOf(' ') + 1));
    if (line.startsWith('apiserver_request_total{')) requests += value;
    else if (line.startsWith('apiserver_request_duration_seconds_sum{')) seconds += value;
    else if (line.startsWith('apiserver_request_duration_seconds_count{')) timed += value;
  }
  return { time, requests, seconds, timed };
}

export const sampleRequests = async (): Promise<RequestCounts> =>
  countRequests(await askText('/metrics'), Date.now() / 1000);

/** Times, requests a second and milliseconds per request, between one sample and the next. */
export function ratesOf(samples: readonly RequestCounts[]): (number | null)[][] {
  const [times, rates, latencies]: (number | null)[][] = [[], [], []];
  for (let i = 1; i < samples.length; i++) {
    const [a, b] = [samples[i - 1]!, samples[i]!];
    // A server that was restarted counts from zero.
    if (b.requests < a.requests) continue;
    times!.push(b.time);
    rates!.push((b.requests - a.requests) / (b.time - a.time));
    latencies!.push(b.timed > a.timed ? (1000 * (b.seconds - a.seconds)) / (b.timed - a.timed) : null);
  }
  return [times!, rates!, latencies!];
}

export interface Usage {
  readonly time: number;
  readonly cores: number;
  readonly bytes: number;
  readonly nodes: ReadonlyMap<string, { readonly cores: number; readonly bytes: number }>;
}

interface NodeMetrics {
  readonly items: readonly {
    readonly metadata: { readonly name: string };
    readonly usage: Record<string, string>;
  }[];
}

export async function sampleUsage(): Promise<Usage | undefined> {
  const { items } = await ask<NodeMetrics>('/apis/metrics.k8s.io/v1beta1/nodes');
  if (items.length === 0) return undefined;
  const nodes = new Map(
    items.map(({ metadata, usage }) => [
      metadata.name,
      { cores: quantity(usage.cpu), bytes: quantity(usage.memory) },
    ]),
  );
  const sum = (field: 'cores' | 'bytes'): number =>
    [...nodes.values()].reduce((total, each) => total + each[field], 0);
  return { time: Date.now() / 1000, cores: sum('cores'), bytes: sum('bytes'), nodes };
}
