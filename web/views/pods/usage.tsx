/** What each container of a pod uses, as plots, with its limits; from the metrics API, while it is looked at. */
import { useEffect, useState } from 'preact/hooks';
import { ask } from '../../core/api.ts';
import type { ApiObject, Json } from '../../core/objects.ts';
import { bytesText, coresText, quantity } from '../../core/quantity.ts';
import { Plot } from '../../ui/plot.tsx';
import { Refusal } from '../../ui/refusal.tsx';
import type { TabProps } from '../tab.ts';

interface PodMetrics {
  readonly timestamp: string;
  readonly containers: readonly {
    readonly name: string;
    readonly usage: { readonly cpu: string; readonly memory: string };
  }[];
}

interface Sample {
  readonly seconds: number;
  readonly cores: number;
  readonly bytes: number;
}

const periodMs = 5_000;
/** Half an hour. */
const samplesMax = 360;

type Samples = ReadonlyMap<string, readonly Sample[]>;

export function Tab({ object }: TabProps) {
  const { samples, error } = useSamples(object);
  if (error && samples.size === 0) return <Refusal error={error} what="There are no figures of this pod." />;
  if (samples.size === 0) return <p class="waiting">Waiting for the first figures…</p>;
  const containers: readonly Json[] = [
    ...(object.spec?.initContainers ?? []),
    ...(object.spec?.containers ?? []),
  ];
  return (
    <div class="panels">
      {[...samples]
        .sort(([a], [b]) => (a < b ? -1 : 1))
        .map(([name, list]) => {
          const { limits, requests } = containers.find((each) => each.name === name)?.resources ?? {};
          const last = list.at(-1)!;
          const times = list.map(({ seconds }) => seconds);
          return (
            <section key={name} class="panel">
              <h2>{name}</h2>
              <Plot
                title="CPU"
                now={withBounds(coresText(last.cores), requests?.cpu, limits?.cpu)}
                series={[{ label: 'CPU', colour: '--accent' }]}
                data={[times, list.map(({ cores }) => cores)]}
                format={coresText}
              />
              <Plot
                title="Memory"
                now={withBounds(bytesText(last.bytes), requests?.memory, limits?.memory)}
                series={[{ label: 'Memory', colour: '--good' }]}
                data={[times, list.map(({ bytes }) => bytes)]}
                format={bytesText}
                binary
              />
            </section>
          );
        })}
    </div>
  );
}

function withBounds(used: string, request?: Json, limit?: Json): string {
  const bounds = [request && `asks for ${request}`, limit && `at most ${limit}`].filter(Boolean);
  return bounds.length ? `${used} (${bounds.join(', ')})` : used;
}

function useSamples({ metadata: { namespace = '', name, uid } }: ApiObject) {
  const [samples, setSamples] = useState<Samples>(new Map());
  const [error, setError] = useState<Error>();
  useEffect(() => {
    const stop = new AbortController();
    const path = `/apis/metrics.k8s.io/v1beta1/namespaces/${encodeURIComponent(namespace)}/pods/${encodeURIComponent(name)}`;
    const read = (): void => {
      if (document.visibilityState !== 'visible') return;
      void ask<PodMetrics>(path, { signal: stop.signal }).then(
        (metrics) => {
          setError(undefined);
          setSamples((before) => added(before, metrics));
        },
        (reason: Error) => stop.signal.aborted || setError(reason),
      );
    };
    read();
    const timer = setInterval(read, periodMs);
    return () => {
      stop.abort();
      clearInterval(timer);
    };
  }, [uid]);
  return { samples, error };
}

function added(before: Samples, { timestamp, containers }: PodMetrics): Samples {
  const seconds = Date.parse(timestamp) / 1_000;
  const next = new Map(before);
  for (const { name, usage } of containers) {
    const list = next.get(name) ?? [];
    if (list.at(-1)?.seconds === seconds) continue;
    const sample = { seconds, cores: quantity(usage.cpu), bytes: quantity(usage.memory) };
    next.set(name, [...list.slice(1 - samplesMax), sample]);
  }
  return next;
}
