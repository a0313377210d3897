/**
 * Samples that the server has kept of usage and requests: charts are full when they are opened, and show the past until
 * the moment that the dashboard shows.
 */
import { useEffect, useState } from 'preact/hooks';
import { ask } from '../core/api.ts';
import { moment, momentMs } from '../core/moment.ts';

interface SampleLine {
  readonly container?: string;
  readonly figure: string;
  readonly values: readonly (number | null)[];
}

interface SampleList {
  /** In seconds. */
  readonly times: readonly number[];
  readonly items: readonly SampleLine[];
}

export interface Samples extends SampleList {
  readonly error: Error | undefined;
  /** Whether the server has answered. */
  readonly isKnown: boolean;
}

const everyMs = 5_000;
const nothing: Samples = { times: [], items: [], error: undefined, isKnown: false };

/** What is asked for: `of` is nodes, pods or requests. */
export type SampleWish = Readonly<Record<'of' | 'namespace' | 'name', string | undefined>>;

export function useSamples({ of, namespace, name }: SampleWish, isAsked = true): Samples {
  const [samples, setSamples] = useState(nothing);
  const isPast = moment.value !== undefined;
  // The time of a version of the past is known a little later.
  const untilMs = isPast ? momentMs.value : undefined;
  useEffect(() => {
    if (!isAsked || (isPast && untilMs === undefined)) return setSamples(nothing);
    const stop = new AbortController();
    const until = untilMs === undefined ? undefined : new Date(untilMs).toISOString();
    const read = (): void => {
      if (document.visibilityState !== 'visible') return;
      ask<SampleList>('/wherry/samples', {
        query: { of, namespace, name, until },
        signal: stop.signal,
      }).then(
        ({ times, items }) => setSamples({ times, items, error: undefined, isKnown: true }),
        (error: Error) => stop.signal.aborted || setSamples((before) => ({ ...before, error })),
      );
    };
    read();
    const timer = isPast ? undefined : setInterval(read, everyMs);
    return () => {
      stop.abort();
      clearInterval(timer);
    };
  }, [of, namespace, name, isAsked, isPast, untilMs]);
  return samples;
}

/** The values of a figure in other units, at all times. */
export const valuesOf = (
  { items }: Samples,
  figure: string,
  unit: number,
  container?: string,
): readonly (number | null)[] => {
  const line = items.find((each) => each.figure === figure && each.container === container);
  return (line?.values ?? []).map((value) => (value === null ? null : value * unit));
};

/** The newest value that there is. */
export const newestOf = (values: readonly (number | null)[]): number | undefined =>
  values.findLast((value) => value !== null) ?? undefined;
