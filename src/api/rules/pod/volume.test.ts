// Proves the rules for volumes: each line of kinds.md 9.3 is refused at its path, with its reason and text.
import { describe, expect, test } from 'vitest';
import {
  type Case,
  container,
  type Expected,
  makePod,
  podErrors,
  testSpecs,
} from '../../kinds/core/pod.fixture.ts';
import { pod } from '../../kinds/core/pod.ts';
import { volumeSources } from './volume.ts';

const v = 'spec.volumes[0]';
const relativeText = 'must be a relative path';
const climbText = "must not contain '..'";
const modeText = 'must be a number between 0 and 0777 (octal), both inclusive';
const needed = (path: string): Expected => [`${v}.${path}`, 'R', 'Required value'];
const volume = (source: object) => ({ volumes: [{ name: 'v', ...source }] });
const one = (name: string, source: object, ...errors: Expected[]): Case => [name, volume(source), ...errors];

describe('names and sources', () => {
  testSpecs([
    ['no name', { volumes: [{ emptyDir: {} }] }, [`${v}.name`, 'R', 'Required value']],
    [
      'bad name',
      { volumes: [{ name: 'a.b', emptyDir: {} }] },
      [`${v}.name`, 'I', 'Invalid value: "a.b": must not contain dots'],
    ],
    [
      'repeated name',
      { volumes: [{ name: 'v' }, { name: 'v' }] },
      ['spec.volumes[1].name', 'D', 'Duplicate value: "v"'],
    ],
    [
      'a volume with other errors does not count as seen',
      { volumes: [{ name: 'v', secret: {} }, { name: 'v' }] },
      needed('secret.secretName'),
    ],
    [
      'nor can it be mounted',
      {
        volumes: [{ name: 'v', secret: {} }],
        containers: [container({ volumeMounts: [{ name: 'v', mountPath: '/a' }] })],
      },
      needed('secret.secretName'),
      ['spec.containers[0].volumeMounts[0].name', 'NF', 'Not found: "v"'],
    ],
    [
      'several sources',
      volume({ image: {}, nfs: {}, emptyDir: {} }),
      [`${v}.nfs`, 'F', 'Forbidden: may not specify more than 1 volume type'],
      [`${v}.image`, 'F', 'Forbidden: may not specify more than 1 volume type'],
    ],
  ]);

  test('a volume without a source is refused when defaulting did not give it one', () => {
    const object = makePod({ volumes: [{ name: 'v' }] });
    delete object.spec!.volumes![0]!.emptyDir;
    expect(pod.validate!(object)).toEqual([
      { field: v, reason: 'FieldValueRequired', message: 'Required value: must specify a volume type' },
    ]);
  });

  test('every source of the field table is known', () => {
    const fields = pod.model.fields.get('spec')!.model.fields.get('volumes')!.items!.model.order;
    expect(new Set(['name', ...volumeSources])).toEqual(new Set(fields.map((field) => field.name)));
  });
});

describe('files on the node', () => {
  testSpecs([
    one('emptyDir.sizeLimit', { emptyDir: { sizeLimit: '-1' } }, [
      `${v}.emptyDir.sizeLimit`,
      'F',
      'Forbidden: SizeLimit field must be a valid resource quantity',
    ]),
    one('hostPath without a path', { hostPath: {} }, needed('hostPath.path')),
    one('hostPath that climbs', { hostPath: { path: '/a/..' } }, [
      `${v}.hostPath.path`,
      'I',
      `Invalid value: "/a/..": ${climbText}`,
    ]),
    one('hostPath type', { hostPath: { path: '/a', type: 'X' } }, [
      `${v}.hostPath.type`,
      'N',
      'Unsupported value: "X": supported values: "", "BlockDevice", "CharDevice", "Directory", "DirectoryOrCreate", "File", "FileOrCreate", "Socket"',
    ]),
    one('gitRepo without a repository', { gitRepo: {} }, needed('gitRepo.repository')),
    one('gitRepo directory', { gitRepo: { repository: 'r', directory: '/a' } }, [
      `${v}.gitRepo.directory`,
      'I',
      `Invalid value: "/a": ${relativeText}`,
    ]),
  ]);
});

