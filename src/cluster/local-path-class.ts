/**
 * The storage class `local-path`, the default for claims that name none. It is created once, at the first start of a
 * cluster with nodes. An annotation on the namespace `kube-system` records that, so that a deleted class stays deleted.
 */
import type { StorageClass } from '../api/generated/types.ts';
import type { ApiObject } from '../api/text/object.ts';
import { ifUnchanged } from '../controllers/shared/controller.ts';
import { localPath } from '../controllers/volumes/local-path-claim.ts';
import { collectionOf, targetOf } from '../registry/target.ts';
import { create } from '../registry/verbs/create.ts';
import { modify } from '../registry/verbs/modify.ts';
import { actingAs } from '../registry/writers.ts';
import type { Writing } from '../registry/writing.ts';

const mark = 'wherry.dev/local-path-class';
const namespace = 'kube-system';

const localPathClass: StorageClass = {
  kind: 'StorageClass',
  apiVersion: 'storage.k8s.io/v1',
  metadata: {
    name: 'local-path',
    annotations: { 'storageclass.kubernetes.io/is-default-class': 'true' },
  },
  provisioner: localPath,
  reclaimPolicy: 'Delete',
  volumeBindingMode: 'WaitForFirstConsumer',
  allowVolumeExpansion: true,
};

export async function plantLocalPathClass(writing: Writing): Promise<void> {
  const noted = writing.registry.view.collection('core/namespaces').get('', namespace)?.peek()
    .metadata.annotations;
  if (noted?.[mark] !== undefined) return;
  const kind = writing.registry.kinds.resource('storage.k8s.io/v1', 'storageclasses')!;
  const object = structuredClone(localPathClass) as ApiObject;
  // A conflict means that a class of this name exists already.
  await ifUnchanged(create(writing, actingAs('kube-apiserver', 'create'), collectionOf(kind, ''), object));
  const target = targetOf({
    kind: writing.registry.kinds.resource('v1', 'namespaces')!,
    namespace: '',
    name: namespace,
  });
  await ifUnchanged(
    modify(writing, actingAs('kube-apiserver', 'update'), target, (current) => {
      const kept = current.object();
      kept.metadata.annotations = { ...kept.metadata.annotations, [mark]: 'made' };
      return kept;
    }),
  );
}
