/**
 * Random histories against a simple model: the list of all changes, from which every state is computed. Run by the
 * tests of each engine.
 */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { rounds } from '../../test/support/tier.ts';
import type { OpenForTest } from './contract.suite.ts';
import { follow, read, told } from './observer.fixture.ts';
import { type Change, CompactedError, type Store, type Stored } from './store.ts';

const KEYS = ['a', 'a\0b', 'a-b', 'b', '\uffff', '\u{1f600}'];

const index = fc.nat(KEYS.length - 1);
/** A position in history, in thousandths. */
const portion = fc.oneof(fc.constantFrom(0, 1000), fc.nat(1000));

const action = fc.oneof(
  {
    weight: 8,
    arbitrary: fc.record({
      kind: fc.constant('write' as const),
      // All in one tick, so that they share a commit.
      writes: fc.array(
        fc.record({
          key: index,
          precondition: fc.constantFrom('right', 'right', 'right', 'absent', 'before', 'after'),
          deletes: fc.boolean(),
        }),
        { minLength: 1, maxLength: 5 },
      ),
    }),
  },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('compact' as const), to: portion }) },
  { weight: 3, arbitrary: fc.record({ kind: fc.constant('watch' as const), after: portion }) },
  {
    weight: 4,
    arbitrary: fc.record({
      kind: fc.constant('range' as const),
      at: portion,
      start: index,
      end: fc.option(index),
      limit: fc.option(fc.nat(4)),
    }),
  },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('reopen' as const) }) },
);

type Action = typeof action extends fc.Arbitrary<infer A> ? A : never;

class Model {
  readonly changes: Change[] = [];
  compacted = 0;

  get revision(): number {
    return this.changes.length;
  }

  at(portion: number): number {
    return Math.round((this.revision * portion) / 1000);
  }

  /** Keys in the order of their bytes, as they were at a revision. */
  state(revision: number): Stored[] {
    const state = new Map<string, Stored>();
    for (const { key, value, revision: at } of this.changes.slice(0, revision)) {
      if (value) state.set(key, { key, value, revision: at });
      else state.delete(key);
    }
    return [...state.values()].sort((a, b) => Buffer.compare(Buffer.from(a.key), Buffer.from(b.key)));
  }

  current(key: string): Stored | undefined {
    return this.state(this.revision).find((stored) => stored.key === key);
  }
}

async function write(
  store: Store,
  model: Model,
  { writes }: Extract<Action, { kind: 'write' }>,
): Promise<void> {
  for (const { answer, result } of outcomesOf(store, model, writes)) expect(await answer).toEqual(result);
}

/** Each write with the result that the model has for it. */
function outcomesOf(store: Store, model: Model, writes: Extract<Action, { kind: 'write' }>['writes']) {
  return writes.map(({ key: i, precondition, deletes }) => {
    const key = KEYS[i]!;
    const previous = model.current(key);
    const now = previous?.revision ?? 0;
    const expected = { right: now, absent: 0, before: Math.max(0, now - 1), after: now + 1 }[precondition]!;
    const revision = model.revision + 1;
    const value = deletes && expected !== 0 ? null : Buffer.from(`value ${revision}`);
    const answer = store.write({ key, value, expected });
    if (expected !== now) return { answer, result: { ok: false, current: previous } };
    model.changes.push({ key, value, revision, timeMs: 0 });
    return { answer, result: { ok: true, revision } };
  });
}

async function range(store: Store, model: Model, query: Extract<Action, { kind: 'range' }>): Promise<void> {
  const revision = model.at(query.at);
  const start = KEYS[query.start]!;
  const end = query.end === null ? undefined : KEYS[query.end];
  const limit = query.limit ?? undefined;
  const page = store.range({ start, end, limit, revision });
  if (revision < model.compacted) {
    await expect(page).rejects.toThrow(new CompactedError(revision, model.compacted));
    return;
  }
  const bytes = (key: string) => Buffer.from(key);
  const items = model
    .state(revision)
    .filter(({ key }) => Buffer.compare(bytes(key), bytes(start)) >= 0)
    .filter(({ key }) => end === undefined || Buffer.compare(bytes(key), bytes(end)) < 0);
  expect(await page).toEqual({
    items: items.slice(0, limit),
    revision,
    more: limit !== undefined && items.length > limit,
  });
}

async function watch(store: Store, model: Model, after: number): Promise<void> {
  const watch = follow(store, after);
  if (after < model.compacted) {
    await expect(watch.subscription.ended).rejects.toThrow(new CompactedError(after, model.compacted));
    return;
  }
  if (after < model.revision) await watch.until(model.revision);
  expect(watch.words()).toEqual(model.changes.slice(after).map(told));
  watch.subscription.close();
}

/** `shared`: nothing is promised about the order of writes that are under way together, so they are made one by one. */
export function storeModel(name: string, open: OpenForTest, runs: number, { shared = false } = {}): void {
  describe(`the store against a model: ${name}`, () => {
    it('agrees on every outcome, state and history', async () => {
      const histories = fc.array(action, { minLength: 1, maxLength: 40 });
      await fc.assert(
        fc.asyncProperty(histories, async (actions) => {
          const opened = await open({ now: () => 0 });
          let { store } = opened;
          const model = new Model();
          let liveFrom = 0;
          let live = follow(store, liveFrom);
          try {
            for (const action of actions) {
              if (action.kind === 'write')
                for (const writes of shared ? action.writes.map((each) => [each]) : [action.writes])
                  await write(store, model, { kind: 'write', writes });
              else if (action.kind === 'range') await range(store, model, action);
              else if (action.kind === 'watch') await watch(store, model, model.at(action.after));
              else if (action.kind === 'compact') {
                const to = model.at(action.to);
                await store.compact(to);
                model.compacted = Math.max(model.compacted, to);
              } else if (opened.reopen) {
                store = await opened.reopen();
                liveFrom = model.compacted;
                live = follow(store, liveFrom);
              }
              expect(store.compacted).toBe(model.compacted);
              expect(await store.revision()).toBe(model.revision);
            }
            const state = model.state(model.revision);
            expect(await read(store)).toEqual(
              state.map(({ key, value, revision: at }) => `${key}=${value}@${at}`),
            );
            for (const key of KEYS) expect(await store.get(key)).toEqual(model.current(key));
            if (model.revision > liveFrom) await live.until(model.revision);
            expect(live.words()).toEqual(model.changes.slice(liveFrom).map(told));
          } finally {
            await store.close();
          }
        }),
        { numRuns: rounds(runs) },
      );
    });
  });
}
