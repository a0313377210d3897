/** What is not well, as the server says: asked for again every few seconds while it is looked at. */
import { useEffect, useState } from 'preact/hooks';
import { ask } from '../../core/api.ts';

export interface ProblemObject {
  readonly apiVersion: string;
  readonly kind: string;
  readonly namespace?: string;
  readonly name: string;
  readonly uid: string;
  readonly note?: string;
}

export interface Problem {
  /** `past`: pods that have failed, whose workload has others now and is whole. */
  readonly severity: 'error' | 'warning' | 'past';
  readonly message: string;
  readonly changed?: string;
  readonly count: number;
  readonly objects: readonly ProblemObject[];
  readonly affects?: readonly ProblemObject[];
}

export interface ProblemList {
  readonly items: readonly Problem[];
  readonly metadata: { readonly remainingItemCount?: number };
}

const everyMs = 5_000;

/** Those that count now. */
export const presentOf = (problems: readonly Problem[]): readonly Problem[] =>
  problems.filter(({ severity }) => severity !== 'past');

/** Undefined until the first answer. */
export function useProblems(namespace: string | undefined): { list?: ProblemList; error?: Error } {
  const [state, setState] = useState<{ list?: ProblemList; error?: Error }>({});
  useEffect(() => {
    const stop = new AbortController();
    const { signal } = stop;
    const look = (): void => {
      if (document.visibilityState !== 'visible') return;
      ask<ProblemList>('/wherry/problems', { query: { namespace }, signal }).then(
        (list) => setState({ list }),
        (error: Error) => signal.aborted || setState((before) => ({ ...before, error })),
      );
    };
    setState({});
    look();
    const timer = setInterval(look, everyMs);
    return () => {
      clearInterval(timer);
      stop.abort();
    };
  }, [namespace]);
  return state;
}
