/**
 * In-use protection: keeps a deleted claim until no pod uses it, a deleted volume until no claim is bound to it, and a
 * deleted VolumeAttributesClass until no claim and no volume names it.
 */

import type { PersistentVolume, PersistentVolumeClaim, Pod } from '../api/generated/types.ts';
import type { Verb } from '../api/kind/kind.ts';
import { attributesClassesOf } from '../api/rules/pod/in-use-protection.ts';
import { claimsOf } from '../api/rules/pod/pod-facts.ts';
import type { Request } from '../registry/request.ts';
import { targetOf } from '../registry/target.ts';
import { otherObjects } from '../registry/verbs/in-use.ts';
import { modify } from '../registry/verbs/modify.ts';
import type { Entry } from '../registry/view/entry.ts';
import { actingAs } from '../registry/writers.ts';
import { type Controller, observe, running, type Writer } from './shared/controller.ts';
import { mayNameAttributes, mayUseClaims } from './shared/storage-marks.ts';
import { WorkQueue } from './shared/work-queue.ts';

export const protectionController: Controller = {
  name: 'protection',
  housekeeping: true,
  writer: 'pvc-protection-controller',
  start(context) {
    const { registry, onError } = context;
    // In Kubernetes volumes and classes of attributes have controllers of their own.
    const byVolumeProtection = (verb: Verb): Request => actingAs('pv-protection-controller', verb);
    const byAttributesProtection = (verb: Verb): Request =>
      actingAs('volumeattributesclass-protection-controller', verb);
    const claims = new WorkQueue({
      timers: context.registry.timers,
      work: (key) => releaseClaim(context, key),
      onError: (_, error) => onError(error),
    });
    const volumes = new WorkQueue({
      timers: context.registry.timers,
      work: (name) => releaseVolume({ ...context, request: byVolumeProtection }, name),
      onError: (_, error) => onError(error),
    });
    const attributes = new WorkQueue({
      timers: context.registry.timers,
      work: (name) => settleAttributes({ ...context, request: byAttributesProtection }, name),
      onError: (_, error) => onError(error),
    });
    const classes = registry.view.collection('storage.k8s.io/volumeattributesclasses');
    /** Processes the class that a claim or volume named before: it may have been the last. */
    const forget = (previous: Entry | undefined): void => {
      if (classes.size === 0 || !previous || !mayNameAttributes(previous)) return;
      const named = attributesClassesOf(previous.peek() as PersistentVolume | PersistentVolumeClaim);
      for (const name of named) attributes.add(name);
    };
    const existing = registry.view.collection('core/persistentvolumeclaims');
    const observers = [
      observe(context, 'core/persistentvolumeclaims', (entry, previous) => {
        if (entry) claims.add(`${entry.namespace}/${entry.name}`);
        forget(previous);
      }),
      observe(context, 'core/persistentvolumes', (entry, previous) => {
        if (entry) volumes.add(entry.name);
        forget(previous);
      }),
      observe(
        context,
        'storage.k8s.io/volumeattributesclasses',
        (entry) => entry && attributes.add(entry.name),
      ),
      observe(context, 'core/pods', (entry, previous) => {
        const pod = (entry ?? previous)!;
        if (existing.size > 0 && mayUseClaims(pod))
          for (const claim of claimsOf(pod.peek() as Pod)) claims.add(`${pod.namespace}/${claim}`);
      }),
    ];
    return running(observers, [claims, volumes, attributes]);
  },
};

async function releaseClaim(writer: Writer, key: string): Promise<void> {
  const [namespace, name] = key.split('/') as [string, string];
  const claim = writer.registry.view.collection('core/persistentvolumeclaims').get(namespace, name);
  if (claim) await release(writer, claim);
}

async function releaseVolume(writer: Writer, name: string): Promise<void> {
  const volume = writer.registry.view.collection('core/persistentvolumes').get('', name);
  if (volume) await release(writer, volume);
}

/** Removes the finalizer from a deleted class that nothing names, and restores it on one that lost it. */
async function settleAttributes(writer: Writer, name: string): Promise<void> {
  const { registry, writing, request } = writer;
  const entry = registry.view.collection('storage.k8s.io/volumeattributesclasses').get('', name);
  if (!entry) return;
  const { finalizer } = entry.kind.deletion.protection!;
  const { deletionTimestamp, finalizers = [] } = entry.peek().metadata;
  if (deletionTimestamp !== undefined) await release(writer, entry);
  else if (!finalizers.includes(finalizer))
    await modify(writing, request('update'), targetOf(entry, 'whole'), (current) => {
      const object = current.object();
      object.metadata.finalizers = [...(object.metadata.finalizers ?? []), finalizer];
      return object;
    });
}

/** Removes the finalizer from an object that is being deleted and is not in use. */
async function release(writer: Writer, entry: Entry): Promise<void> {
  const { finalizer, isInUse } = entry.kind.deletion.protection!;
  if (isHeld(entry, finalizer) && !isInUse(entry.peek(), otherObjects(writer.registry.view)))
    await dropFinalizer(writer, entry, finalizer);
}

/** Whether an object is being deleted and still has this finalizer. */
function isHeld(entry: Entry, finalizer: string): boolean {
  if (!entry.mayBeMarked) return false;
  const { deletionTimestamp, finalizers } = entry.peek().metadata;
  return deletionTimestamp !== undefined && (finalizers?.includes(finalizer) ?? false);
}

async function dropFinalizer({ writing, request }: Writer, entry: Entry, finalizer: string): Promise<void> {
  await modify(writing, request('update'), targetOf(entry, 'whole'), (current) => {
    const object = current.object();
    object.metadata.finalizers = object.metadata.finalizers?.filter((one) => one !== finalizer);
    return object;
  });
}
