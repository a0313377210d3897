/** Proves that a rolling update finishes, and stays within its bounds from any start state. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { rounds } from '../../../test/support/tier.ts';
import type { DeploymentSpec, ReplicaSet } from '../../api/generated/types.ts';
import { maximumKey, sizeAnnotations } from './revisions.ts';
import { boundsOf, isScaled, newSetSize, oldSetSizes, scaledSizes, sizeOf } from './rolling-plan.ts';

const rolling = (
  replicas: number,
  maxSurge: number | string,
  maxUnavailable: number | string,
): DeploymentSpec => ({
  replicas,
  strategy: { type: 'RollingUpdate', rollingUpdate: { maxSurge, maxUnavailable } },
});

/** `age` is larger for older sets. */
function set(name: string, age: number, replicas: number, available = replicas, pods = replicas): ReplicaSet {
  const creationTimestamp = `2026-01-01T00:00:${String(59 - age).padStart(2, '0')}Z`;
  return {
    metadata: { name, creationTimestamp, annotations: {} },
    spec: { replicas },
    status: { replicas: pods, availableReplicas: available },
  };
}

const annotated = (one: ReplicaSet, desired: number, maximum: number): ReplicaSet => {
  one.metadata.annotations = sizeAnnotations(desired, maximum);
  return one;
};

const named = (sizes: readonly (readonly [ReplicaSet, number])[]): Record<string, number> =>
  Object.fromEntries(sizes.map(([{ metadata }, size]) => [metadata.name, size]));

describe('bounds', () => {
  it.each([
    // Percentages of surge are rounded up, of unavailability down.
    [3, '25%', '25%', 1, 0],
    [10, '25%', '25%', 3, 2],
    [10, 4, 3, 4, 3],
    [1, '100%', 0, 1, 0],
    // Both would be zero: then one pod may be unavailable.
    [3, 0, '25%', 0, 1],
    [3, '0%', '10%', 0, 1],
    // At most all pods can be unavailable.
    [2, 0, 5, 0, 2],
    [0, '25%', '25%', 0, 0],
    [0, 1, 1, 1, 0],
  ])(
    'of %i replicas with %s and %s are %i and %i',
    (replicas, surge, unavailable, maxSurge, maxUnavailable) => {
      expect(boundsOf(rolling(replicas, surge, unavailable))).toEqual({ maxSurge, maxUnavailable });
    },
  );

  it('are none where all pods are replaced at once', () => {
    expect(boundsOf({ replicas: 4, strategy: { type: 'Recreate' } })).toEqual({
      maxSurge: 0,
      maxUnavailable: 0,
    });
  });
});

describe('the newest set', () => {
  it('grows into the room that the others leave', () => {
    const spec = rolling(10, 3, 2);
    expect(newSetSize(spec, undefined, [set('old', 9, 10)])).toBe(3);
    expect(newSetSize(spec, set('new', 1, 3), [set('old', 9, 8)])).toBe(5);
    expect(newSetSize(spec, set('new', 1, 5), [set('old', 9, 8)])).toBe(5);
    expect(newSetSize(spec, set('new', 1, 9), [])).toBe(10);
    expect(newSetSize(spec, set('new', 1, 12), [])).toBe(10);
  });

  it('waits for pods that should be gone and are not yet', () => {
    expect(newSetSize(rolling(10, 3, 2), set('new', 1, 3), [set('old', 9, 8, 8, 10)])).toBe(3);
  });

  it('has all pods at once where nothing rolls', () => {
    expect(newSetSize({ replicas: 4, strategy: { type: 'Recreate' } }, undefined, [])).toBe(4);
  });
});

describe('old sets', () => {
  it('give what is not needed, those of no use first, then the oldest', () => {
    const spec = rolling(10, 3, 2);
    expect(named(oldSetSizes(spec, set('new', 1, 3, 0), [set('old', 9, 10)]))).toEqual({ old: 8 });
    expect(named(oldSetSizes(spec, set('new', 1, 5, 0), [set('old', 9, 8)]))).toEqual({});
    const two = [set('b', 5, 5, 4), set('a', 9, 5)];
    // One pod of b is not available; nine are, one more than needed.
    expect(named(oldSetSizes(spec, set('new', 1, 3, 0), two))).toEqual({ a: 4, b: 4 });
    expect(named(oldSetSizes(spec, set('new', 1, 10), two))).toEqual({ a: 0, b: 0 });
  });

  it('that were made smaller do not count as available as before', () => {
    // The status still shows ten.
    expect(named(oldSetSizes(rolling(10, 3, 2), set('new', 1, 5, 2), [set('old', 9, 8, 10, 10)]))).toEqual({
      old: 6,
    });
  });
});

