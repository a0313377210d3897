/** Proves that nodes identify themselves: their writes have the field manager `kubelet`. */
import { afterEach, expect, it, vi } from 'vitest';
import { namespaceLifecycle } from '../../registry/admission/namespace-lifecycle.ts';
import type { Cluster } from '../cluster.ts';
import { start } from '../start.ts';

let cluster: Cluster | undefined;

afterEach(async () => {
  await cluster?.close();
  vi.restoreAllMocks();
});

it('writes of nodes have the field manager kubelet', async () => {
  const managers = new Map<string, Set<string>>();
  const { validate } = namespaceLifecycle;
  vi.spyOn(namespaceLifecycle, 'validate').mockImplementation((registry, admission) => {
    const { request, target } = admission;
    const { resource } = target.kind;
    if (request.user.name === 'system:unsecured')
      managers.set(resource, (managers.get(resource) ?? new Set()).add(request.fieldManager));
    return validate!(registry, admission);
  });
  cluster = await start({ store: 'memory', controllers: false, simulatedNodes: 1 });
  await cluster.nodesReady;
  expect(managers.get('nodes')).toEqual(new Set(['kubelet']));
  expect(managers.get('leases')).toEqual(new Set(['kubelet']));
});
