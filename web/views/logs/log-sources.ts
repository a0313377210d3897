/** The logs that are shown together: one per container of a pod, or of all pods of a workload. */
import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import { kindOf, pathOf } from '../../core/kinds.ts';
import type { ApiObject } from '../../core/objects.ts';
import { type Container, containersOf } from '../pods/containers.ts';
import { LogBuffer } from './log-buffer.ts';
import type { LogWish } from './log-choices.tsx';
import { LogStream } from './log-stream.ts';

/** Pods whose logs are followed at a time, the newest of them. Each container is a connection of its own. */
export const podsMax = 30;

export interface LogSource {
  /** Unique among all pods there ever were. */
  readonly id: string;
  /** What is written beside its lines. */
  readonly label: string;
  /** The path of the pod's log. */
  readonly path: string;
  readonly container: string;
  /** Another one for every run and state of the container. */
  readonly signature: string;
  /** Why there is no log to ask for. */
  readonly missing: string | undefined;
}

/** Why a source has no lines, or no more. */
interface Note {
  readonly label: string;
  readonly text: string;
}

/** The containers that are asked for; a pod's name is part of a label where there may be several. */
export function sourcesOf(
  pods: readonly ApiObject[],
  { pod: wanted, container, previous }: LogWish,
  isWorkload: boolean,
): readonly LogSource[] {
  const chosen = pods.filter(({ metadata }) => !wanted || metadata.name === wanted).slice(0, podsMax);
  return chosen.flatMap((pod) => {
    const { uid, namespace, name } = pod.metadata;
    const containers = containersOf(pod).filter((each) => !container || each.name === container);
    const path = pathOf(kindOf('pods')!, namespace, name, 'log');
    return containers.map((each) => ({
      id: `${uid} ${each.name}`,
      label: isWorkload ? (containers.length > 1 ? `${name}/${each.name}` : name) : each.name,
      path,
      container: each.name,
      signature: each.signature,
      missing: missingLog(each, previous),
    }));
  });
}

function missingLog({ started, waitsFor, ranBefore }: Container, previous: boolean): string | undefined {
  if (previous) return ranBefore ? undefined : 'there was no run before this one';
  if (started) return undefined;
  return waitsFor ? `it has not started: ${waitsFor}` : 'it has not started';
}

/**
 * One stream per source. Sources that come later are added to what is there, and lines of those that are gone stay;
 * all begins anew when something else is asked for.
 */
export function useLog(of: string, sources: readonly LogSource[], wish: LogWish) {
  const { previous, follow, tail } = wish;
  const asked = JSON.stringify([of, wish.pod, wish.container, previous, follow, tail]);
  const [errors, setErrors] = useState<ReadonlyMap<string, Error>>(new Map());
  const buffer = useMemo(() => new LogBuffer(), [asked]);
  const streams = useRef(new Map<string, LogStream>());
  useEffect(() => {
    setErrors(new Map());
    return () => {
      for (const stream of streams.current.values()) stream.close();
      streams.current.clear();
    };
  }, [asked]);
  useEffect(() => {
    const state = (label: string, error: Error | undefined): void =>
      setErrors((before) => {
        const next = new Map(before);
        if (error) next.set(label, error);
        else next.delete(label);
        return next;
      });
    const sink = { lines: buffer.add.bind(buffer), state };
    const ids = new Set(sources.map(({ id }) => id));
    for (const [id, stream] of streams.current) {
      if (ids.has(id)) continue;
      stream.close();
      streams.current.delete(id);
    }
    for (const source of sources) {
      if (source.missing && !streams.current.has(source.id)) continue;
      const stream =
        streams.current.get(source.id) ?? new LogStream({ ...source, previous, follow, tail }, sink);
      streams.current.set(source.id, stream);
      stream.changed(source.signature);
    }
  });
  const labels = new Set(sources.map(({ label }) => label));
  const refused = [...errors].filter(([label]) => labels.has(label));
  const missing = sources.filter((source) => source.missing && !errors.has(source.label));
  const notes: readonly Note[] = [
    ...refused.map(([label, { message }]) => ({ label, text: message })),
    ...missing.map((source) => ({ label: source.label, text: source.missing! })),
  ];
  return { buffer, notes };
}
