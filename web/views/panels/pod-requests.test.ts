/** Proves what a node counts for a pod: as `kubectl describe node` and the scheduler do. */
import { expect, it } from 'vitest';
import { requestOf } from './pod-requests.ts';

const asks = (cpu: string, more: object = {}) => ({ name: cpu, resources: { requests: { cpu } }, ...more });
const podOf = (spec: object) => ({ metadata: { name: 'p', uid: 'u', resourceVersion: '1' }, spec });

it('adds up containers and sidecars, or takes what init containers need before them', () => {
  const containers = [asks('250m'), asks('1')];
  const always = { restartPolicy: 'Always' };
  for (const [spec, cores] of [
    [{}, 0],
    [{ containers }, 1.25],
    [{ containers: [{ name: 'free' }] }, 0],
    [{ containers, initContainers: [asks('500m')] }, 1.25],
    [{ containers, initContainers: [asks('2')] }, 2],
    [{ containers, initContainers: [asks('1', always)] }, 2.25],
    [{ containers, initContainers: [asks('1', always), asks('2')] }, 3],
    [{ containers, initContainers: [asks('2'), asks('1', always)] }, 2.25],
    [{ containers, overhead: { cpu: '100m' } }, 1.35],
    [{ containers, resources: { requests: { cpu: '4' } } }, 4],
  ] as const)
    expect(requestOf(podOf(spec) as never, 'cpu'), JSON.stringify(spec)).toBeCloseTo(cores);
});
