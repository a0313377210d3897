/** What pods and nodes use now, from the metrics API, while a table shows it. */
import { useEffect, useState } from 'preact/hooks';
import { ask } from '../../core/api.ts';
import { type Kind, kindOf, pathOf } from '../../core/kinds.ts';
import type { Row } from '../../core/live-table.ts';
import { moment } from '../../core/moment.ts';
import type { ListAnswer, Metadata } from '../../core/objects.ts';
import { bytesText, coresText, quantity } from '../../core/quantity.ts';
import { may } from '../../core/rights.ts';

const everyMs = 10_000;

interface Usage {
  readonly cpu: string;
  readonly memory: string;
}

interface Measured {
  readonly metadata: Metadata;
  readonly usage?: Usage;
  readonly containers?: readonly { readonly usage: Usage }[];
}

/** The figures of one moment, by namespace and name. */
export class UsageFigures {
  readonly #figures = new Map<string, { readonly CPU: number; readonly Memory: number }>();

  constructor(items: readonly Measured[]) {
    for (const { metadata, usage, containers = [] } of items) {
      const parts = usage ? [usage] : containers.map((each) => each.usage);
      const sum = (of: keyof Usage): number => parts.reduce((all, part) => all + quantity(part[of]), 0);
      this.#figures.set(keyOf(metadata), { CPU: sum('cpu'), Memory: sum('memory') });
    }
  }

  /** -1 where nothing is known. */
  valueOf(row: Row, what: 'CPU' | 'Memory'): number {
    return this.#figures.get(keyOf(row))?.[what] ?? -1;
  }

  textOf(row: Row, what: 'CPU' | 'Memory'): string {
    const value = this.valueOf(row, what);
    if (value < 0) return '';
    return what === 'CPU' ? coresText(value) : bytesText(value);
  }
}

const keyOf = ({
  namespace = '',
  name,
}: {
  readonly namespace?: string | undefined;
  readonly name: string;
}) => `${namespace}/${name}`;

/** Undefined where there are no figures to have; they are asked for while `isShown`. */
export function useUsageFigures(
  kind: Kind,
  namespace: string | undefined,
  isShown: boolean,
): UsageFigures | undefined {
  const metrics = kindOf(`${kind.resource}.metrics.k8s.io`);
  const isOffered =
    kind.group === '' &&
    metrics !== undefined &&
    moment.value === undefined &&
    may('list', metrics, { namespace });
  const [figures, setFigures] = useState(() => new UsageFigures([]));
  useEffect(() => {
    if (!isOffered || !isShown) return;
    const stop = new AbortController();
    const look = (): void => {
      if (document.visibilityState !== 'visible') return;
      ask<ListAnswer<Measured>>(pathOf(metrics!, namespace), { signal: stop.signal }).then(
        ({ items }) => setFigures(new UsageFigures(items)),
        () => undefined,
      );
    };
    look();
    const timer = setInterval(look, everyMs);
    return () => {
      clearInterval(timer);
      stop.abort();
    };
  }, [kind.id, namespace, isOffered, isShown]);
  return isOffered ? figures : undefined;
}
