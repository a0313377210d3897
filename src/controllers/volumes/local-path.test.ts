/** Proves that the local-path provisioner makes, expands and removes volumes, and goes on after an interruption. */
import { expect, test } from 'vitest';
import type { Event, Node, PersistentVolume, PersistentVolumeClaim } from '../../api/generated/types.ts';
import { asTester } from '../../registry/request.fixture.ts';
import { targetOf } from '../../registry/target.ts';
import { remove } from '../../registry/verbs/delete.ts';
import { modify } from '../../registry/verbs/modify.ts';
import type { NodeVolumes } from '../shared/controller.ts';
import { harness, useHarness } from '../shared/harness.fixture.ts';

useHarness();

/** The disks of nodes: paths by node. */
class Disks implements NodeVolumes {
  readonly folders = new Map<string, Set<string>>();
  /** Folders that something was written to. */
  readonly used = new Set<string>();
  readonly broken = new Set<string>();

  async make(node: Node, name: string, under: string): Promise<string> {
    const path = ['', 'data', ...(under ? [under] : []), name].join('/');
    this.#of(node).add(path);
    return path;
  }

  async remove(node: Node, name: string, path: string, onlyEmpty = false): Promise<void> {
    expect(path.endsWith(`/${name}`)).toBe(true);
    if (!onlyEmpty || !this.used.has(path)) this.#of(node).delete(path);
  }

  async list(node: Node): Promise<string[]> {
    return [...this.#of(node)];
  }

  of(name: string): string[] {
    return [...(this.folders.get(name) ?? [])];
  }

  #of({ metadata }: Node): Set<string> {
    if (this.broken.has(metadata.name!)) throw new Error('the disk is broken');
    const folders = this.folders.get(metadata.name!) ?? new Set();
    this.folders.set(metadata.name!, folders);
    return folders;
  }
}

const provisioner = 'wherry.dev/local-path';

async function begin(controllers: readonly string[] = []): Promise<Disks> {
  const disks = new Disks();
  harness.nodeVolumes = disks;
  for (const name of ['n1', 'n2'])
    await harness.seed('v1', 'nodes', '', {
      metadata: { name, uid: name, labels: { 'kubernetes.io/hostname': name } },
      status: { conditions: [{ type: 'Ready', status: 'True' }] },
    });
  await makeClass('local-path', { volumeBindingMode: 'WaitForFirstConsumer' });
  harness.start(['local-path-provisioner', 'volume-binder', 'protection', ...controllers]);
  return disks;
}

const makeClass = (name: string, more: object = {}) =>
  harness.seed('storage.k8s.io/v1', 'storageclasses', '', {
    metadata: { name },
    provisioner,
    reclaimPolicy: 'Delete',
    volumeBindingMode: 'Immediate',
    allowVolumeExpansion: true,
    ...more,
  });

/** Gives the name of the volume that is made for the claim. */
async function makeClaim(name: string, spec: object = {}, annotations: object = {}): Promise<string> {
  const entry = await harness.seed('v1', 'persistentvolumeclaims', 'default', {
    metadata: { name, annotations, finalizers: ['kubernetes.io/pvc-protection'] },
    spec: {
      accessModes: ['ReadWriteOnce'],
      resources: { requests: { storage: '1Gi' } },
      storageClassName: 'local-path',
      volumeMode: 'Filesystem',
      ...spec,
    },
    status: { phase: 'Pending' },
  });
  return `pvc-${entry.peek().metadata.uid}`;
}

const on = (node: string) => ({ 'volume.kubernetes.io/selected-node': node });

const claimNow = (name: string) =>
  harness.registry.view.collection('core/persistentvolumeclaims').get('default', name)?.object() as
    | PersistentVolumeClaim
    | undefined;

const volumeNow = (name: string) =>
  harness.registry.view.collection('core/persistentvolumes').get('', name)?.object() as
    | PersistentVolume
    | undefined;

const told = (reason: string): string[] =>
  harness
    .all('core/events')
    .map((entry) => entry.object() as Event)
    .filter((event) => event.reason === reason)
    .map(({ message }) => message!);

const placeOf = (resource: string, namespace: string, name: string) => ({
  kind: harness.registry.kinds.resource('v1', resource)!,
  namespace,
  name,
});

const drop = (resource: string, namespace: string, name: string) =>
  remove(harness.writing, asTester('delete'), targetOf(placeOf(resource, namespace, name)), {});

