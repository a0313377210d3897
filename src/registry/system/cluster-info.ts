/**
 * Cluster info: address and certificate authority of the cluster, in a ConfigMap that machines read before they join.
 */
import type { ConfigMap } from '../../api/generated/types.ts';
import { writeYaml } from '../../api/text/yaml-writing.ts';
import { collectionOf, named } from '../target.ts';
import { makeOrChange } from '../verbs/shared-object.ts';
import type { Writing } from '../writing.ts';

export const clusterInfo = { namespace: 'kube-public', name: 'cluster-info' } as const;

export interface ClusterAddress {
  /** Where other machines reach the secure door: `https://10.1.2.3:6443`. */
  readonly server: string;
  /** PEM of the authority that signed its certificate. */
  readonly certificateAuthority: string;
}

/** Writes the ConfigMap with a kubeconfig without a user, unless it exists. A controller adds the signatures to it. */
export async function plantClusterInfo(writing: Writing, address: ClusterAddress): Promise<void> {
  const kind = writing.registry.kinds.resource('v1', 'configmaps')!;
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
  await makeOrChange(writing, {
    target: named(collectionOf(kind, namespace), name),
    make: () => ({ metadata: { name }, data: { kubeconfig } }) as ConfigMap,
    change: (current) => {
      const { data } = current.peek() as ConfigMap;
      if (data?.kubeconfig === kubeconfig) return undefined;
      return { ...current.object(), data: { ...data, kubeconfig } } as ConfigMap;
    },
  });
}
