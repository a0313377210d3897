/**
 * The root certificate publisher: every namespace has a ConfigMap with the certificates by which programs in pods
 * verify the API server. It is restored when it is changed or deleted.
 */
import type { ConfigMap, Namespace } from '../../api/generated/types.ts';
import { semanticEqual } from '../../api/text/object.ts';
import { collectionOf, targetOf } from '../../registry/target.ts';
import { create } from '../../registry/verbs/create.ts';
import { modify } from '../../registry/verbs/modify.ts';
import { everything } from '../../registry/view/filter.ts';
import {
  type ClusterTrust,
  type Controller,
  idle,
  ifUnchanged,
  isNamespaceTerminating,
  observe,
  running,
  type SharedContext,
} from '../shared/controller.ts';
import { WorkQueue } from '../shared/work-queue.ts';

const configMapName = 'kube-root-ca.crt';
const descriptionKey = 'kubernetes.io/description';
const description =
  'Certificates to verify the API server with when it is reached from inside the cluster, such as by https://kubernetes.default.svc.';

export const rootCertificatePublisher: Controller = {
  name: 'root-ca-cert-publisher',
  housekeeping: true,
  writer: 'root-ca-cert-publisher',
  start(context) {
    const { trust, registry } = context;
    if (!trust) return idle;
    const queue = new WorkQueue({
      timers: context.registry.timers,
      work: (namespace) => publish(context, trust, namespace),
      onError: (_, error) => context.onError(error),
    });
    const observations = [
      observe(context, 'core/namespaces', (entry, previous) => {
        if (entry && !previous) queue.add(entry.name);
      }),
      observe(context, 'core/configmaps', (entry, previous) => {
        const { name, namespace } = (entry ?? previous)!;
        if (name === configMapName) queue.add(namespace);
      }),
    ];
    const stop = trust.follow(() => {
      for (const { name } of registry.view.collection('core/namespaces').select(everything).entries)
        queue.add(name);
    });
    const parts = running(observations, [queue]);
    return {
      get settled() {
        return parts.settled;
      },
      close: () => {
        stop();
        return parts.close();
      },
    };
  },
};

async function publish(
  { registry, writing, request }: SharedContext,
  { rootCertificates }: ClusterTrust,
  namespace: string,
): Promise<void> {
  const owner = registry.view.collection('core/namespaces').get('', namespace)?.peek() as
    | Namespace
    | undefined;
  if (!owner || owner.metadata.deletionTimestamp) return;
  const data = { 'ca.crt': rootCertificates };
  const entry = registry.view.collection('core/configmaps').get(namespace, configMapName);
  if (!entry) {
    const kind = registry.kinds.resource('v1', 'configmaps')!;
    const map = { metadata: { name: configMapName, annotations: { [descriptionKey]: description } }, data };
    const made = create(writing, request('create'), collectionOf(kind, namespace), map as ConfigMap);
    await ifUnchanged(made).catch((error: unknown) => {
      if (!isNamespaceTerminating(error)) throw error;
    });
    return;
  }
  const isRight = (map: ConfigMap): boolean =>
    semanticEqual(map.data, data) && Boolean(map.metadata.annotations?.[descriptionKey]);
  if (isRight(entry.peek() as ConfigMap)) return;
  await ifUnchanged(
    modify(writing, request('update'), targetOf(entry), (current) => {
      const map = current.object() as ConfigMap;
      map.data = data;
      const { annotations = {} } = map.metadata;
      annotations[descriptionKey] ||= description;
      map.metadata.annotations = annotations;
      return map;
    }),
  );
}
