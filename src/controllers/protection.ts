/** In-use protection: a claim that is deleted stays until no pod uses it, a volume until no claim is bound to it. */

import type { PersistentVolume, Pod } from '../api/generated/types.ts';
import type { Verb } from '../api/kind.ts';
import { claimsOf, isFinished } from '../api/rules/podfacts.ts';
import type { Entry } from '../registry/entry.ts';
import { Filter } from '../registry/filter.ts';
import { modify } from '../registry/modify.ts';
import type { Request } from '../registry/request.ts';
import { targetOf } from '../registry/target.ts';
import { actingAs } from '../registry/writers.ts';
import { type Controller, observe, running, type Writing } from './shared/controller.ts';
import { WorkQueue } from './shared/workqueue.ts';

const claimFinalizer = 'kubernetes.io/pvc-protection';
const volumeFinalizer = 'kubernetes.io/pv-protection';

export const protectionController: Controller = {
  name: 'protection',
  housekeeping: true,
  writer: 'pvc-protection-controller',
  start(context) {
    const { registry, onError } = context;
    // In Kubernetes volumes have a controller of their own.
    const byVolumeProtection = (verb: Verb): Request => actingAs('pv-protection-controller', verb);
    const claims = new WorkQueue({
      work: (key) => releaseClaim(context, key),
      onError: (_, error) => onError(error),
    });
    const volumes = new WorkQueue({
      work: (name) => releaseVolume({ registry, request: byVolumeProtection }, name),
      onError: (_, error) => onError(error),
    });
    const existing = registry.view.collection('core/persistentvolumeclaims');
    const observers = [
      observe(
        context,
        'core/persistentvolumeclaims',
        (entry) => entry && claims.add(`${entry.namespace}/${entry.name}`),
      ),
      observe(context, 'core/persistentvolumes', (entry) => entry && volumes.add(entry.name)),
      observe(context, 'core/pods', (entry, previous) => {
        const pod = (entry ?? previous)!;
        if (existing.size > 0 && mayUseClaims(pod))
          for (const claim of claimsOf(pod.peek() as Pod)) claims.add(`${pod.namespace}/${claim}`);
      }),
    ];
    return running(observers, [claims, volumes]);
  },
};

/** Of the volumes `persistentVolumeClaim` and `ephemeral`, which has a `volumeClaimTemplate`. */
const claimMark = Buffer.from('Claim');

/** Saves reading most pods. */
const mayUseClaims = ({ document }: Entry): boolean => document.includes(claimMark);

async function releaseClaim(writing: Writing, key: string): Promise<void> {
  const { registry } = writing;
  const [namespace, name] = key.split('/') as [string, string];
  const claim = registry.view.collection('core/persistentvolumeclaims').get(namespace, name);
  if (!claim || !isHeld(claim, claimFinalizer)) return;
  const pods = registry.view
    .collection('core/pods')
    .select(new Filter(namespace, undefined, undefined, undefined)).entries;
  const inUse = pods.some((entry) => {
    if (!mayUseClaims(entry)) return false;
    const pod = entry.peek() as Pod;
    return !isFinished(pod.status?.phase) && claimsOf(pod).includes(name);
  });
  if (!inUse) await dropFinalizer(writing, claim, claimFinalizer);
}

async function releaseVolume(writing: Writing, name: string): Promise<void> {
  const volume = writing.registry.view.collection('core/persistentvolumes').get('', name);
  if (!volume || !isHeld(volume, volumeFinalizer)) return;
  const { status } = volume.peek() as PersistentVolume;
  if (status?.phase !== 'Bound') await dropFinalizer(writing, volume, volumeFinalizer);
}

/** Whether an object is being deleted and this finalizer is among those that keep it. */
function isHeld(entry: Entry, finalizer: string): boolean {
  if (!entry.mayBeMarked) return false;
  const { deletionTimestamp, finalizers } = entry.peek().metadata;
  return deletionTimestamp !== undefined && (finalizers?.includes(finalizer) ?? false);
}

async function dropFinalizer({ registry, request }: Writing, entry: Entry, finalizer: string): Promise<void> {
  await modify(registry, request('update'), targetOf(entry, 'whole'), (current) => {
    const object = current.object();
    object.metadata.finalizers = object.metadata.finalizers?.filter((one) => one !== finalizer);
    return object;
  });
}
