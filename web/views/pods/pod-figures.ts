/** What the containers of a pod use now, from the metrics API, while it is looked at. */
import { useEffect, useState } from 'preact/hooks';
import { ask } from '../../core/api.ts';
import { kindOf, pathOf } from '../../core/kinds.ts';
import { moment } from '../../core/moment.ts';
import type { ApiObject } from '../../core/objects.ts';
import { quantity } from '../../core/quantity.ts';
import { may } from '../../core/rights.ts';

interface PodMetrics {
  readonly containers: readonly {
    readonly name: string;
    readonly usage: { readonly cpu: string; readonly memory: string };
  }[];
}

export interface Figures {
  readonly cores: number;
  readonly bytes: number;
}

const everyMs = 5_000;

/** By container; empty where there are no figures, or the user may not see them. */
export function usePodFigures({
  metadata: { namespace, name, uid },
}: ApiObject): ReadonlyMap<string, Figures> {
  const [figures, setFigures] = useState<ReadonlyMap<string, Figures>>(new Map());
  const kind = kindOf('pods.metrics.k8s.io');
  const isAsked = moment.value === undefined && may('list', kind, { namespace });
  useEffect(() => {
    if (!kind || !isAsked) return setFigures(new Map());
    const stop = new AbortController();
    // A list, because a pod without figures is an empty list, and not an error.
    const query = { fieldSelector: `metadata.name=${name}` };
    const look = (): void => {
      if (document.visibilityState !== 'visible') return;
      ask<{ items: PodMetrics[] }>(pathOf(kind, namespace), { query, signal: stop.signal }).then(
        ({ items: [pod] }) =>
          setFigures(
            new Map(
              (pod?.containers ?? []).map((each) => [
                each.name,
                { cores: quantity(each.usage.cpu), bytes: quantity(each.usage.memory) },
              ]),
            ),
          ),
        () => undefined,
      );
    };
    look();
    const timer = setInterval(look, everyMs);
    return () => {
      clearInterval(timer);
      stop.abort();
    };
  }, [uid, isAsked]);
  return figures;
}
