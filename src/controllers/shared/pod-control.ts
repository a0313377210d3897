/** Pod control: creates pods from a template and deletes them for an owner, with events on the owner. */

import { StatusError } from '../../api/errors/errors.ts';
import type { Pod, PodTemplateSpec } from '../../api/generated/types.ts';
import type { Kind } from '../../api/kind/kind.ts';
import { decodeObject } from '../../api/model/decode.ts';
import type { ApiObject } from '../../api/text/object.ts';
import { subdomainName } from '../../api/values/names.ts';
import type { EventRecorder } from '../../client/events.ts';
import { collectionOf, targetOf } from '../../registry/target.ts';
import { create } from '../../registry/verbs/create.ts';
import { remove } from '../../registry/verbs/delete.ts';
import { isNamespaceTerminating, type Writer } from './controller.ts';
import type { IndexedPod } from './indexed-pod.ts';
import { controllerReference } from './ownership.ts';

export class PodControl {
  readonly #pods: Kind;

  constructor(
    private readonly writer: Writer,
    private readonly recorder: EventRecorder,
  ) {
    this.#pods = writer.registry.kinds.resource('v1', 'pods')!;
  }

  /** Creates a pod. `finish` may change it before. */
  async create(
    kind: Kind,
    owner: ApiObject,
    template: PodTemplateSpec,
    finish?: (pod: Pod) => void,
  ): Promise<void> {
    const { writing, request } = this.writer;
    const pod = podOf(kind, owner, template);
    finish?.(pod);
    try {
      const decoded = decodeObject(this.#pods.model, pod) as unknown as Pod;
      const namespace = owner.metadata.namespace ?? '';
      const { name } = await create(writing, request('create'), collectionOf(this.#pods, namespace), decoded);
      this.recorder.normal(owner, 'SuccessfulCreate', `Created pod: ${name}`);
    } catch (error) {
      if (!isNamespaceTerminating(error))
        this.recorder.warning(owner, 'FailedCreate', `Error creating: ${(error as Error).message}`);
      throw error;
    }
  }

  /** Deletes a pod, with its own grace period. One that is gone already counts as deleted. */
  async delete(owner: ApiObject, { entry, name, uid }: IndexedPod): Promise<void> {
    const { writing, request } = this.writer;
    try {
      await remove(writing, request('delete'), targetOf(entry), { preconditions: { uid } });
      this.recorder.normal(owner, 'SuccessfulDelete', `Deleted pod: ${name}`);
    } catch (error) {
      if (error instanceof StatusError && (error.code === 404 || error.code === 409)) return;
      this.recorder.warning(owner, 'FailedDelete', `Error deleting: ${(error as Error).message}`);
      throw error;
    }
  }
}

/** A pod made from a template, with a controller reference to its owner. */
export function podOf(kind: Kind, owner: ApiObject, { metadata, spec }: PodTemplateSpec): Pod {
  const prefix = `${owner.metadata.name}-`;
  return structuredClone({
    metadata: {
      generateName: subdomainName(prefix, true).length ? owner.metadata.name : prefix,
      labels: metadata?.labels,
      annotations: metadata?.annotations,
      finalizers: metadata?.finalizers,
      ownerReferences: [controllerReference(kind, owner)],
    },
    spec,
  });
}
