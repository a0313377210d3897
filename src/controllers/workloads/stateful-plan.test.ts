/** Proves the next steps of a stateful set, case by case and in random simulations. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { StatefulSetSpec } from '../../api/generated/types.ts';
import type { IndexedPod } from '../shared/indexed-pod.ts';
import { type PlanStage, planOf, type Step } from './stateful-plan.ts';

const nowMs = Date.parse('2026-01-02T00:00:00Z');

/** `new` or `old`, with `!` when it is not ready, `-` when it is being deleted, `x` when it has ended. */
function pod(ordinal: number, word: string): IndexedPod {
  const name = `web-${ordinal}`;
  return {
    name,
    labels: {
      'statefulset.kubernetes.io/pod-name': word.includes('*') ? 'other' : name,
      'apps.kubernetes.io/pod-index': String(ordinal),
      'controller-revision-hash': `web-${word.startsWith('new') ? 'new' : 'old'}`,
    },
    ready: !/[!x]/.test(word),
    marked: word.includes('-'),
    phase: word.includes('x') ? 'Failed' : 'Running',
    readyChangedMs: nowMs - 10_000,
  } as unknown as IndexedPod;
}

const rolling = (partition?: number): StatefulSetSpec => ({
  updateStrategy: { type: 'RollingUpdate', rollingUpdate: { partition } },
});

function plan(replicas: number, words: string, spec: StatefulSetSpec = {}, currentReplicas = 0): PlanStage[] {
  const pods = new Map(
    words
      .split(' ')
      .map((word, i): [number, string] => [i + (spec.ordinals?.start ?? 0), word])
      .filter(([, word]) => word !== '' && word !== '.')
      .map(([ordinal, word]) => [ordinal, pod(ordinal, word)]),
  );
  const set = {
    metadata: { name: 'web' },
    spec: { ...rolling(), replicas, ...spec },
    status: { currentReplicas },
  };
  return planOf(set, { pods, updateRevision: 'web-new', nowMs });
}

const word = (step: Step): string =>
  step.do === 'create' ? `+${step.ordinal} ${step.from}` : `${step.do} ${step.ordinal}`;
const said = (stages: PlanStage[]): string => stages.map((stage) => stage.map(word).join(', ')).join(' / ');

const parallel: StatefulSetSpec = { podManagementPolicy: 'Parallel' };

describe('an ordered set', () => {
  it.each<[string, number, string, string]>([
    ['begins with its first pod', 3, '', '+0 update'],
    ['waits until it is ready', 3, 'new!', ''],
    ['then makes the next', 3, 'new', '+1 update'],
    ['fills a gap first', 3, 'new . new', '+1 update'],
    ['waits for one that is going', 3, 'new new- .', ''],
    ['frees the name of one that has ended', 3, 'new newx .', 'recreate 1'],
    ['waits until it is gone', 3, 'new newx- .', ''],
    ['is content', 2, 'new new', ''],
    ['loses its last pod', 1, 'new new new', 'delete 2'],
    ['waits until it is gone, from the last to the first', 1, 'new new new-', ''],
    ['does not lose pods while others are unwell', 1, 'new! new new', ''],
    ['waits for the unwell among those that go', 1, 'new new! new!', ''],
    ['loses the only unwell one', 1, 'new new new!', 'delete 2'],
    ['replaces the last of old pods', 3, 'old old old', 'delete 2'],
    ['waits for the new one', 3, 'old old new!', ''],
    ['goes on with the one before', 3, 'old old new', 'delete 1'],
    ['replaces nothing while it grows', 3, 'old old', '+2 update'],
    ['replaces nothing while it shrinks', 2, 'old old old', 'delete 2'],
    ['gives a pod its labels back', 2, 'new* new', 'keep 0'],
    ['is held up by one that does not work', 3, 'old old old!', ''],
  ])('%s', (_, replicas, words, expected) => {
    expect(said(plan(replicas, words))).toBe(expected);
  });

  it('waits until a pod has been ready for long enough', () => {
    expect(said(plan(2, 'new', { minReadySeconds: 60 }))).toBe('');
    expect(said(plan(2, 'new', { minReadySeconds: 10 }))).toBe('+1 update');
  });

  it('sees to claims of pods that are there, and of those that go before they do', () => {
    const volumeClaimTemplates = [{ metadata: { name: 'data' } }];
    expect(said(plan(1, 'new new new', { volumeClaimTemplates }))).toBe('keep 0 / keep 2, keep 1 / delete 2');
    const [, farewells] = plan(1, 'new new', { volumeClaimTemplates });
    expect(farewells).toMatchObject([{ do: 'keep', ordinal: 1, condemned: true }]);
  });
});

describe('a parallel set', () => {
  it.each<[string, number, string, string]>([
    ['makes all', 3, '', '+0 update, +1 update, +2 update'],
    ['heals all', 3, 'newx . new!', 'recreate 0, +1 update'],
    ['loses all', 1, 'new! new new!', 'delete 2, delete 1'],
    ['replaces one at a time', 3, 'old old old', 'delete 2'],
    ['waits for it', 3, 'old old new!', ''],
    ['replaces one that does not work', 3, 'old old old!', 'delete 2'],
    ['replaces nothing that it has just deleted', 2, 'old oldx', 'recreate 1'],
  ])('%s', (_, replicas, words, expected) => {
    expect(said(plan(replicas, words, parallel))).toBe(expected);
  });
});