describe('disks and file systems', () => {
  const range = (path: string, value: number, min: number): Expected => [
    `${v}.${path}`,
    'I',
    `Invalid value: ${value}: must be between ${min} and 255, inclusive`,
  ];
  testSpecs([
    one(
      'gcePersistentDisk',
      { gcePersistentDisk: { partition: 256 } },
      needed('persistentDisk.pdName'),
      range('persistentDisk.partition', 256, 1),
    ),
    one(
      'awsElasticBlockStore',
      { awsElasticBlockStore: { partition: -1 } },
      needed('awsElasticBlockStore.volumeID'),
      range('awsElasticBlockStore.partition', -1, 1),
    ),
    one('nfs without a server', { nfs: { path: '/a' } }, needed('nfs.server')),
    one('nfs path', { nfs: { server: 's', path: 'a' } }, [
      `${v}.nfs.path`,
      'I',
      'Invalid value: "a": must be an absolute path',
    ]),
    one(
      'iscsi',
      { iscsi: { lun: 256 } },
      needed('iscsi.targetPortal'),
      needed('iscsi.iqn'),
      range('iscsi.lun', 256, 0),
    ),
    one('iscsi name', { iscsi: { targetPortal: 'p', iqn: 'x' } }, [
      `${v}.iscsi.iqn`,
      'I',
      'Invalid value: "x": must be valid format starting with iqn, eui, or naa',
    ]),
    one('iscsi name, almost', { iscsi: { targetPortal: 'p', iqn: 'iqn.2015' } }, [
      `${v}.iscsi.iqn`,
      'I',
      'Invalid value: "iqn.2015": must be valid format',
    ]),
    one('iscsi as it should be', {
      iscsi: { targetPortal: 'p', iqn: 'iqn.2015-02.example.com:test', lun: 0 },
    }),
    one('glusterfs', { glusterfs: {} }, needed('glusterfs.endpoints'), needed('glusterfs.path')),
    one('flocker with nothing', { flocker: {} }, [
      `${v}.flocker`,
      'R',
      'Required value: one of datasetName and datasetUUID is required',
    ]),
    one(
      'flocker with both',
      { flocker: { datasetName: 'a/b', datasetUUID: 'b' } },
      [
        `${v}.flocker`,
        'I',
        'Invalid value: "resource": datasetName and datasetUUID can not be specified simultaneously',
      ],
      [`${v}.flocker.datasetName`, 'I', `Invalid value: "a/b": must not contain '/'`],
    ),
    one('persistentVolumeClaim', { persistentVolumeClaim: {} }, needed('persistentVolumeClaim.claimName')),
    one('rbd', { rbd: {} }, needed('rbd.monitors'), needed('rbd.image')),
    one('cinder', { cinder: {} }, needed('cinder.volumeID')),
    one('cephfs', { cephfs: {} }, needed('cephfs.monitors')),
    one('fc with nothing', { fc: {} }, [
      `${v}.fc.targetWWNs`,
      'R',
      'Required value: must specify either targetWWNs or wwids, but not both',
    ]),
    one('fc without a lun', { fc: { targetWWNs: ['a'] } }, [
      `${v}.fc.lun`,
      'R',
      'Required value: lun is required if targetWWNs is specified',
    ]),
    one('fc lun', { fc: { targetWWNs: ['a'], lun: -1 } }, range('fc.lun', -1, 0)),
    one('csi without a driver', { csi: {} }, needed('csi.driver')),
    one('csi driver too long', { csi: { driver: 'a'.repeat(64) } }, [
      `${v}.csi.driver`,
      'TL',
      'Too long: may not be more than 63 bytes',
    ]),
    one('csi driver', { csi: { driver: 'a b' } }, [
      `${v}.csi.driver`,
      'I',
      expect.stringMatching(/^Invalid value: "a b": a lowercase RFC 1123 subdomain/),
    ]),
    one('azureFile', { azureFile: {} }, needed('azureFile.secretName'), needed('azureFile.shareName')),
    one('vsphereVolume', { vsphereVolume: {} }, needed('vsphereVolume.volumePath')),
    one('photonPersistentDisk', { photonPersistentDisk: {} }, needed('photonPersistentDisk.pdID')),
    one('portworxVolume', { portworxVolume: {} }, needed('portworxVolume.volumeID')),
    one(
      'scaleIO',
      { scaleIO: {} },
      needed('scaleIO.gateway'),
      needed('scaleIO.system'),
      needed('scaleIO.volumeName'),
    ),
    one('storageos', { storageos: {} }, needed('storageos.volumeName')),
    one('quobyte', { quobyte: {} }, needed('quobyte.registry'), needed('quobyte.volume')),
    one('flexVolume', { flexVolume: {} }, needed('flexVolume.driver')),
    one('azureDisk', { azureDisk: {} }, needed('azureDisk.diskName'), needed('azureDisk.diskURI')),
    one('image', { image: { reference: 'i', pullPolicy: 'X' } }, [
      `${v}.image.pullPolicy`,
      'N',
      'Unsupported value: "X": supported values: "Always", "IfNotPresent", "Never"',
    ]),
  ]);
});

