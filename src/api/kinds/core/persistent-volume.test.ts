/** Proves the defaults and rules of persistent volumes, their sources among them, and the cells of their table. */
import { expect, test } from 'vitest';
import {
  cells,
  createdAge,
  createdText,
  createErrors,
  error,
  nowText,
  statusUpdated,
  stored,
  texts,
  updateErrors,
  written,
} from '../kind.fixture.ts';
import { persistentVolume } from './persistent-volume.ts';

const spec = { capacity: { storage: '1Gi' }, accessModes: ['ReadWriteOnce'], hostPath: { path: '/tmp' } };
const withSource = (source: object) => ({ spec: { ...spec, hostPath: undefined, ...source } });
const supportedModes =
  'supported values: "ReadOnlyMany", "ReadWriteMany", "ReadWriteOnce", "ReadWriteOncePod"';

test('defaults', () => {
  const made = written(persistentVolume, { spec, status: { phase: 'Bound', reason: 'x' } });
  expect(made.spec).toEqual({
    ...spec,
    hostPath: { path: '/tmp', type: '' },
    persistentVolumeReclaimPolicy: 'Retain',
    volumeMode: 'Filesystem',
  });
  expect(made.status).toEqual({ phase: 'Pending', lastPhaseTransitionTime: nowText });
});

test('defaults of sources come from the field tables', () => {
  const { spec: made } = written(
    persistentVolume,
    withSource({ rbd: { monitors: ['m'], image: 'i', user: 'u' } }),
  );
  expect(made).toMatchObject({ rbd: { pool: 'rbd', user: 'u', keyring: '/etc/ceph/keyring' } });
  const disk = written(persistentVolume, withSource({ azureDisk: { diskName: 'd', diskURI: 'u' } })).spec;
  expect(disk).toMatchObject({
    azureDisk: { cachingMode: 'ReadWrite', fsType: 'ext4', readOnly: false, kind: 'Shared' },
  });
});

test('the time of a change of phase', () => {
  const old = stored(persistentVolume, written(persistentVolume, { spec }));
  old.status = { phase: 'Available', lastPhaseTransitionTime: createdText };
  const time = (status: object) =>
    (statusUpdated(persistentVolume, { status }, old).status as { lastPhaseTransitionTime?: string })
      .lastPhaseTransitionTime;
  const other = '2020-01-01T00:00:00Z';
  expect(time({ phase: 'Available' })).toBe(createdText);
  expect(time({ phase: 'Bound' })).toBe(nowText);
  expect(time({ phase: 'Bound', lastPhaseTransitionTime: createdText })).toBe(nowText);
  expect(time({ phase: 'Bound', lastPhaseTransitionTime: other })).toBe(other);
});

test('an empty spec', () => {
  expect(createErrors(persistentVolume, { spec: {} })).toEqual([
    error('R', 'spec.accessModes', 'Required value'),
    error('R', 'spec.capacity', 'Required value'),
    error('N', 'spec.capacity', 'Unsupported value: null: supported values: "storage"'),
    error('R', 'spec', 'Required value: must specify a volume type'),
  ]);
});

test.each<[name: string, change: object, errors: ReturnType<typeof error>[]]>([
  ['fine', {}, []],
  [
    'other mode',
    { accessModes: ['X'] },
    [error('N', 'spec.accessModes', `Unsupported value: "X": ${supportedModes}`)],
  ],
  [
    'mixed modes',
    { accessModes: ['ReadWriteOncePod', 'ReadOnlyMany'] },
    [error('F', 'spec.accessModes', 'Forbidden: may not use ReadWriteOncePod with other access modes')],
  ],
  [
    'more capacity',
    { capacity: { storage: '1Gi', cpu: '1' } },
    [
      error(
        'N',
        'spec.capacity',
        'Unsupported value: {"cpu":"1","storage":"1Gi"}: supported values: "storage"',
      ),
    ],
  ],
  [
    'no storage',
    { capacity: { cpu: '1' } },
    [error('N', 'spec.capacity', 'Unsupported value: {"cpu":"1"}: supported values: "storage"')],
  ],
  [
    'zero',
    { capacity: { storage: '0' } },
    [error('I', 'spec.capacity[storage]', 'Invalid value: "0": must be greater than zero')],
  ],
  [
    'other policy',
    { persistentVolumeReclaimPolicy: 'Foo' },
    [
      error(
        'N',
        'spec.persistentVolumeReclaimPolicy',
        'Unsupported value: "Foo": supported values: "Delete", "Recycle", "Retain"',
      ),
    ],
  ],
  [
    'recycled root',
    { persistentVolumeReclaimPolicy: 'Recycle', hostPath: { path: '//./' } },
    [
      error(
        'F',
        'spec.persistentVolumeReclaimPolicy',
        "Forbidden: may not be 'recycle' for a hostPath mount of '/'",
      ),
    ],
  ],
  ['recycled folder', { persistentVolumeReclaimPolicy: 'Recycle' }, []],
  [
    'two sources',
    { nfs: {}, csi: {} },
    ['nfs', 'csi'].map((name) =>
      error('F', `spec.${name}`, 'Forbidden: may not specify more than 1 volume type'),
    ),
  ],
  [
    'bad class',
    { storageClassName: 'A' },
    [error('I', 'spec.storageClassName', `Invalid value: "A": ${texts.subdomain}`)],
  ],
  [
    'other volume mode',
    { volumeMode: 'Foo' },
    [error('N', 'spec.volumeMode', 'Unsupported value: "Foo": supported values: "Block", "Filesystem"')],
  ],
  [
    'affinity without constraints',
    { nodeAffinity: {} },
    [error('R', 'spec.nodeAffinity.required', 'Required value: must specify required node constraints')],
  ],
  [
    'local without affinity',
    { hostPath: undefined, local: { path: '/d' } },
    [error('R', 'spec.nodeAffinity', 'Required value: Local volume requires node affinity')],
  ],
])('spec: %s', (_, change, errors) => {
  expect(createErrors(persistentVolume, { spec: { ...spec, ...change } })).toEqual(errors);
});

