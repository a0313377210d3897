/**
 * The local-path provisioner: makes volumes for claims of classes with the provisioner `wherry.dev/local-path`, as
 * folders on the disk of a node, and removes them when they are no longer claimed. The folder comes first and goes
 * first, and every step can be repeated, so an interruption between two steps leaves nothing behind: a volume without
 * its claim is Released, and empty folders that no volume and no claim refers to are removed when a node becomes ready.
 */
import { basename } from 'node:path';
import type {
  Node,
  PersistentVolume,
  PersistentVolumeClaim,
  StorageClass,
} from '../../api/generated/types.ts';
import type { ApiObject } from '../../api/text/object.ts';
import { collectionOf } from '../../registry/target.ts';
import { create } from '../../registry/verbs/create.ts';
import type { Entry } from '../../registry/view/entry.ts';
import { everything } from '../../registry/view/filter.ts';
import type { View } from '../../registry/view/view.ts';
import {
  type Controller,
  fromKey,
  idle,
  ifUnchanged,
  keyOf,
  type NodeVolumes,
  observe,
  type RunningController,
  running,
  type SharedContext,
} from '../shared/controller.ts';
import { WorkQueue } from '../shared/work-queue.ts';
import {
  isOnHost,
  isOrdered,
  isReady,
  localPath,
  refusalOf,
  volumeFor,
  volumeNameFor,
} from './local-path-claim.ts';
import { LocalPathExpansion } from './local-path-expansion.ts';
import { LocalPathRelease } from './local-path-release.ts';
import { NodeRecorders } from './node-recorders.ts';
import { Pauses } from './pauses.ts';
import { changeStorage, claimSubject } from './storage-change.ts';
import { allowsNode, classNamed, isDelayed, selectedNode, selectedNodeOf } from './storage-classes.ts';
import { classOf } from './volume-matching.ts';

export const localPathProvisioner: Controller = {
  name: 'local-path-provisioner',
  writer: 'persistent-volume-binder',
  start: (context) =>
    context.nodeVolumes ? new LocalPathProvisioner(context, context.nodeVolumes).start() : idle,
};

class LocalPathProvisioner {
  readonly #view: View;
  readonly #recorders: NodeRecorders;
  readonly #release: LocalPathRelease;
  readonly #expansion: LocalPathExpansion;
  readonly #claims: WorkQueue;
  readonly #volumes: WorkQueue;
  readonly #sweeps: WorkQueue;
  readonly #pauses = new Pauses();

