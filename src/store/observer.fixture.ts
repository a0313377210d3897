/** Helpers of this folder's tests: writing to a store and recording its changes. */
import type { Change, RangeQuery, Store } from './store.ts';

export const text = (value: string): Buffer => Buffer.from(value);
export const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

/** Writes that must win; returns the revision. */
export async function put(store: Store, key: string, value: string, expected = 0): Promise<number> {
  const result = await store.write({ key, value: text(value), expected });
  if (!result.ok) throw new Error(`${key} is at ${result.current?.revision}, not ${expected}`);
  return result.revision;
}

export async function remove(store: Store, key: string, expected: number): Promise<number> {
  const result = await store.write({ key, value: null, expected });
  if (!result.ok) throw new Error(`${key} is at ${result.current?.revision}, not ${expected}`);
  return result.revision;
}

/** A range as `key=value@revision` words. */
export async function read(store: Store, query: Partial<RangeQuery> = {}): Promise<string[]> {
  const { items } = await store.range({ start: '', ...query });
  return items.map(({ key, value, revision }) => `${key}=${value}@${revision}`);
}

/** A change as `key=value@revision`, with `x` for a deletion. */
export const told = ({ key, value, revision }: Change): string => `${key}=${value ?? 'x'}@${revision}`;

/** Watches and records. */
export function follow(store: Store, after: number) {
  const changes: Change[] = [];
  const calls: number[][] = [];
  const waiting: { revision: number; resolve: () => void }[] = [];
  const subscription = store.watch(after, (batch) => {
    changes.push(...batch);
    calls.push(batch.map(({ revision }) => revision));
    for (const { revision, resolve } of waiting) if (batch.at(-1)!.revision >= revision) resolve();
  });
  return {
    changes,
    calls,
    subscription,
    words: () => changes.map(told),
    revisions: () => changes.map(({ revision }) => revision),
    /** Resolves when the change of this revision was seen. */
    until: (revision: number): Promise<void> =>
      new Promise((resolve, reject) => {
        subscription.ended.catch(reject);
        if ((changes.at(-1)?.revision ?? 0) >= revision) resolve();
        else waiting.push({ revision, resolve });
      }),
  };
}

export const numbers = (from: number, to: number): number[] =>
  Array.from({ length: to - from + 1 }, (_, i) => from + i);

/** Revisions of writes that were under way together; sorted if nothing is promised about their order. */
export const inOrder = (revisions: readonly number[], isUnordered: boolean): readonly number[] =>
  isUnordered ? revisions.toSorted((a, b) => a - b) : revisions;