const missing = (...fields: string[]) => fields.map((field) => error('R', `spec.${field}`, 'Required value'));
const refused = (field: string, value: unknown, detail: string) => [
  error('I', `spec.${field}`, `Invalid value: ${JSON.stringify(value)}: ${detail}`),
];
const lunText = 'must be between 0 and 255, inclusive';
const partitionText = 'must be between 1 and 255, inclusive';
const nodeAffinity = { required: { nodeSelectorTerms: [{}] } };

test.each<[source: object, errors: ReturnType<typeof error>[]]>([
  [{ hostPath: {} }, missing('hostPath.path')],
  [{ hostPath: { path: '/a/../b' } }, refused('hostPath.path', '/a/../b', "must not contain '..'")],
  [{ hostPath: { path: '/a..b' } }, []],
  [
    { hostPath: { path: '/a', type: 'Foo' } },
    [
      error(
        'N',
        'spec.hostPath.type',
        'Unsupported value: "Foo": supported values: "", "BlockDevice", "CharDevice", "Directory", "DirectoryOrCreate", "File", "FileOrCreate", "Socket"',
      ),
    ],
  ],
  [{ gcePersistentDisk: {} }, missing('persistentDisk.pdName')],
  [
    { gcePersistentDisk: { pdName: 'a', partition: 256 } },
    refused('persistentDisk.partition', 256, partitionText),
  ],
  [
    { awsElasticBlockStore: { partition: -1 } },
    [
      ...missing('awsElasticBlockStore.volumeID'),
      ...refused('awsElasticBlockStore.partition', -1, partitionText),
    ],
  ],
  [{ glusterfs: {} }, missing('glusterfs.endpoints', 'glusterfs.path')],
  [
    { flocker: {} },
    [error('R', 'spec.flocker', 'Required value: one of datasetName and datasetUUID is required')],
  ],
  [
    { flocker: { datasetName: 'a', datasetUUID: 'b' } },
    refused('flocker', 'resource', 'datasetName and datasetUUID can not be specified simultaneously'),
  ],
  [{ flocker: { datasetName: 'a/b' } }, refused('flocker.datasetName', 'a/b', "must not contain '/'")],
  [{ nfs: {} }, missing('nfs.server', 'nfs.path')],
  [{ nfs: { server: 's', path: 'a' } }, refused('nfs.path', 'a', 'must be an absolute path')],
  [{ rbd: {} }, missing('rbd.monitors', 'rbd.image')],
  [{ quobyte: {} }, missing('quobyte.registry', 'quobyte.volume')],
  [{ cephfs: {} }, missing('cephfs.monitors')],
  [{ iscsi: {} }, missing('iscsi.targetPortal', 'iscsi.iqn')],
  [{ iscsi: { targetPortal: 'p', iqn: 'iqn.2015-02.example.com:test', lun: 255 } }, []],
  [{ iscsi: { targetPortal: 'p', iqn: `eui.${'a'.repeat(16)}` } }, []],
  [{ iscsi: { targetPortal: 'p', iqn: `naa.${'a'.repeat(32)}` } }, []],
  [
    { iscsi: { targetPortal: 'p', iqn: 'x' } },
    refused('iscsi.iqn', 'x', 'must be valid format starting with iqn, eui, or naa'),
  ],
  [
    { iscsi: { targetPortal: 'p', iqn: 'iqn.2015' } },
    refused('iscsi.iqn', 'iqn.2015', 'must be valid format'),
  ],
  [
    { iscsi: { targetPortal: 'p', iqn: 'iqn.2015-02.example.com:test', lun: 256 } },
    refused('iscsi.lun', 256, lunText),
  ],
  [{ cinder: {} }, missing('cinder.volumeID')],
  [
    { fc: {} },
    [
      error(
        'R',
        'spec.fc.targetWWNs',
        'Required value: must specify either targetWWNs or wwids, but not both',
      ),
    ],
  ],
  [
    { fc: { targetWWNs: ['a'] } },
    [error('R', 'spec.fc.lun', 'Required value: lun is required if targetWWNs is specified')],
  ],
  [{ fc: { targetWWNs: ['a'], lun: -1 } }, refused('fc.lun', -1, lunText)],
  [{ fc: { wwids: ['a'] } }, []],
  [{ flexVolume: {} }, missing('flexVolume.driver')],
  [{ azureFile: {} }, missing('azureFile.secretName', 'azureFile.shareName')],
  [{ vsphereVolume: {} }, missing('vsphereVolume.volumePath')],
  [{ photonPersistentDisk: {} }, missing('photonPersistentDisk.pdID')],
  [{ portworxVolume: {} }, missing('portworxVolume.volumeID')],
  [{ azureDisk: {} }, missing('azureDisk.diskName', 'azureDisk.diskURI')],
  [{ scaleIO: {} }, missing('scaleIO.gateway', 'scaleIO.system', 'scaleIO.volumeName')],
  [{ local: {}, nodeAffinity }, missing('local.path')],
  [{ local: { path: '..' }, nodeAffinity }, refused('local.path', '..', "must not contain '..'")],
  [{ storageos: {} }, missing('storageos.volumeName')],
  [{ csi: {} }, missing('csi.driver', 'csi.volumeHandle')],
  [{ csi: { driver: 'A.example.com', volumeHandle: 'h' } }, []],
  [{ csi: { driver: 'a_b', volumeHandle: 'h' } }, refused('csi.driver', 'a_b', texts.subdomain)],
  [
    { csi: { driver: 'a'.repeat(64), volumeHandle: 'h' } },
    [error('TL', 'spec.csi.driver', 'Too long: may not be more than 63 bytes')],
  ],
])('source %o', (source, errors) => {
  expect(createErrors(persistentVolume, withSource(source))).toEqual(errors);
});