  constructor(
    private readonly context: SharedContext,
    private readonly nodes: NodeVolumes,
  ) {
    this.#view = context.registry.view;
    this.#recorders = new NodeRecorders(context, localPath);
    this.#release = new LocalPathRelease(context, nodes, this.#recorders);
    this.#expansion = new LocalPathExpansion(context, this.#recorders);
    const onError = (_: string, error: Error): void => context.onError(error);
    this.#claims = new WorkQueue({
      timers: context.registry.timers,
      work: (key) => this.#claim(key),
      onError,
    });
    this.#volumes = new WorkQueue({
      timers: context.registry.timers,
      work: (name) => this.#volume(name),
      onError,
    });
    this.#sweeps = new WorkQueue({
      timers: context.registry.timers,
      work: (name) => this.#sweep(name),
      onError,
    });
  }

  start(): RunningController {
    const { context } = this;
    const observations = [
      observe(context, 'core/nodes', (entry, previous) => this.#nodeChanged(entry, previous)),
      observe(context, 'core/persistentvolumeclaims', (entry) => {
        if (entry) this.#claims.add(keyOf(entry.namespace, entry.name));
      }),
      observe(context, 'core/persistentvolumes', (entry) => {
        if (entry) this.#volumes.add(entry.name);
      }),
    ];
    return running(observations, [this.#claims, this.#volumes, this.#sweeps, this.#recorders]);
  }

  /** Called when a node becomes ready: volumes that wait for it can be made or removed. */
  #nodeChanged(entry: Entry | undefined, previous: Entry | undefined): void {
    const wasReady = previous !== undefined && isReady(previous.peek() as Node);
    if (!entry || wasReady || !isReady(entry.peek() as Node)) return;
    if (!entry.labels?.['wherry.dev/simulated']) this.#sweeps.add(entry.name);
    for (const { namespace, name } of this.#view.collection('core/persistentvolumeclaims').select(everything)
      .entries)
      this.#claims.add(keyOf(namespace, name));
    for (const { name } of this.#view.collection('core/persistentvolumes').select(everything).entries)
      this.#volumes.add(name);
  }

  // Claims

  async #claim(key: string): Promise<void> {
    const [namespace, name] = fromKey(key);
    const claim = this.#view.collection('core/persistentvolumeclaims').get(namespace, name)?.peek() as
      | PersistentVolumeClaim
      | undefined;
    if (!claim) return this.#pauses.forget(key);
    if (!isOrdered(claim)) {
      this.#pauses.forget(key);
      return this.#expansion.expand(claim);
    }
    const storageClass = classNamed(this.#view, classOf(claim));
    if (!storageClass || this.#volumeOf(claim)) return;
    const refusal = refusalOf(claim, storageClass);
    if (refusal !== undefined) return this.#failed(claim, storageClass, refusal);
    const delayed = isDelayed(storageClass);
    const wanted = selectedNodeOf(claim);
    if (delayed && wanted === undefined) return;
    const node = wanted === undefined ? this.#anyNode(storageClass) : this.#nodeNamed(wanted);
    if (!node) {
      const why = wanted === undefined ? 'no node is ready' : `node ${JSON.stringify(wanted)} not found`;
      this.#failed(claim, storageClass, why);
      this.#claims.addAfter(key, this.#pauses.next(key));
      return this.#unselect(claim);
    }
    try {
      await this.#provision(claim, storageClass, node);
      this.#pauses.forget(key);
    } catch (error) {
      this.#failed(claim, storageClass, (error as Error).message, node);
      if (this.#isElsewherePossible(storageClass, node)) await this.#unselect(claim);
      this.#claims.addAfter(key, this.#pauses.next(key));
    }
  }

  async #provision(claim: PersistentVolumeClaim, storageClass: StorageClass, node: Node): Promise<void> {
    const { registry, writing, request } = this.context;
    const { namespace, name } = claim.metadata;
    const recorder = this.#recorders.of(node.metadata.name!);
    const volumeName = volumeNameFor(claim);
    recorder.normal(
      claimSubject(claim),
      'Provisioning',
      `External provisioner is provisioning volume for claim "${namespace}/${name}"`,
    );
    const path = await this.nodes.make(node, volumeName, storageClass.parameters?.['path'] ?? '');
    const kind = registry.kinds.resource('v1', 'persistentvolumes')!;
    const volume = structuredClone(volumeFor(claim, storageClass, node, path)) as ApiObject;
    // A conflict means that the volume exists already.
    await ifUnchanged(create(writing, request('create'), collectionOf(kind, ''), volume));
    recorder.normal(
      claimSubject(claim),
      'ProvisioningSucceeded',
      `Successfully provisioned volume ${volumeName}`,
    );
  }

  #failed(claim: PersistentVolumeClaim, { metadata }: StorageClass, why: string, node?: Node): void {
    const message = `failed to provision volume with StorageClass ${JSON.stringify(metadata.name)}: ${why}`;
    this.#recorders.of(node?.metadata.name).warning(claimSubject(claim), 'ProvisioningFailed', message);
  }

  /** Removes the chosen node from a claim, so that the scheduler chooses another. */
  async #unselect(claim: PersistentVolumeClaim): Promise<void> {
    if (!selectedNodeOf(claim)) return;
    await changeStorage(this.context, 'persistentvolumeclaims', claim, 'main', (object) => {
      delete object.metadata.annotations?.[selectedNode];
    });
  }

  #isElsewherePossible(storageClass: StorageClass, { metadata }: Node): boolean {
    return this.#nodes().some(
      (node) => node.metadata.name !== metadata.name && this.#mayMake(storageClass, node),
    );
  }

  #anyNode(storageClass: StorageClass): Node | undefined {
    return this.#nodes().find((node) => this.#mayMake(storageClass, node));
  }

  #mayMake(storageClass: StorageClass, node: Node): boolean {
    return isReady(node) && !node.spec?.unschedulable && allowsNode(storageClass, node.metadata.labels ?? {});
  }

  #nodes(): Node[] {
    return this.#view
      .collection('core/nodes')
      .select(everything)
      .entries.map((entry) => entry.peek() as Node);
  }

  #nodeNamed(name: string): Node | undefined {
    return this.#view.collection('core/nodes').get('', name)?.peek() as Node | undefined;
  }

  #volumeOf(claim: PersistentVolumeClaim): Entry | undefined {
    return this.#view.collection('core/persistentvolumes').get('', volumeNameFor(claim));
  }

  // Volumes

  async #volume(name: string): Promise<void> {
    const volume = this.#view.collection('core/persistentvolumes').get('', name)?.peek() as
      | PersistentVolume
      | undefined;
    const key = `volume/${name}`;
    if (!volume) return this.#pauses.forget(key);
    const node = (hostname: string | undefined) => this.#nodes().find((one) => isOnHost(one, hostname));
    if (await this.#release.release(volume, node)) this.#pauses.forget(key);
    else this.#volumes.addAfter(name, this.#pauses.next(key));
  }

  /** Removes empty folders of claims that were deleted before their volume existed. */
  async #sweep(nodeName: string): Promise<void> {
    const node = this.#nodeNamed(nodeName);
    // A node that cannot be reached is asked again when it becomes ready.
    const paths = node ? await this.nodes.list(node).catch(() => []) : [];
    if (!node || paths.length === 0) return;
    const claimed = new Set(
      this.#view
        .collection('core/persistentvolumeclaims')
        .select(everything)
        .entries.map((entry) => volumeNameFor(entry.peek() as PersistentVolumeClaim)),
    );
    for (const path of paths) {
      const name = basename(path);
      if (claimed.has(name) || this.#view.collection('core/persistentvolumes').get('', name)) continue;
      await this.nodes.remove(node, name, path, true);
    }
  }
}
