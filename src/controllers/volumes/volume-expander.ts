/**
 * The volume expander: records on a claim that requests more than it has that an external controller must expand it.
 */
import type { PersistentVolume, PersistentVolumeClaim } from '../../api/generated/types.ts';
import { type Controller, observe, running } from '../shared/controller.ts';
import { recorderFor } from '../shared/event-sink.ts';
import { claimSubject } from './storage-change.ts';
import { wantsMore, wishOf } from './volume-matching.ts';

export const volumeExpander: Controller = {
  name: 'volume-expander',
  writer: 'expand-controller',
  start(context) {
    const recorder = recorderFor(context, 'volume_expand');
    const volumes = context.registry.view.collection('core/persistentvolumes');
    const observation = observe(context, 'core/persistentvolumeclaims', (entry, previous) => {
      const claim = entry?.peek() as PersistentVolumeClaim | undefined;
      if (!claim || !wantsMore(claim)) return;
      const before = previous?.peek() as PersistentVolumeClaim | undefined;
      const isKnown = before && wantsMore(before) && wishOf(before) === wishOf(claim);
      const volume = volumes.get('', claim.spec!.volumeName!)?.peek() as PersistentVolume | undefined;
      if (isKnown || !volume) return;
      recorder.normal(
        claimSubject(claim),
        'ExternalExpanding',
        'waiting for an external controller to expand this PVC',
      );
    });
    return running([observation], [], recorder);
  },
};
