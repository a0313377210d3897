/** Proves how revisions are numbered, and which annotations replica sets get from their deployment. */
import { describe, expect, it } from 'vitest';
import type { Deployment, ReplicaSet } from '../../api/generated/types.ts';
import { byRevision, historyKey, nextRevision, revisedAnnotations, revisionKey } from './revisions.ts';

const deployment = (annotations: Record<string, string> = {}): Deployment => ({
  metadata: { name: 'web', annotations },
});
const revised = (revision: number | bigint, annotations?: Record<string, string>, of = deployment()) =>
  revisedAnnotations(of, annotations, BigInt(revision));
const set = (name: string, revision?: string): ReplicaSet => ({
  metadata: { name, annotations: revision === undefined ? {} : { [revisionKey]: revision } },
});

describe('a revision', () => {
  it('is one more than the highest of the old sets', () => {
    expect(nextRevision([])).toBe(1n);
    expect(nextRevision([set('a', '3'), set('b', '12'), set('c'), set('d', 'many')])).toBe(13n);
  });

  it('has 64 bits', () => {
    const [large, last, beyond] = ['3546343826724305832', '9223372036854775807', '9223372036854775808'];
    expect(nextRevision([set('a', large), set('b', '3546343826724305831')])).toBe(3546343826724305833n);
    expect(nextRevision([set('a', last)])).toBe(9223372036854775807n);
    expect(nextRevision([set('a', beyond), set('b', '7')])).toBe(8n);
    expect(revised(3546343826724305833n, { [revisionKey]: large })).toEqual({
      [revisionKey]: '3546343826724305833',
      [historyKey]: large,
    });
    expect(revised(1, { [revisionKey]: large })).toEqual({ [revisionKey]: large });
    const sets = [set('b', '3546343826724305833'), set('a', large)].sort(byRevision);
    expect(sets.map(({ metadata }) => metadata.name)).toEqual(['a', 'b']);
  });

  it('is written on a set that has none, or a lower one', () => {
    expect(revised(4)).toEqual({ [revisionKey]: '4' });
    expect(revised(4, { [revisionKey]: '4' })).toEqual({ [revisionKey]: '4' });
    expect(revised(4, { [revisionKey]: '5' })).toEqual({ [revisionKey]: '5' });
    expect(revised(4, { [revisionKey]: 'many' })).toEqual({ [revisionKey]: 'many' });
  });

  it('remembers those before it', () => {
    const once = revised(4, { [revisionKey]: '1' });
    expect(once).toEqual({ [revisionKey]: '4', [historyKey]: '1' });
    expect(revised(6, once)).toEqual({ [revisionKey]: '6', [historyKey]: '1,4' });
  });

  it('remembers no more than there is room for', () => {
    let annotations = revised(1);
    for (let i = 2; i < 2000; i++) annotations = revised(i, annotations);
    const history = annotations[historyKey]!.split(',').map(Number);
    expect(annotations[historyKey]!.length).toBeLessThanOrEqual(2000);
    expect(history.at(-1)).toBe(1998);
    expect(history[0]).toBeGreaterThan(1000);
  });
});

it('annotations of the deployment are handed on, but for those that tell of itself', () => {
  const of = deployment({
    'kubernetes.io/change-cause': 'because',
    'kubectl.kubernetes.io/last-applied-configuration': '{}',
    [revisionKey]: '77',
  });
  expect(revised(2, { mine: 'kept' }, of)).toEqual({
    mine: 'kept',
    'kubernetes.io/change-cause': 'because',
    [revisionKey]: '2',
  });
});

it('sets are in the order of their revisions', () => {
  const sorted = [set('c', '10'), set('b', '9'), set('a'), set('d', '9')].sort(byRevision);
  expect(sorted.map(({ metadata }) => metadata.name)).toEqual(['a', 'b', 'd', 'c']);
});
