/** Resources of the core that are not stored kinds: bindings, and connections. */
import type { UnstoredResource } from '../../kind/group.ts';

const connectVerbs = ['create', 'get'];
const proxyVerbs = ['create', 'delete', 'get', 'patch', 'update'];

/** Subresources that are tunnels to a node instead of stored data. */
const connections: readonly UnstoredResource[] = (
  [
    ['nodes/proxy', 'NodeProxyOptions', proxyVerbs],
    ['pods/attach', 'PodAttachOptions', connectVerbs],
    ['pods/exec', 'PodExecOptions', connectVerbs],
    ['pods/log', 'Pod', ['get']],
    ['pods/portforward', 'PodPortForwardOptions', connectVerbs],
    ['pods/proxy', 'PodProxyOptions', proxyVerbs],
    ['services/proxy', 'ServiceProxyOptions', proxyVerbs],
  ] as const
).map(([name, kind, verbs]) => ({
  name,
  singularName: '',
  namespaced: !name.startsWith('nodes/'),
  kind,
  verbs,
}));

export const unstoredResources: readonly UnstoredResource[] = [
  { name: 'bindings', singularName: 'binding', namespaced: true, kind: 'Binding', verbs: ['create'] },
  ...connections,
];
