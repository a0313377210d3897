/** Writes to claims and volumes that the controllers of storage share. */
import type { PersistentVolume, PersistentVolumeClaim } from '../../api/generated/types.ts';
import type { ApiObject } from '../../api/text/object.ts';
import type { EventSubject } from '../../client/events.ts';
import { modify } from '../../registry/verbs/modify.ts';
import { ifUnchanged, type Writer } from '../shared/controller.ts';

interface Stored {
  readonly persistentvolumes: PersistentVolume;
  readonly persistentvolumeclaims: PersistentVolumeClaim;
}

/** Changes the newest state of an object; false when the object is gone, or another one has its name. */
export async function changeStorage<R extends keyof Stored>(
  { registry, writing, request }: Writer,
  resource: R,
  { metadata }: Stored[R],
  part: 'main' | 'status',
  change: (object: Stored[R]) => void,
): Promise<boolean> {
  const kind = registry.kinds.resource('v1', resource)!;
  const { namespace = '', name = '', uid } = metadata;
  let found = false;
  const done = await ifUnchanged(
    modify(writing, request('update'), { kind, namespace, name, part }, (current) => {
      const object = current.object() as Stored[R];
      found = object.metadata.uid === uid;
      if (found) change(object);
      return object as ApiObject;
    }),
  );
  return done && found;
}

export const claimSubject = ({ metadata }: PersistentVolumeClaim): EventSubject => ({
  apiVersion: 'v1',
  kind: 'PersistentVolumeClaim',
  metadata,
});

export const volumeSubject = ({ metadata }: PersistentVolume): EventSubject => ({
  apiVersion: 'v1',
  kind: 'PersistentVolume',
  metadata,
});

export function annotate(
  object: { metadata: { annotations?: Record<string, string> } },
  annotations: Readonly<Record<string, string>>,
): void {
  object.metadata.annotations = { ...object.metadata.annotations, ...annotations };
}
