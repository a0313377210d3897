/** Proves that controllers do not parse the same long objects of a tenant again and again for small ones beside them. */
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { Entry } from '../registry/view/entry.ts';
import { optimized } from '../switches.ts';
import { Harness } from './shared/harness.fixture.ts';

let harness: Harness;
beforeEach(async () => {
  harness = await Harness.open(['default']);
});
afterEach(() => harness.close());

/** How often an object was parsed. */
function parsings(name: string): () => number {
  const parse = vi.spyOn(Entry.prototype, 'object');
  return () => parse.mock.contexts.filter((entry) => (entry as Entry).name === name).length;
}

const countMax = 3;

it('an owner, for its dependents', async () => {
  await harness.seed('v1', 'configmaps', 'default', { metadata: { name: 'owner' } });
  const [owner] = harness.all('core/configmaps');
  const parsed = parsings('owner');
  harness.start(['garbagecollector']);
  for (let i = 0; i < 10; i++) {
    const reference = { apiVersion: 'v1', kind: 'ConfigMap', name: 'owner', uid: owner!.uid };
    await harness.seed('v1', 'configmaps', 'default', {
      metadata: { name: `one-${i}`, ownerReferences: [reference] },
    });
    owner!.forget();
    await harness.settled();
  }
  expect(parsed()).toBeLessThan(countMax);
  expect(harness.all('core/configmaps')).toHaveLength(11);
});

it('a service, for pods that are scheduled', async () => {
  const spec = { selector: { a: 'b' }, ports: [{ port: 80 }] };
  await harness.seed('v1', 'services', 'default', { metadata: { name: 'front' }, spec });
  const [service] = harness.all('core/services');
  const parsed = parsings('front');
  harness.start(['scheduler']);
  for (let i = 0; i < 10; i++) {
    const pod = { metadata: { name: `pod-${i}` }, spec: { containers: [{ name: 'c', image: 'i' }] } };
    await harness.seed('v1', 'pods', 'default', pod);
    service!.forget();
    await harness.settled();
  }
  expect(parsed()).toBeLessThan(countMax);
});

// Plain, an object that was parsed is not kept.
it.runIf(optimized)('a pod, for its claims', async () => {
  const storage = { provisioner: 'example.com/disks', volumeBindingMode: 'WaitForFirstConsumer' };
  await harness.seed('storage.k8s.io/v1', 'storageclasses', '', { metadata: { name: 'late' }, ...storage });
  const names = Array.from({ length: 10 }, (_, i) => `claim-${i}`);
  const volumes = names.map((claimName) => ({ name: claimName, persistentVolumeClaim: { claimName } }));
  const containers = [{ name: 'c', image: 'i' }];
  await harness.seed('v1', 'pods', 'default', { metadata: { name: 'long' }, spec: { containers, volumes } });
  const [pod] = harness.all('core/pods');
  const parsed = parsings('long');
  harness.start(['volume-binder']);
  const resources = { requests: { storage: '1Gi' } };
  for (const name of names) {
    const spec = { storageClassName: 'late', accessModes: ['ReadWriteOnce'], resources };
    await harness.seed('v1', 'persistentvolumeclaims', 'default', { metadata: { name }, spec });
    pod!.forget();
    await harness.settled();
  }
  expect(parsed()).toBeLessThan(countMax);
  const told = harness.all('core/events').map((entry) => entry.stored() as { message?: string });
  expect(told.filter(({ message }) => message === 'waiting for pod long to be scheduled')).toHaveLength(10);
});