describe('secrets, config maps and fields', () => {
  const fileErrors = (source: string): Expected[] => [
    needed(`${source}.items[0].key`),
    needed(`${source}.items[0].path`),
    [`${v}.${source}.items[1].path`, 'I', `Invalid value: "/a": ${relativeText}`],
    [`${v}.${source}.items[1].mode`, 'I', `Invalid value: 512: ${modeText}`],
    [`${v}.${source}.items[2].path`, 'I', `Invalid value: "..a": must not start with '..'`],
  ];
  const items = [{}, { key: 'k', path: '/a', mode: 512 }, { key: 'k', path: '..a' }];
  testSpecs([
    one('secret', { secret: { defaultMode: -1 } }, needed('secret.secretName'), [
      `${v}.secret.defaultMode`,
      'I',
      `Invalid value: -1: ${modeText}`,
    ]),
    one('secret items', { secret: { secretName: 's', items } }, ...fileErrors('secret')),
    one('configMap', { configMap: { defaultMode: 512 } }, needed('configMap.name'), [
      `${v}.configMap.defaultMode`,
      'I',
      `Invalid value: 512: ${modeText}`,
    ]),
    one('configMap items', { configMap: { name: 'm', items } }, ...fileErrors('configMap')),
    one(
      'downwardAPI: no path, nothing to show',
      { downwardAPI: { items: [{}] } },
      needed('downwardAPI.path'),
      [`${v}.downwardAPI`, 'R', 'Required value: one of fieldRef and resourceFieldRef is required'],
    ),
    one(
      'downwardAPI: path, and both to show',
      {
        downwardAPI: {
          items: [
            {
              path: '/a',
              fieldRef: { fieldPath: 'metadata.labels' },
              resourceFieldRef: { containerName: 'c', resource: 'limits.cpu' },
            },
          ],
        },
      },
      [`${v}.downwardAPI.path`, 'I', `Invalid value: "/a": ${relativeText}`],
      [
        `${v}.downwardAPI`,
        'I',
        'Invalid value: "resource": fieldRef and resourceFieldRef can not be specified simultaneously',
      ],
    ),
    one(
      'downwardAPI: field that no file can hold',
      { downwardAPI: { items: [{ path: 'a', fieldRef: { fieldPath: 'spec.nodeName' } }] } },
      [
        `${v}.downwardAPI.fieldRef.fieldPath`,
        'N',
        'Unsupported value: "spec.nodeName": supported values: "metadata.annotations", "metadata.labels", "metadata.name", "metadata.namespace", "metadata.uid"',
      ],
    ),
    one(
      'downwardAPI: resource of no container',
      { downwardAPI: { items: [{ path: 'a', resourceFieldRef: { resource: 'limits.cpu' } }] } },
      needed('downwardAPI.resourceFieldRef.containerName'),
    ),
  ]);
});

describe('projected', () => {
  const projected = (...sources: object[]) => ({
    serviceAccountName: 'default',
    volumes: [{ name: 'v', projected: { sources } }],
  });
  const p = `${v}.projected`;
  const token = (expirationSeconds: number) =>
    projected({ serviceAccountToken: { path: 'token', expirationSeconds } });
  testSpecs([
    [
      'two in one source',
      projected({ secret: { name: 's' }, configMap: { name: 'm' } }),
      [`${p}.sources[0]`, 'F', 'Forbidden: may not specify more than 1 volume type per source'],
    ],
    [
      'same path twice',
      projected(
        { secret: { name: 's', items: [{ key: 'a', path: 'x' }] } },
        { configMap: { name: 'm', items: [{ key: 'a', path: 'x' }] } },
      ),
      [p, 'I', 'Invalid value: "m": conflicting duplicate paths'],
    ],
    [
      'short token',
      token(599),
      [
        `${p}.sources[0].serviceAccountToken.expirationSeconds`,
        'I',
        'Invalid value: 599: may not specify a duration less than 10 minutes',
      ],
    ],
    [
      'long token',
      token(2 ** 32 + 1),
      [
        `${p}.sources[0].serviceAccountToken.expirationSeconds`,
        'I',
        'Invalid value: 4294967297: may not specify a duration larger than 2^32 seconds',
      ],
    ],
    [
      'token of no account',
      { ...token(600), serviceAccountName: '' },
      [
        `${p}.sources[0].serviceAccountToken`,
        'F',
        'Forbidden: must not be specified when serviceAccountName is not set',
      ],
    ],
    ['names', projected({ secret: {} }), [`${p}.sources[0].secret.name`, 'R', 'Required value']],
  ]);
});

describe('ephemeral', () => {
  const t = `${v}.ephemeral.volumeClaimTemplate`;
  const spec = { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1Gi' } } };
  testSpecs([
    one('no template', { ephemeral: {} }, [t, 'R', 'Required value']),
    one('a template', { ephemeral: { volumeClaimTemplate: { metadata: { labels: { a: 'b' } }, spec } } }),
    one(
      'metadata',
      { ephemeral: { volumeClaimTemplate: { metadata: { name: 'n', finalizers: ['a/b'] }, spec } } },
      [`${t}.metadata.name`, 'F', 'Forbidden: cannot be set'],
      [`${t}.metadata.finalizers`, 'F', 'Forbidden: cannot be set'],
    ),
  ]);

  test('the spec follows the rules of a claim', () => {
    const errors = podErrors(volume({ ephemeral: { volumeClaimTemplate: {} } }));
    expect(errors).toContainEqual([
      `${t}.spec.accessModes`,
      'R',
      'Required value: at least 1 access mode is required',
    ]);
    expect(errors).toContainEqual([`${t}.spec.resources[storage]`, 'R', 'Required value']);
  });
});