describe('a rolling update', () => {
  const bound = fc.oneof(
    fc.nat({ max: 4 }),
    fc.nat({ max: 100 }).map((percent) => `${percent}%`),
  );
  /** The next event: a pass of the controller, or a change of the pods of one set. */
  const happening = fc.constantFrom(
    'look',
    'old follows',
    'old tells',
    'new follows',
    'new tells',
    'new gets on',
  );
  const seen = { looks: 0, ends: 0 };

  it('keeps its bounds at every step and comes to its end, in whatever order pods come and go', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 12 }),
        bound,
        bound,
        fc.array(happening, { minLength: 20, maxLength: 200 }),
        (replicas, surge, unavailable, happenings) => {
          const spec = rolling(replicas, surge, unavailable);
          const { maxSurge, maxUnavailable } = boundsOf(spec);
          const sets = { old: set('old', 9, replicas), new: set('new', 1, 0) };
          /** The real state; a status may show an earlier one. */
          const pods = { old: replicas, new: 0, available: 0 };
          const look = (): void => {
            seen.looks++;
            const size = newSetSize(spec, sets.new, [sets.old]);
            if (size !== sizeOf(sets.new)) sets.new.spec!.replicas = size;
            else for (const [one, less] of oldSetSizes(spec, sets.new, [sets.old])) one.spec!.replicas = less;
          };
          const happen = (what: string): void => {
            if (what === 'look') look();
            else if (what === 'old follows') pods.old = sizeOf(sets.old);
            else if (what === 'new follows') pods.new = sizeOf(sets.new);
            else if (what === 'old tells')
              sets.old.status = { replicas: pods.old, availableReplicas: pods.old };
            else if (what === 'new tells')
              sets.new.status = { replicas: pods.new, availableReplicas: pods.available };
            else pods.available = Math.min(pods.available + 1, pods.new);
            if (pods.old + pods.new > replicas + maxSurge) throw new Error('too many pods');
            if (pods.old + pods.available < replicas - maxUnavailable)
              throw new Error('too few are available');
          };
          for (const what of happenings) happen(what);
          const rest = ['look', 'new follows', 'old follows', 'new gets on', 'new tells', 'old tells'];
          for (let rounds = 0; pods.available < replicas || pods.old > 0; rounds++) {
            if (rounds > 10 * replicas) throw new Error('it does not get on');
            for (const what of rest) happen(what);
          }
          seen.ends++;
        },
      ),
      { numRuns: rounds(500) },
    );
    expect(seen.ends).toBeGreaterThanOrEqual(rounds(500));
    expect(seen.looks).toBeGreaterThan(rounds(4_000));
  });
});

describe('scaling', () => {
  it('is seen by what the sets in use were scaled for', () => {
    const spec = rolling(5, 1, 1);
    expect(isScaled(spec, [annotated(set('a', 1, 3), 3, 4)])).toBe(true);
    expect(isScaled(spec, [annotated(set('a', 1, 3), 5, 6), annotated(set('b', 2, 0), 3, 4)])).toBe(false);
    expect(isScaled(spec, [set('adopted', 1, 3)])).toBe(false);
  });

  it('of one set is simple', () => {
    expect(named(scaledSizes(rolling(7, 1, 1), set('new', 1, 3), [set('old', 9, 0)], 3))).toEqual({ new: 7 });
    expect(named(scaledSizes(rolling(7, 1, 1), set('new', 1, 0), [set('old', 9, 3)], 3))).toEqual({ old: 7 });
    expect(named(scaledSizes(rolling(7, 1, 1), undefined, [set('a', 9, 0), set('b', 2, 0)], 0))).toEqual({
      b: 7,
    });
    expect(named(scaledSizes(rolling(0, 1, 1), undefined, [], 0))).toEqual({});
  });

  it('in the middle of a rollout gives every set its share', () => {
    const sets = (): [ReplicaSet, ReplicaSet[]] => [
      annotated(set('new', 1, 5), 10, 13),
      [annotated(set('old', 9, 8), 10, 13)],
    ];
    expect(named(scaledSizes(rolling(15, 3, 2), ...sets(), 13))).toEqual({ old: 11, new: 7 });
    expect(named(scaledSizes(rolling(5, 3, 2), ...sets(), 13))).toEqual({ old: 5, new: 3 });
    expect(named(scaledSizes(rolling(0, 3, 2), ...sets(), 13))).toEqual({ old: 0, new: 0 });
  });

  it('gives what is left after rounding to the largest', () => {
    const three = ['a', 'b', 'c'].map((name, i) => annotated(set(name, i + 2, 1), 3, 3));
    const sizes = named(scaledSizes(rolling(5, 0, 1), undefined, three, 3));
    expect(Object.values(sizes).reduce((sum, size) => sum + size, 0)).toBe(5);
    // Among equals the newest counts as the largest.
    expect(sizes.a).toBe(2);
  });

  it('does without the size there was before where nobody wrote it down', () => {
    const sets = [set('a', 2, 4), set('b', 3, 4)];
    expect(sets[0]!.metadata.annotations?.[maximumKey]).toBeUndefined();
    expect(named(scaledSizes(rolling(16, 0, 1), undefined, sets, 8))).toEqual({ a: 8, b: 8 });
    expect(named(scaledSizes(rolling(16, 0, 1), undefined, sets, 0))).toEqual({ a: 12, b: 4 });
  });

  it('takes the old ones away once the newest has all it needs', () => {
    const old = annotated(set('old', 9, 1), 3, 4);
    expect(named(scaledSizes(rolling(3, 1, 1), annotated(set('new', 1, 3), 3, 4), [old], 4))).toEqual({
      old: 0,
    });
  });
});