async function change<T>(resource: string, name: string, work: (object: T) => void): Promise<void> {
  const namespace = resource === 'persistentvolumes' || resource === 'nodes' ? '' : 'default';
  const target = targetOf(placeOf(resource, namespace, name), 'whole');
  await modify(harness.writing, asTester('update'), target, (current) => {
    const object = current.object();
    work(object as T);
    return object;
  });
}

test('a volume is made on the chosen node, for the claim, and bound', async () => {
  const disks = await begin();
  const name = await makeClaim('data', {}, on('n2'));
  await harness.settled();
  expect(disks.of('n2')).toEqual([`/data/${name}`]);
  const volume = volumeNow(name)!;
  expect(volume.metadata.annotations).toMatchObject({ 'pv.kubernetes.io/provisioned-by': provisioner });
  expect(volume.spec).toMatchObject({
    capacity: { storage: '1Gi' },
    accessModes: ['ReadWriteOnce'],
    persistentVolumeReclaimPolicy: 'Delete',
    storageClassName: 'local-path',
    volumeMode: 'Filesystem',
    hostPath: { path: `/data/${name}`, type: 'DirectoryOrCreate' },
    claimRef: { kind: 'PersistentVolumeClaim', namespace: 'default', name: 'data', uid: name.slice(4) },
  });
  expect(volume.spec?.nodeAffinity?.required?.nodeSelectorTerms).toEqual([
    { matchExpressions: [{ key: 'kubernetes.io/hostname', operator: 'In', values: ['n2'] }] },
  ]);
  const claim = claimNow('data')!;
  expect(claim.status).toMatchObject({ phase: 'Bound', capacity: { storage: '1Gi' } });
  expect(claim.metadata.annotations).toMatchObject({
    'volume.kubernetes.io/storage-provisioner': provisioner,
    'volume.beta.kubernetes.io/storage-provisioner': provisioner,
    'pv.kubernetes.io/bind-completed': 'yes',
  });
  expect(told('Provisioning')).toEqual([
    'External provisioner is provisioning volume for claim "default/data"',
  ]);
  expect(told('ProvisioningSucceeded')).toEqual([`Successfully provisioned volume ${name}`]);
  const [event] = harness
    .all('core/events')
    .map((entry) => entry.object() as Event)
    .filter(({ reason }) => reason === 'Provisioning');
  expect(event!.source).toEqual({ component: provisioner, host: 'n2' });
});

test('a claim of an immediate class needs no pod; a class may name a folder and a policy', async () => {
  const disks = await begin();
  await makeClass('now', { parameters: { path: 'fast' }, reclaimPolicy: 'Retain' });
  const name = await makeClaim('data', { storageClassName: 'now' });
  await harness.settled();
  expect(disks.of('n1')).toEqual([`/data/fast/${name}`]);
  expect(volumeNow(name)?.spec?.persistentVolumeReclaimPolicy).toBe('Retain');
  await drop('persistentvolumeclaims', 'default', 'data');
  await harness.settled();
  expect(volumeNow(name)?.status?.phase).toBe('Released');
  expect(disks.of('n1')).toEqual([`/data/fast/${name}`]);
});

test('what a folder cannot do is refused with the reason, and the node stays chosen', async () => {
  const disks = await begin();
  await makeClass('odd', { parameters: { size: 'big' } });
  const wishes: [string, object, string][] = [
    ['block', { volumeMode: 'Block' }, 'block volumes are not supported'],
    ['many', { accessModes: ['ReadWriteMany'] }, 'access mode ReadWriteMany is not supported, only'],
    ['picky', { selector: { matchLabels: { a: 'b' } } }, 'claim.Spec.Selector is not supported'],
    ['copy', { dataSource: { kind: 'PersistentVolumeClaim', name: 'x' } }, 'data sources are not supported'],
    ['odd', { storageClassName: 'odd' }, 'unknown parameter "size"'],
  ];
  for (const [name, spec] of wishes) await makeClaim(name, spec, on('n1'));
  await harness.settled();
  expect(disks.of('n1')).toEqual([]);
  for (const [name, , why] of wishes) {
    const className = name === 'odd' ? 'odd' : 'local-path';
    const text = `failed to provision volume with StorageClass "${className}": ${why}`;
    expect(told('ProvisioningFailed').some((message) => message.startsWith(text))).toBe(true);
    expect(claimNow(name)?.metadata.annotations).toMatchObject(on('n1'));
  }
});

