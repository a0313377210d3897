/** Proves what is done about the pods on each node: upkeep, updates within bounds, and the counters of the status. */
import { describe, expect, it } from 'vitest';
import type { DaemonSetSpec } from '../../api/generated/types.ts';
import type { IndexedPod } from '../shared/indexed-pod.ts';
import { type DaemonNode, type Moment, numbersOf, rollingUpdate, upkeep } from './daemon-rollout.ts';

const nowMs = Date.parse('2026-01-02T00:00:00Z');

const spec = (rollingUpdate: object = { maxUnavailable: 1, maxSurge: 0 }): DaemonSetSpec => ({
  updateStrategy: { type: 'RollingUpdate', rollingUpdate },
});
const moment = (more: DaemonSetSpec = spec()): Moment => ({ hash: 'new', spec: more, nowMs });

/** `old`, `new`, each with `!` when it is not ready, `-` when it is being deleted, and `x` when it has failed. */
function pod(node: string, word: string, i = 0): IndexedPod {
  return {
    name: `${node}/${word}`,
    uid: `${node}/${i}`,
    nodeName: word.includes('?') ? '' : node,
    labels: { 'controller-revision-hash': word.startsWith('new') ? 'new' : 'old' },
    ready: !/[!x?]/.test(word),
    marked: word.includes('-'),
    phase: word.includes('x') ? 'Failed' : 'Running',
    readyChangedMs: nowMs - 10_000,
    createdMs: i,
  } as unknown as IndexedPod;
}

/** `a: old new!` is a node that wants a pod and has two; `(a)` may keep one, `[a]` must not, `<a>` is deleted. */
function nodes(...lines: string[]): DaemonNode[] {
  return lines.map((line) => {
    const [, open, name, words] = /^([([<]?)(\w+)[)\]>]?:? ?(.*)$/.exec(line) as unknown as string[];
    const pods = words!
      .split(' ')
      .filter(Boolean)
      .map((word, i) => pod(name!, word, i));
    return { name: name!, known: open !== '<', runs: open === '', stays: open === '' || open === '(', pods };
  });
}

const said = ({ create, remove }: { create: string[]; remove: IndexedPod[] }): string =>
  [...create.map((node) => `+${node}`), ...remove.map(({ name }) => `-${name}`)].join(' ');

describe('upkeep', () => {
  it.each<[string, string, string, DaemonSetSpec?]>([
    ['makes what is missing', 'a', '+a'],
    ['leaves what is there', 'a: old', ''],
    ['waits for what is going', 'a: old-', ''],
    ['does not wait for what has ended and is going', 'a: oldx-', '+a'],
    ['makes nothing where nothing should be', '(a)', ''],
    ['leaves what may stay', '(a): old', ''],
    ['removes what may not', '[a]: old new-', '-a/old'],
    ['keeps the oldest of several', 'a: old new', '-a/new'],
    ['keeps one that is there before one that waits', 'a: old? new', '-a/old?'],
    ['leaves what is on a node that is gone', '<a>: old', ''],
    ['removes what waits for one', '<a>: old?', '-a/old?'],
    ['lets two stand while the new one is not ready', 'a: old new!', '', spec({ maxSurge: 1 })],
    ['keeps the new one of two that serve', 'a: old new', '-a/old', spec({ maxSurge: '10%' })],
    ['keeps the new one of two that do not', 'a: old! new!', '-a/old!', spec({ maxSurge: 1 })],
    ['keeps one of a sort', 'a: old old! new!', '-a/old!', spec({ maxSurge: 1 })],
  ])('%s', (_, line, expected, more) => {
    expect(said(upkeep(nodes(line), moment(more)))).toBe(expected);
  });

  it('tells of pods that have ended where they may stay', () => {
    const { ended, create, remove } = upkeep(nodes('a: oldx', 'b: newx old', '[c]: oldx'), moment());
    expect(ended.map(({ node, pod: { name } }) => `${node} ${name}`)).toEqual(['a a/oldx', 'b b/newx']);
    expect([create, remove.map(({ name }) => name)]).toEqual([[], ['c/oldx']]);
  });
});

