/** Cluster info: where the cluster is and whom to trust, in a ConfigMap that machines read before they join. */
import type { ConfigMap } from '../../api/generated/types.ts';
import { writeYaml } from '../../api/text/yaml.ts';
import type { Registry } from '../registry.ts';
import { collectionOf, named } from '../target.ts';
import { create } from '../verbs/create.ts';
import { modify } from '../verbs/modify.ts';
import { actingAs } from '../writers.ts';

export const clusterInfo = { namespace: 'kube-public', name: 'cluster-info' } as const;

export interface ClusterAddress {
  /** Where other machines reach the secure door: `https://10.1.2.3:6443`. */
  readonly server: string;
  /** PEM of the authority that signed its certificate. */
  readonly certificateAuthority: string;
}

/** Writes the kubeconfig without a user, unless it is there already. Signatures beside it are for the signer. */
export async function plantClusterInfo(registry: Registry, address: ClusterAddress): Promise<void> {
  const kind = registry.kinds.resource('v1', 'configmaps')!;
  const { namespace, name } = clusterInfo;
  const kubeconfig = writeYaml({
    apiVersion: 'v1',
    kind: 'Config',
    clusters: [
      {
        name: '',
        cluster: {
          server: address.server,
          'certificate-authority-data': Buffer.from(address.certificateAuthority).toString('base64'),
        },
      },
    ],
    contexts: [],
    'current-context': '',
    users: [],
  });
  const collection = collectionOf(kind, namespace);
  const current = registry.view.collection(kind).get(namespace, name)?.peek() as ConfigMap | undefined;
  if (current?.data?.kubeconfig === kubeconfig) return;
  if (!current) {
    const map = { metadata: { name }, data: { kubeconfig } } as ConfigMap;
    await create(registry, actingAs('kube-apiserver', 'create'), collection, map);
    return;
  }
  await modify(registry, actingAs('kube-apiserver', 'update'), named(collection, name), (entry) => {
    const map = entry.object() as ConfigMap;
    map.data = { ...map.data, kubeconfig };
    return map;
  });
}