test('a node that fails, or is gone, is given back to the scheduler', async () => {
  const disks = await begin();
  disks.broken.add('n1');
  await makeClaim('data', {}, on('n1'));
  await makeClaim('lost', {}, on('gone'));
  await harness.settled();
  expect(claimNow('data')?.metadata.annotations).not.toHaveProperty('volume.kubernetes.io/selected-node');
  expect(claimNow('lost')?.metadata.annotations).not.toHaveProperty('volume.kubernetes.io/selected-node');
  expect(told('ProvisioningFailed').sort()).toEqual([
    'failed to provision volume with StorageClass "local-path": node "gone" not found',
    'failed to provision volume with StorageClass "local-path": the disk is broken',
  ]);
  await change<PersistentVolumeClaim>('persistentvolumeclaims', 'data', ({ metadata }) => {
    metadata.annotations = { ...metadata.annotations, ...on('n2') };
  });
  await harness.settled();
  expect(claimNow('data')?.status?.phase).toBe('Bound');
});

test('folder and volume go with the claim', async () => {
  const disks = await begin();
  const name = await makeClaim('data', {}, on('n1'));
  await harness.settled();
  await drop('persistentvolumeclaims', 'default', 'data');
  await harness.settled();
  expect(volumeNow(name)).toBeUndefined();
  expect(disks.of('n1')).toEqual([]);
});

test('a folder that cannot be removed is kept in mind, and removed when the node is ready again', async () => {
  const disks = await begin();
  const name = await makeClaim('data', {}, on('n1'));
  await harness.settled();
  disks.broken.add('n1');
  await drop('persistentvolumeclaims', 'default', 'data');
  await harness.settled();
  expect(volumeNow(name)?.status).toMatchObject({ phase: 'Failed', message: 'the disk is broken' });
  expect(told('VolumeFailedDelete')).toEqual(['the disk is broken']);
  disks.broken.delete('n1');
  for (const status of ['False', 'True'])
    await change<Node>('nodes', 'n1', (node) => {
      node.status = { conditions: [{ type: 'Ready', status }] };
    });
  await harness.settled();
  expect(volumeNow(name)).toBeUndefined();
  expect(disks.of('n1')).toEqual([]);
});

test('a volume that is deleted by hand goes after its claim and its folder', async () => {
  const disks = await begin();
  const name = await makeClaim('data', {}, on('n1'));
  await harness.settled();
  await drop('persistentvolumes', '', name);
  await harness.settled();
  expect(disks.of('n1')).toHaveLength(1);
  await drop('persistentvolumeclaims', 'default', 'data');
  await harness.settled();
  expect(volumeNow(name)).toBeUndefined();
  expect(disks.of('n1')).toEqual([]);
});

test('an interruption between any two steps leaves nothing behind', async () => {
  const disks = await begin();
  const name = await makeClaim('data', {}, on('n1'));
  await harness.settled();
  await harness.stop();
  // The folder is gone, the object is not.
  disks.folders.get('n1')!.clear();
  await drop('persistentvolumeclaims', 'default', 'data');
  await change<PersistentVolumeClaim>('persistentvolumeclaims', 'data', ({ metadata }) => {
    metadata.finalizers = [];
  });
  // Folders without volume and claim: one was never used, the other holds data that is not ours to judge.
  disks.folders.get('n1')!.add('/data/pvc-unused').add('/data/pvc-used');
  disks.used.add('/data/pvc-used');
  harness.start(['local-path-provisioner', 'volume-binder', 'protection']);
  await harness.settled();
  expect(volumeNow(name)).toBeUndefined();
  expect(disks.of('n1')).toEqual(['/data/pvc-used']);
});

test('a claim that asks for more gets it, step by step', async () => {
  await begin(['volume-expander']);
  const name = await makeClaim('data', {}, on('n1'));
  await harness.settled();
  await change<PersistentVolumeClaim>('persistentvolumeclaims', 'data', ({ spec }) => {
    spec!.resources = { requests: { storage: '5Gi' } };
  });
  await harness.settled();
  expect(volumeNow(name)?.spec?.capacity).toEqual({ storage: '5Gi' });
  const { status } = claimNow('data')!;
  expect(status).toEqual({
    phase: 'Bound',
    accessModes: ['ReadWriteOnce'],
    capacity: { storage: '5Gi' },
  });
  expect(told('VolumeResizeSuccessful')).toEqual(['Resize volume succeeded']);
  expect(told('ExternalExpanding')).toEqual(['waiting for an external controller to expand this PVC']);
});