describe('a rolling update', () => {
  it.each<[string, string[], object, string]>([
    ['begins with one', ['a: old', 'b: old', 'c: old'], { maxUnavailable: 1 }, '-a/old'],
    ['begins with more', ['a: old', 'b: old', 'c: old'], { maxUnavailable: 2 }, '-a/old -b/old'],
    ['rounds shares up', ['a: old', 'b: old', 'c: old'], { maxUnavailable: '34%' }, '-a/old -b/old'],
    ['waits for the new one', ['a: new!', 'b: old'], { maxUnavailable: 1 }, ''],
    ['waits for one that is going', ['a: old-', 'b: old'], { maxUnavailable: 1 }, ''],
    ['counts a node without a pod', ['a', 'b: old'], { maxUnavailable: 1 }, ''],
    ['goes on', ['a: new', 'b: old'], { maxUnavailable: 1 }, '-b/old'],
    [
      'loses nothing with what does not serve',
      ['a: new!', 'b: old!', 'c: old!'],
      { maxUnavailable: 1 },
      '-b/old! -c/old!',
    ],
    ['is done', ['a: new', 'b: new'], { maxUnavailable: 1 }, ''],
    ['leaves a node with several to upkeep', ['a: old old', 'b: old'], { maxUnavailable: 1 }, ''],
    ['surges onto one', ['a: old', 'b: old'], { maxUnavailable: 0, maxSurge: 1 }, '+a'],
    ['surges onto many', ['a: old', 'b: old', 'c: old'], { maxUnavailable: 0, maxSurge: '50%' }, '+a +b'],
    ['waits for the surged', ['a: old new!', 'b: old'], { maxUnavailable: 0, maxSurge: 1 }, ''],
    ['removes the outlived', ['a: old new', 'b: old'], { maxUnavailable: 0, maxSurge: 1 }, '+b -a/old'],
    ['surges where nothing serves', ['a: old new!', 'b: old!'], { maxUnavailable: 0, maxSurge: 1 }, '+b'],
    ['keeps what stands in for others', ['a: new!', '(b): old'], { maxUnavailable: 0, maxSurge: 1 }, ''],
    ['frees nodes that are not wanted', ['a: new', '(b): old'], { maxUnavailable: 0, maxSurge: 1 }, '-b/old'],
  ])('%s', (_, lines, bounds, expected) => {
    expect(said(rollingUpdate(nodes(...lines), moment(spec(bounds))))).toBe(expected);
  });

  it('never stands still for want of a bound', () => {
    expect(said(rollingUpdate(nodes('a: old'), moment(spec({ maxUnavailable: 0 }))))).toBe('-a/old');
  });

  it('counts pods that have been ready for long enough only', () => {
    const patient = { ...spec(), minReadySeconds: 60 };
    expect(said(rollingUpdate(nodes('a: new', 'b: old'), moment(patient)))).toBe('-b/old');
    const brief = { ...spec(), minReadySeconds: 5 };
    expect(said(rollingUpdate(nodes('a: new', 'b: old', 'c: old'), moment(brief)))).toBe('-b/old');
    const [a, b] = nodes('a: new', 'b: old') as [DaemonNode, DaemonNode];
    const long = { ...b.pods[0]!, readyChangedMs: nowMs - 100_000 };
    expect(said(rollingUpdate([a, { ...b, pods: [long] }], moment(patient)))).toBe('');
  });
});

it('the status counts nodes, and the oldest pod of each', () => {
  const all = nodes('a: new', 'b: old', 'c: new!', 'd', 'e: old new', '(f): old', '[g]: new', '<h>: old');
  expect(numbersOf(all, moment())).toEqual({
    desiredNumberScheduled: 5,
    currentNumberScheduled: 4,
    numberMisscheduled: 2,
    numberReady: 3,
    numberAvailable: 3,
    numberUnavailable: 2,
    updatedNumberScheduled: 2,
  });
});
