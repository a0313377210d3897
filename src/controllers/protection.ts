/** In-use protection: a claim that is deleted stays until no pod uses it, a volume until no claim is bound to it. */

import type { PersistentVolume, Pod } from '../api/generated/types.ts';
import type { Kind } from '../api/kind.ts';
import { claimsOf, isFinished } from '../api/rules/podfacts.ts';
import type { Entry } from '../registry/entry.ts';
import { Filter } from '../registry/filter.ts';
import { modify } from '../registry/modify.ts';
import { internalWrite, type Registry } from '../registry/registry.ts';
import { type Controller, observe, running } from './shared/controller.ts';
import { WorkQueue } from './shared/workqueue.ts';

const claimFinalizer = 'kubernetes.io/pvc-protection';
const volumeFinalizer = 'kubernetes.io/pv-protection';

export const protectionController: Controller = {
  name: 'protection',
  writer: 'pvc-protection-controller',
  start(context) {
    const { registry, onError } = context;
    const claims = new WorkQueue({
      work: (key) => releaseClaim(registry, key),
      onError: (_, error) => onError(error),
    });
    const volumes = new WorkQueue({
      work: (name) => releaseVolume(registry, name),
      onError: (_, error) => onError(error),
    });
    const observers = [
      observe(
        context,
        'core/persistentvolumeclaims',
        (entry) => entry && claims.add(`${entry.namespace}/${entry.name}`),
      ),
      observe(context, 'core/persistentvolumes', (entry) => entry && volumes.add(entry.name)),
      observe(context, 'core/pods', (entry, previous) => {
        const pod = (entry ?? previous)!;
        if (mayUseClaims(pod))
          for (const claim of claimsOf(pod.peek() as Pod)) claims.add(`${pod.namespace}/${claim}`);
      }),
    ];
    return running(observers, [claims, volumes]);
  },
};

/** Saves reading most pods. */
const mayUseClaims = ({ document }: Entry): boolean =>
  document.includes('"persistentVolumeClaim"') || document.includes('"ephemeral"');

async function releaseClaim(registry: Registry, key: string): Promise<void> {
  const [namespace, name] = key.split('/') as [string, string];
  const kind = registry.kinds.resource('v1', 'persistentvolumeclaims')!;
  if (!isHeld(registry, kind, namespace, name, claimFinalizer)) return;
  const pods = registry.view
    .collection('core/pods')
    .select(new Filter(namespace, undefined, undefined, undefined)).entries;
  const inUse = pods.some((entry) => {
    if (!mayUseClaims(entry)) return false;
    const pod = entry.peek() as Pod;
    return !isFinished(pod.status?.phase) && claimsOf(pod).includes(name);
  });
  if (!inUse) await dropFinalizer(registry, kind, namespace, name, claimFinalizer);
}

async function releaseVolume(registry: Registry, name: string): Promise<void> {
  const kind = registry.kinds.resource('v1', 'persistentvolumes')!;
  if (!isHeld(registry, kind, '', name, volumeFinalizer)) return;
  const volume = registry.find(kind, '', name).object() as PersistentVolume;
  if (volume.status?.phase !== 'Bound') await dropFinalizer(registry, kind, '', name, volumeFinalizer);
}

/** Whether an object is being deleted and this finalizer is among those that keep it. */
function isHeld(registry: Registry, kind: Kind, namespace: string, name: string, finalizer: string): boolean {
  const entry = registry.view.collection(kind).get(namespace, name);
  if (!entry?.document.includes('"deletionTimestamp"')) return false;
  const { deletionTimestamp, finalizers } = entry.object().metadata;
  return deletionTimestamp !== undefined && (finalizers?.includes(finalizer) ?? false);
}

async function dropFinalizer(
  registry: Registry,
  kind: Kind,
  namespace: string,
  name: string,
  finalizer: string,
): Promise<void> {
  await modify(registry, kind, namespace, name, 'whole', internalWrite(), (current) => {
    const object = current.object();
    object.metadata.finalizers = object.metadata.finalizers?.filter((one) => one !== finalizer);
    return object;
  });
}
