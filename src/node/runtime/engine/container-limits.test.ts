import { expect, it } from 'vitest';
import type { Pod } from '../../../api/generated/types.ts';
import { engineLimits, oomScore } from './container-limits.ts';

it('turns requests and limits into shares, quotas and bytes', () => {
  const of = (requests: Record<string, string>, limits: Record<string, string>) =>
    engineLimits({ name: 'c', resources: { requests, limits } });
  expect(engineLimits({ name: 'c' })).toEqual({ cpuShares: 2, cpuQuota: 0, memoryBytes: 0 });
  expect(of({ cpu: '500m' }, {})).toEqual({ cpuShares: 512, cpuQuota: 0, memoryBytes: 0 });
  expect(of({}, { cpu: '2', memory: '64Mi' })).toEqual({
    cpuShares: 2048,
    cpuQuota: 200_000,
    memoryBytes: 67_108_864,
  });
  // The kernel's least quota, and its largest share.
  expect(of({ cpu: '1m' }, { cpu: '1m' })).toMatchObject({ cpuShares: 2, cpuQuota: 1_000 });
  expect(of({ cpu: '1000' }, {}).cpuShares).toBe(262_144);
});

it('says who is killed first when memory is short', () => {
  const score = (qosClass: string, memory = '1') =>
    oomScore({ metadata: {}, status: { qosClass } } as Pod, {
      name: 'c',
      resources: { requests: { memory } },
    });
  expect(score('Guaranteed')).toBe(-997);
  expect(score('BestEffort')).toBe(1000);
  expect(score('Burstable')).toBe(999);
  expect(score('Burstable', '1000Ti')).toBe(3);
});
