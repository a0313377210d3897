/** Proves in which order surplus pods are deleted: each rule decides only among equals of the rules before it. */
import { expect, it } from 'vitest';
import type { IndexedPod } from './indexed-pod.ts';
import { victimsFirst } from './victims.ts';

const nowMs = Date.parse('2026-01-02T00:00:00Z');
const ago = (seconds: number): number => nowMs - seconds * 1000;

const pod = (name: string, more: Partial<IndexedPod>): IndexedPod =>
  ({
    name,
    uid: name,
    nodeName: `node-of-${name}`,
    phase: 'Running',
    ready: true,
    deletionCost: 0,
    readyChangedMs: ago(3600),
    restartsMax: 0,
    createdMs: ago(7200),
    ...more,
  }) as IndexedPod;

/** From the first to go to the last. */
const expected = [
  pod('unbound', { nodeName: '', phase: 'Pending', ready: false }),
  pod('pending', { phase: 'Pending', ready: false, deletionCost: 9 }),
  pod('unknown', { phase: 'Unknown', ready: false }),
  pod('not ready', { ready: false, deletionCost: 99 }),
  pod('cheap', { deletionCost: -5 }),
  pod('crowded, restarted', { nodeName: 'crowd', restartsMax: 3, createdMs: ago(7200) }),
  pod('crowded, newer', { nodeName: 'crowd', createdMs: ago(7000) }),
  pod('crowded, older', { nodeName: 'crowd', createdMs: ago(7200) }),
  pod('ready since nobody knows when', { readyChangedMs: undefined }),
  pod('ready for a minute', { readyChangedMs: ago(60) }),
  // An hour and a little more are equal: ages are compared in powers of two.
  pod('ready for an hour and more, restarted', { readyChangedMs: ago(3700), restartsMax: 2 }),
  pod('ready for an hour, newer', { readyChangedMs: ago(3600), createdMs: ago(7100) }),
  pod('ready for an hour, older', { readyChangedMs: ago(3650), createdMs: ago(7200) }),
  pod('ready for a day', { readyChangedMs: ago(86_400) }),
  pod('dear', { deletionCost: 5 }),
];

it('those that matter least go first', () => {
  const names = expected.map(({ name }) => name);
  expect(victimsFirst([...expected].reverse(), nowMs).map(({ name }) => name)).toEqual(names);
  expect(victimsFirst(expected, nowMs).map(({ name }) => name)).toEqual(names);
});

it('where related pods stand close together, one can be spared first', () => {
  const alone = pod('alone', { nodeName: 'a' });
  const beside = pod('beside others', { nodeName: 'b', createdMs: ago(9000) });
  const related = [pod('x', { nodeName: 'b' })];
  expect(victimsFirst([alone, beside], nowMs, related).map(({ name }) => name)).toEqual([
    'beside others',
    'alone',
  ]);
  expect(victimsFirst([alone, beside], nowMs).map(({ name }) => name)).toEqual(['alone', 'beside others']);
});
