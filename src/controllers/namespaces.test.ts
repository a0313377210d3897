/** Proves that the namespace controller removes objects that an earlier server left in namespaces that are gone. */
import { expect, it } from 'vitest';
import { asTester } from '../registry/request.fixture.ts';
import { collectionOf, named } from '../registry/target.ts';
import { harness, useHarness } from './shared/harness.fixture.ts';

useHarness();

it('objects of a namespace that is gone are removed, whatever holds them', async () => {
  const { registry } = harness;
  const kind = registry.kinds.resource('v1', 'configmaps')!;
  // A server that ended in the middle has left them: no verb would make them.
  for (const [namespace, name] of [
    ['nowhere', 'a'],
    ['nowhere', 'b'],
    ['default', 'c'],
  ] as const) {
    const target = named(collectionOf(kind, namespace), name);
    const finalizers = name === 'b' ? ['example.com/hold'] : undefined;
    const object = { metadata: { name, namespace, uid: `uid-${name}`, finalizers } };
    await registry.commit(asTester('create'), target, registry.encode(asTester('create'), target, object), 0);
  }
  harness.start(['namespace']);
  await harness.settled();
  expect(harness.all('core/configmaps').map(({ name }) => name)).toEqual(['c']);
});
