/** Proves that operations are derived from discovery, also for resources that are not built in. */
import { describe, expect, it } from 'vitest';
import { KindTable } from '../../../api/kinds/kinds.ts';
import type { Discovery, DiscoveryResource } from '../discovery.ts';
import { type Operation, operationsOf } from './operations.ts';

const kinds = new KindTable();

/** Operations of a version that has these resources. */
function operations(apiVersion: string, ...resources: Partial<DiscoveryResource>[]): Operation[] {
  const described = resources.map((resource) => ({
    singularName: '',
    namespaced: true,
    verbs: [],
    ...resource,
  }));
  const discovery = { resourceList: () => ({ resources: described }) } as unknown as Discovery;
  // The first operation is that of the version itself.
  return operationsOf(discovery, kinds, apiVersion).slice(1);
}

const ids = (list: Operation[]): string[] => list.map(({ id }) => id);

describe('operations', () => {
  it('of a namespaced resource are there in one namespace and in all', () => {
    const list = operations('v1', { name: 'pods', kind: 'Pod', verbs: ['create', 'list', 'watch', 'get'] });
    expect(list.map(({ id, method, path }) => [id, `${method} ${path}`])).toEqual([
      ['listCoreV1PodForAllNamespaces', 'get /api/v1/pods'],
      ['createCoreV1PodWhereItSays', 'post /api/v1/pods'],
      ['listCoreV1NamespacedPod', 'get /api/v1/namespaces/{namespace}/pods'],
      ['createCoreV1NamespacedPod', 'post /api/v1/namespaces/{namespace}/pods'],
      ['readCoreV1NamespacedPod', 'get /api/v1/namespaces/{namespace}/pods/{name}'],
      ['watchCoreV1PodListForAllNamespaces', 'get /api/v1/watch/pods'],
      ['watchCoreV1NamespacedPodList', 'get /api/v1/watch/namespaces/{namespace}/pods'],
      ['watchCoreV1NamespacedPod', 'get /api/v1/watch/namespaces/{namespace}/pods/{name}'],
    ]);
  });

  it('of a resource without namespaces are there once', () => {
    const verbs = ['deletecollection', 'delete', 'patch', 'update', 'watch'];
    const list = operations('v1', { name: 'nodes', kind: 'Node', namespaced: false, verbs });
    expect(ids(list)).toEqual([
      'deleteCoreV1CollectionNode',
      'replaceCoreV1Node',
      'patchCoreV1Node',
      'deleteCoreV1Node',
      'watchCoreV1NodeList',
      'watchCoreV1Node',
    ]);
  });

  it('of a part are named after the whole, and speak of their own kind', () => {
    const [scale] = operations('extensions/v1beta1', {
      name: 'replicationcontrollers/scale',
      kind: 'Scale',
      verbs: ['get'],
    });
    expect(scale).toMatchObject({
      id: 'readExtensionsV1beta1NamespacedReplicationControllerScale',
      gvk: { group: 'extensions', kind: 'Scale', version: 'v1beta1' },
    });
    expect(scale!.answer!.file).toBe('extensions-v1beta1');
    const [token] = operations('v1', {
      name: 'serviceaccounts/token',
      group: 'authentication.k8s.io',
      version: 'v1',
      kind: 'TokenRequest',
      verbs: ['create'],
    });
    expect(token).toMatchObject({ method: 'post', id: 'createCoreV1NamespacedServiceAccountToken' });
    expect(token!.answer!.name).toBe('TokenRequest');
  });

  it('answer a binding with a Status, and a delete as the kind does', () => {
    const [binding] = operations('v1', { name: 'pods/binding', kind: 'Binding', verbs: ['create'] });
    expect(binding!.answer!.name).toBe('Status');
    const [pod] = operations('v1', { name: 'pods', kind: 'Pod', verbs: ['delete'] });
    expect(pod!.answer!.name).toBe('Pod');
    const [config] = operations('v1', { name: 'configmaps', kind: 'ConfigMap', verbs: ['delete'] });
    expect(config!.answer!.name).toBe('Status');
  });

  it('of a connection take its options in the query, and answer with anything', () => {
    const list = operations(
      'v1',
      { name: 'pods/exec', kind: 'PodExecOptions', verbs: ['create', 'get'] },
      { name: 'pods/log', kind: 'Pod', verbs: ['get'] },
    );
    expect(ids(list)).toEqual([
      'connectCoreV1PostNamespacedPodExec',
      'connectCoreV1GetNamespacedPodExec',
      'readCoreV1NamespacedPodLog',
    ]);
    expect(list[0]!.answer).toBeUndefined();
    expect(list[0]!.parameters.map(({ name, type }) => [name, type])).toEqual([
      ['stdin', 'boolean'],
      ['stdout', 'boolean'],
      ['stderr', 'boolean'],
      ['tty', 'boolean'],
      ['container', 'string'],
      ['command', 'string'],
    ]);
    expect(list[2]!.parameters).toContainEqual(
      expect.objectContaining({ name: 'tailLines', type: 'integer' }),
    );
  });

  it('leave out kinds that no table knows', () => {
    expect(operations('v1', { name: 'widgets', kind: 'Widget', verbs: ['get'] })).toEqual([]);
  });
});
