/** What nodes use now, from the metrics API, while the overview is looked at. */
import { useEffect, useState } from 'preact/hooks';
import { ask } from '../../core/api.ts';
import { quantity } from '../../core/quantity.ts';

const everyMs = 5_000;

export interface NodeFigures {
  readonly cores: number;
  readonly bytes: number;
}

interface NodeMetrics {
  readonly items: readonly {
    readonly metadata: { readonly name: string };
    readonly usage: Record<string, string>;
  }[];
}

/** By node; empty where there are no figures. */
export function useNodeFigures(isAsked: boolean): ReadonlyMap<string, NodeFigures> {
  const [figures, setFigures] = useState<ReadonlyMap<string, NodeFigures>>(new Map());
  useEffect(() => {
    if (!isAsked) return setFigures(new Map());
    const stop = new AbortController();
    const look = (): void => {
      if (document.visibilityState !== 'visible') return;
      ask<NodeMetrics>('/apis/metrics.k8s.io/v1beta1/nodes', { signal: stop.signal }).then(
        ({ items }) => setFigures(figuresOf(items)),
        () => undefined,
      );
    };
    look();
    const timer = setInterval(look, everyMs);
    return () => {
      stop.abort();
      clearInterval(timer);
    };
  }, [isAsked]);
  return figures;
}

const figuresOf = (items: NodeMetrics['items']): ReadonlyMap<string, NodeFigures> =>
  new Map(
    items.map(({ metadata, usage }) => [
      metadata.name,
      { cores: quantity(usage.cpu), bytes: quantity(usage.memory) },
    ]),
  );
