/** Proves that programs in pods find the API by themselves, and may do there what the account of their pod may. */
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { beforeAll, expect, it } from 'vitest';
import type { Container, Pod } from '../../src/api/generated/types.ts';
import { podOf, podsPath, useRunningCluster } from '../streams/running.ts';
import { describeWith } from '../support/tools.ts';
import { kubectls } from './programs.ts';

/** Clusters on one machine share its network, so this one has service addresses of its own. */
const serviceClusterIPRange = `10.${64 + (process.pid % 128)}.0.0/24`;
const cluster = useRunningCluster({ secure: true, serviceClusterIPRange });

const library = pathToFileURL(
  path.join(import.meta.dirname, '../../node_modules/@kubernetes/client-node/dist/index.js'),
).href;

const nodeProgram = `
  import { CoreV1Api, KubeConfig } from ${JSON.stringify(library)};
  const config = new KubeConfig();
  config.loadFromCluster();
  const core = config.makeApiClient(CoreV1Api);
  const namespace = config.getContextObject(config.currentContext).namespace;
  const tell = (what, call) => call.then(
    ({ items }) => console.log(what, items.map((item) => item.metadata.name).join()),
    (error) => console.log(what, error.code));
  await tell('pods', core.listNamespacedPod({ namespace }));
  await tell('secrets', core.listNamespacedSecret({ namespace }));`;

const pythonProgram = `
from kubernetes import client, config
config.load_incluster_config()
core = client.CoreV1Api()
for what, call in (('pods', core.list_namespaced_pod), ('secrets', core.list_namespaced_secret)):
    try:
        print(what, ','.join(item.metadata.name for item in call('default').items))
    except client.ApiException as error:
        print(what, error.status)`;

/** What a program prints, as the only container of a pod that runs once. */
async function printed(name: string, command: string[], more: Partial<Container> = {}): Promise<string> {
  const container: Container = { name: 'c', image: 'none', command, ...more };
  const pod: Pod = podOf(name, container);
  pod.spec!.restartPolicy = 'Never';
  await cluster.run(pod, ({ status }) => status?.phase === 'Succeeded' || status?.phase === 'Failed');
  const { text } = await cluster.client.get(`${podsPath}/${name}/log`);
  await cluster.client.delete(`${podsPath}/${name}?gracePeriodSeconds=0`);
  await cluster.untilGone(name);
  return text;
}

beforeAll(async () => {
  const bound = await cluster.client.post(
    '/apis/rbac.authorization.k8s.io/v1/namespaces/default/rolebindings',
    {
      metadata: { name: 'readers' },
      subjects: [{ kind: 'ServiceAccount', name: 'default', namespace: 'default' }],
      roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'reader' },
    },
  );
  expect(bound.status, bound.text).toBe(200);
  const role = await cluster.client.post('/apis/rbac.authorization.k8s.io/v1/clusterroles', {
    metadata: { name: 'reader' },
    rules: [{ apiGroups: [''], resources: ['pods'], verbs: ['get', 'list'] }],
  });
  expect(role.status, role.text).toBe(200);
});

describeWith('kubectl')('kubectl in a pod', () => {
  it('reads what its account may read', async () => {
    const script = '"$KUBECTL" get pods -o name; "$KUBECTL" get secrets 2>&1; true';
    const env = [
      { name: 'KUBECTL', value: kubectls[0]!.program },
      { name: 'HOME', value: cluster.folder },
    ];
    const text = await printed('kubectl', ['/bin/sh', '-c', script], { env });
    expect(text).toContain('pod/kubectl\n');
    expect(text).toContain('User "system:serviceaccount:default:default" cannot list resource "secrets"');
  });
});

it('the JavaScript client in a pod reads what its account may read', async () => {
  const text = await printed('library', [process.execPath, '--input-type=module', '-e', nodeProgram]);
  expect(text).toBe('pods library\nsecrets 403\n');
});

describeWith('python3-kubernetes')('the Python client in a pod', () => {
  it('reads what its account may read', async () => {
    const text = await printed('python', ['/usr/bin/python3', '-c', pythonProgram]);
    expect(text).toBe('pods python\nsecrets 403\n');
  });
});
