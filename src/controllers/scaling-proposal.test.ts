/** The number of replicas that a metric proposes, and the pace of reaching it. */
import { describe, expect, it } from 'vitest';
import { ScalingPace } from './scaling-pace.ts';
import { type MeasuredPod, propose } from './scaling-proposal.ts';

const pod = (usage: number | undefined, ready = true, request: number | undefined = 100): MeasuredPod => ({
  name: 'p',
  ready,
  request,
  usage,
});

describe('a proposal', () => {
  // Ratio times pods, rounded up; within a tenth of the target nothing changes.
  it.each([
    ['twice as busy as wanted', 2, 50, [pod(100), pod(100)], 4],
    ['half as busy', 4, 50, [pod(25), pod(25), pod(25), pod(25)], 2],
    ['within tolerance above', 3, 50, [pod(55), pod(55), pod(55)], 3],
    ['within tolerance below', 3, 50, [pod(45), pod(45), pod(45)], 3],
    ['just outside', 3, 50, [pod(56), pod(56), pod(56)], 4],
    ['exactly three times', 1, 50, [pod(150)], 3],
  ])('%s', (_, current, utilization, pods, replicas) => {
    expect(propose(current, { utilization }, pods).replicas).toBe(replicas);
  });

  // Pods that are not ready count as idle when scaling up, so that starting pods do not cause further ones.
  it('counts pods that are not ready as idle when growing', () => {
    expect(propose(2, { utilization: 50 }, [pod(100), pod(undefined, false)]).replicas).toBe(2);
    expect(propose(2, { utilization: 50 }, [pod(400), pod(undefined, false)]).replicas).toBe(8);
  });

  it('counts pods nobody knows about as busy when shrinking', () => {
    expect(propose(2, { utilization: 50 }, [pod(0), pod(undefined)]).replicas).toBe(2);
  });

  it('tells the share in use', () => {
    expect(propose(2, { utilization: 50 }, [pod(100), pod(20)])).toMatchObject({
      utilization: 60,
      average: 60,
    });
  });

  it('goes by an amount per pod where that is asked for', () => {
    expect(propose(2, { average: 30 }, [pod(60, true, undefined), pod(60, true, undefined)]).replicas).toBe(
      4,
    );
  });

  it('fails without requests, and without figures', () => {
    const noRequest: MeasuredPod = { name: 'p', ready: true, request: undefined, usage: 1 };
    expect(() => propose(1, { utilization: 50 }, [noRequest])).toThrow('missing request for cpu');
    expect(() => propose(1, { utilization: 50 }, [pod(undefined)])).toThrow('did not receive metrics');
  });
});

describe('the pace', () => {
  const spec = { minReplicas: 1, maxReplicas: 20 };

  it('at most doubles, or adds four, per step', () => {
    expect(new ScalingPace().limit(spec, 1, 15, 0)).toMatchObject({ replicas: 5, reason: 'ScaleUpLimit' });
    expect(new ScalingPace().limit(spec, 6, 15, 0)).toMatchObject({ replicas: 12, reason: 'ScaleUpLimit' });
    const pace = new ScalingPace();
    pace.stepped(1, 5, 0);
    expect(pace.limit(spec, 5, 15, 10_000).replicas).toBe(5);
    expect(pace.limit(spec, 5, 15, 16_000).replicas).toBe(10);
  });

  // A short drop in load must not remove pods that the next peak needs.
  it('shrinks to the highest proposal of the last five minutes', () => {
    const pace = new ScalingPace();
    expect(pace.limit(spec, 10, 8, 0).replicas).toBe(8);
    expect(pace.limit(spec, 8, 2, 60_000).replicas).toBe(8);
    expect(pace.limit(spec, 8, 2, 301_000).replicas).toBe(2);
  });

  it('stays within the range', () => {
    expect(new ScalingPace().limit(spec, 19, 100, 0)).toMatchObject({
      replicas: 20,
      reason: 'TooManyReplicas',
      limited: true,
    });
    expect(new ScalingPace().limit({ ...spec, minReplicas: 2 }, 5, 0, 0)).toMatchObject({
      replicas: 2,
      reason: 'TooFewReplicas',
    });
    expect(new ScalingPace().limit(spec, 5, 6, 0)).toMatchObject({
      replicas: 6,
      reason: 'DesiredWithinRange',
      limited: false,
    });
  });

  it('follows the policies of a spec', () => {
    const policies = [{ type: 'Pods', value: 1, periodSeconds: 60 }];
    const slow = {
      ...spec,
      behavior: { scaleDown: { policies, stabilizationWindowSeconds: 0, selectPolicy: 'Max' } },
    };
    expect(new ScalingPace().limit(slow, 10, 1, 0)).toMatchObject({ replicas: 9, reason: 'ScaleDownLimit' });
    const never = {
      ...spec,
      behavior: { scaleDown: { policies, stabilizationWindowSeconds: 0, selectPolicy: 'Disabled' } },
    };
    expect(new ScalingPace().limit(never, 10, 1, 0).replicas).toBe(10);
  });
});
