/** Proves that a claim or volume that changes leads to no second look at all others: tenants may have many thousands. */
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import type { PersistentVolumeClaim } from '../../api/generated/types.ts';
import { Entry } from '../../registry/view/entry.ts';
import { optimized } from '../../switches.ts';
import { Harness } from '../shared/harness.fixture.ts';
import { selectedNodeOf } from './storage-classes.ts';

let harness: Harness;
beforeEach(async () => {
  harness = await Harness.open();
});
afterEach(async () => {
  vi.restoreAllMocks();
  await harness.close();
  expect(harness.errors).toEqual([]);
});

const count = 100;
const names = Array.from({ length: count }, (_, at) => `claim-${at}`);
const resources = { requests: { storage: '1Gi' } };
const accessModes = ['ReadWriteOnce'];
const capacity = { storage: '1Gi' };

const makeClass = (): Promise<Entry> =>
  harness.seed('storage.k8s.io/v1', 'storageclasses', '', {
    metadata: { name: 'late' },
    provisioner: 'example.com/disks',
    volumeBindingMode: 'WaitForFirstConsumer',
  });
const makeClaim = (name: string): Promise<Entry> =>
  harness.seed('v1', 'persistentvolumeclaims', 'default', {
    metadata: { name },
    spec: { storageClassName: 'late', accessModes, resources },
    status: { phase: 'Pending' },
  });
/** A volume that a provisioner has made for a claim. */
const makeVolume = (name: string, uid: string): Promise<Entry> => {
  const claimRef = { namespace: 'default', name, uid };
  const spec = { storageClassName: 'late', accessModes, capacity, claimRef, hostPath: { path: '/x' } };
  return harness.seed('v1', 'persistentvolumes', '', { metadata: { name: `pv-${name}` }, spec });
};

const claimsNow = (): PersistentVolumeClaim[] =>
  harness.all('core/persistentvolumeclaims').map((entry) => entry.peek() as PersistentVolumeClaim);

/** How often objects of a resource were parsed. */
function parsings(resource: string): () => number {
  const parse = vi.spyOn(Entry.prototype, 'object');
  return () => parse.mock.contexts.filter((entry) => (entry as Entry).kind.resource === resource).length;
}

// Plain, an object that was parsed is not kept.
it.runIf(optimized)('claims that wait are not compared with volumes of others', async () => {
  await makeClass();
  const claims = await Promise.all(names.map(makeClaim));
  harness.start(['volume-binder']);
  await harness.settled();
  const parsed = parsings('persistentvolumeclaims');
  for (const [at, claim] of claims.entries()) {
    await makeVolume(names[at]!, claim.uid);
    await harness.settled();
  }
  expect(parsed()).toBeLessThan(20 * count);
  expect(claimsNow().map(({ status }) => status?.phase)).toEqual(names.map(() => 'Bound'));
});

it.runIf(optimized)('a pod that waits for many claims looks at those that have changed', async () => {
  await makeClass();
  const claims = await Promise.all(names.map(makeClaim));
  const node = { metadata: { name: 'n' }, status: { allocatable: { pods: '10' } } };
  await harness.seed('v1', 'nodes', '', node);
  const volumes = names.map((claimName) => ({ name: claimName, persistentVolumeClaim: { claimName } }));
  const containers = [{ name: 'c', image: 'i' }];
  await harness.seed('v1', 'pods', 'default', { metadata: { name: 'long' }, spec: { containers, volumes } });
  harness.start(['scheduler', 'volume-binder']);
  while (!claimsNow().every((claim) => selectedNodeOf(claim) !== undefined))
    await new Promise((resolve) => setImmediate(resolve));
  const parsed = parsings('persistentvolumeclaims');
  for (const [at, claim] of claims.entries()) await makeVolume(names[at]!, claim.uid);
  await harness.settled();
  expect((harness.all('core/pods')[0]!.peek() as { spec?: { nodeName?: string } }).spec?.nodeName).toBe('n');
  expect(parsed()).toBeLessThan(30 * count);
});