it('makes few pods of a set that asks for very many', () => {
  const [steps] = plan(2_000, 'new newx .', parallel);
  expect(steps!.map(word).slice(0, 3)).toEqual(['recreate 1', '+2 update', '+3 update']);
  expect(steps).toHaveLength(501);
});

describe('updates', () => {
  it.each<[string, string, StatefulSetSpec, number, string]>([
    ['stop at the partition', 'old old new', rolling(2), 2, ''],
    ['reach down to it', 'old old old', rolling(1), 3, 'delete 2'],
    ['make pods below it as they were', '. old new', rolling(2), 2, '+0 current'],
    ['make pods above it anew', 'old old .', rolling(2), 3, '+2 update'],
    [
      'without words keep as many as there were',
      '. old new',
      { updateStrategy: { type: 'RollingUpdate' } },
      1,
      '+0 current',
    ],
    ['happen to pods that are deleted', 'old old old', { updateStrategy: { type: 'OnDelete' } }, 3, ''],
    [
      'are for pods made by hand of old',
      'old . old',
      { updateStrategy: { type: 'OnDelete' } },
      3,
      '+1 update',
    ],
  ])('%s', (_, words, spec, currentReplicas, expected) => {
    expect(said(plan(3, words, spec, currentReplicas))).toBe(expected);
  });

  it('count the partition from the first ordinal', () => {
    expect(said(plan(3, 'old old new', { ...rolling(2), ordinals: { start: 5 } }, 2))).toBe('');
    expect(said(plan(3, 'old old new', { ...rolling(1), ordinals: { start: 5 } }, 2))).toBe('delete 6');
    expect(said(plan(2, '. . old', { ...rolling(1), ordinals: { start: 5 } }, 2))).toBe('+5 current');
  });
});

interface Happening {
  readonly what: 'resize' | 'update' | 'fail' | 'delete' | 'live' | 'nothing';
  readonly which: number;
}

const happening = fc.record<Happening>({
  what: fc.constantFrom('resize', 'update', 'fail', 'delete', 'live', 'live', 'live', 'nothing'),
  which: fc.nat(5),
});

/** A simulated set of pods. */
class Life {
  readonly pods = new Map<number, string>();

  constructor(
    readonly ordered: boolean,
    public replicas: number,
  ) {}

  /** Carries out the plan; returns whether there was anything to do. */
  step(): boolean {
    const now = Array.from({ length: 12 }, (_, i) => this.pods.get(i) ?? '.').join(' ');
    const steps = plan(this.replicas, now, this.ordered ? {} : parallel).flat();
    if (this.ordered) expect(steps.length).toBeLessThanOrEqual(1);
    for (const step of steps) this.#take(step);
    return steps.length > 0;
  }

  #take({ do: what, ordinal }: Step): void {
    const others = [...this.pods.keys()];
    if (what === 'create') {
      expect(others).not.toContain(ordinal);
      if (this.ordered) for (let i = 0; i < ordinal; i++) expect(this.pods.get(i)).toMatch(/^(old|new)$/);
      this.pods.set(ordinal, 'new!');
    } else if (what === 'recreate') this.pods.delete(ordinal);
    else if (what === 'delete') {
      if (this.ordered && ordinal >= this.replicas) expect(Math.max(...others)).toBe(ordinal);
      this.pods.set(ordinal, `${this.pods.get(ordinal)}-`);
    }
  }

  /**
   * Advances the simulation: deleted pods are gone, the others become ready. Returns whether anything has changed.
   */
  pass(): boolean {
    const before = [...this.pods];
    for (const [ordinal, state] of before)
      if (state.includes('-')) this.pods.delete(ordinal);
      else this.pods.set(ordinal, state.replace('!', ''));
    return JSON.stringify(before) !== JSON.stringify([...this.pods]);
  }

  happen({ what, which }: Happening): void {
    const [ordinal, state] = [...this.pods][which % Math.max(1, this.pods.size)] ?? [];
    if (what === 'resize') this.replicas = which;
    else if (what === 'live') this.pass();
    else if (what === 'update') for (const [i, one] of this.pods) this.pods.set(i, one.replace('new', 'old'));
    else if (ordinal !== undefined && what === 'fail')
      this.pods.set(ordinal, `${state?.replace(/[!x-]/g, '')}x`);
    else if (ordinal !== undefined && what === 'delete') this.pods.delete(ordinal);
  }
}

it('keeps the order whatever happens, and all is well when nothing more does', () => {
  fc.assert(
    fc.property(
      fc.boolean(),
      fc.nat(5),
      fc.array(happening, { maxLength: 60 }),
      (ordered, replicas, story) => {
        const life = new Life(ordered, replicas);
        for (const one of story) {
          life.step();
          life.happen(one);
        }
        let rounds = 0;
        while ([life.step(), life.pass()].includes(true)) expect(rounds++).toBeLessThan(100);
        const well = Array.from({ length: life.replicas }, (_, i): [number, string] => [i, 'new']);
        expect([...life.pods].sort(([a], [b]) => a - b)).toEqual(well);
      },
    ),
  );
});