test('the source and the mode cannot change, the rest can', () => {
  const update = (change: object, old: object = {}) =>
    updateErrors(persistentVolume, { spec: { ...spec, ...change } }, { spec: { ...spec, ...old } });
  expect(
    update({
      capacity: { storage: '2Gi' },
      persistentVolumeReclaimPolicy: 'Delete',
      claimRef: { name: 'c' },
    }),
  ).toEqual([]);
  expect(update({ hostPath: { path: '/other' } })).toEqual([
    error(
      'F',
      'spec.persistentvolumesource',
      'Forbidden: spec.persistentvolumesource is immutable after creation\nchanged: hostPath',
    ),
  ]);
  expect(update({ hostPath: undefined, nfs: { server: 's', path: '/' } })[0]?.message).toMatch(
    /: hostPath, nfs$/,
  );
  expect(update({ volumeMode: 'Block' })).toEqual([
    error('I', 'volumeMode', 'Invalid value: "Block": field is immutable'),
  ]);
});

test('a secret for growing a CSI volume may be added, not changed', () => {
  const csi = (name?: string) =>
    withSource({
      csi: { driver: 'd', volumeHandle: 'h', controllerExpandSecretRef: name && { name, namespace: 'n' } },
    });
  expect(updateErrors(persistentVolume, csi('a'), csi())).toEqual([]);
  expect(updateErrors(persistentVolume, csi('b'), csi('a'))).toHaveLength(1);
  expect(updateErrors(persistentVolume, csi(), csi('a'))).toHaveLength(1);
});

test('cells', () => {
  expect(
    cells(persistentVolume, {
      metadata: { annotations: { 'volume.beta.kubernetes.io/storage-class': 'old' } },
      spec: {
        ...spec,
        accessModes: ['ReadWriteMany', 'ReadOnlyMany', 'ReadWriteOnce', 'ReadWriteOnce'],
        claimRef: { namespace: 'ns1', name: 'c' },
        storageClassName: 'new',
        volumeAttributesClassName: 'fast',
      },
      status: { phase: 'Failed', reason: 'Broken' },
    }),
  ).toEqual({
    Name: 'a',
    Capacity: '1Gi',
    'Access Modes': 'RWO,ROX,RWX',
    'Reclaim Policy': 'Retain',
    Status: 'Failed',
    Claim: 'ns1/c',
    StorageClass: 'old',
    VolumeAttributesClass: 'fast',
    Reason: 'Broken',
    Age: createdAge,
    '*VolumeMode': 'Filesystem',
  });
  const leaving = { metadata: { deletionTimestamp: nowText }, spec: { ...spec, storageClassName: 'new' } };
  expect(cells(persistentVolume, leaving)).toMatchObject({
    Status: 'Terminating',
    Claim: '',
    StorageClass: 'new',
    VolumeAttributesClass: '<unset>',
    Reason: '',
  });
});
