/** Objects of the kinds about storage, networks, runtimes and devices, for tests of clients. None has an effect on others. */
import type { Sample } from '../contract/samples.ts';

const clusterMeta = (name: string) => ({ name, labels: { contract: name } });
const meta = (namespace: string, name: string) => ({ ...clusterMeta(name), namespace });
const condition = {
  type: 'Contract',
  status: 'True',
  reason: 'Contract',
  message: 'contract',
  lastTransitionTime: '2026-01-01T00:00:00Z',
};
const request = { name: 'gpu', exactly: { deviceClassName: 'gpu.example.com' } };
const annotated = (name: string) => ({ ...clusterMeta(name), annotations: { purpose: 'one' } });
const annotationEdit = { pointer: '/metadata/annotations/purpose', value: 'two' };

/** By version and kind. */
export const platformSamples: Readonly<Record<string, Sample>> = {
  'discovery.k8s.io/v1 EndpointSlice': {
    manifest: (namespace, name) => ({
      metadata: meta(namespace, name),
      addressType: 'IPv4',
      endpoints: [{ addresses: ['10.1.2.3'], conditions: { ready: true }, nodeName: 'n', zone: 'z' }],
      ports: [{ name: 'http', port: 80, protocol: 'TCP', appProtocol: 'http' }],
    }),
    edit: { pointer: '/ports/0/port', value: 81 },
  },
  'storage.k8s.io/v1 StorageClass': {
    manifest: (_namespace, name) => ({
      metadata: clusterMeta(name),
      provisioner: 'example.com/disk',
      parameters: { kind: 'fast' },
      mountOptions: ['ro'],
      allowVolumeExpansion: false,
      allowedTopologies: [{ matchLabelExpressions: [{ key: 'zone', values: ['a', 'b'] }] }],
    }),
    edit: { pointer: '/mountOptions/0', value: 'noatime' },
  },
  'storage.k8s.io/v1 CSIDriver': {
    manifest: (_namespace, name) => ({
      metadata: clusterMeta(name),
      spec: {
        attachRequired: true,
        fsGroupPolicy: 'File',
        tokenRequests: [{ audience: 'vault', expirationSeconds: 3600 }],
        serviceAccountTokenInSecrets: true,
      },
    }),
    edit: { pointer: '/spec/fsGroupPolicy', value: 'None' },
  },
  'storage.k8s.io/v1 CSINode': {
    manifest: (_namespace, name) => ({
      metadata: clusterMeta(name),
      spec: {
        drivers: [
          {
            name: 'disk.example.com',
            nodeID: 'n-1',
            topologyKeys: ['example.com/zone'],
            allocatable: { count: 3 },
          },
        ],
      },
    }),
    edit: { pointer: '/spec/drivers/0/allocatable/count', value: 4 },
  },
  'storage.k8s.io/v1 CSIStorageCapacity': {
    manifest: (namespace, name) => ({
      metadata: meta(namespace, name),
      nodeTopology: { matchLabels: { zone: 'a' } },
      storageClassName: 'fast',
      capacity: '10Gi',
      maximumVolumeSize: '1Gi',
    }),
    edit: { pointer: '/capacity', value: '9Gi' },
  },
  'storage.k8s.io/v1 VolumeAttachment': {
    manifest: (_namespace, name) => ({
      metadata: annotated(name),
      spec: { attacher: 'disk.example.com', nodeName: 'n', source: { persistentVolumeName: 'v' } },
    }),
    edit: annotationEdit,
    status: {
      value: { attached: true, attachmentMetadata: { device: '/dev/vdb' } },
      pointer: '/attachmentMetadata/device',
    },
  },
  'storage.k8s.io/v1 VolumeAttributesClass': {
    manifest: (_namespace, name) => ({
      metadata: annotated(name),
      driverName: 'disk.example.com',
      parameters: { iops: '100' },
    }),
    edit: annotationEdit,
  },
  'networking.k8s.io/v1 IngressClass': {
    manifest: (_namespace, name) => ({
      metadata: clusterMeta(name),
      spec: {
        controller: 'example.com/front',
        parameters: { apiGroup: 'example.com', kind: 'Front', name: 'one' },
      },
    }),
    edit: { pointer: '/spec/parameters/name', value: 'two' },
  },
  'networking.k8s.io/v1 NetworkPolicy': {
    manifest: (namespace, name) => ({
      metadata: meta(namespace, name),
      spec: {
        podSelector: { matchLabels: { app: name } },
        policyTypes: ['Ingress', 'Egress'],
        ingress: [
          {
            from: [{ ipBlock: { cidr: '10.0.0.0/8', except: ['10.1.0.0/16'] } }],
            ports: [{ protocol: 'TCP', port: 80, endPort: 90 }],
          },
        ],
        egress: [{ to: [{ namespaceSelector: {}, podSelector: {} }], ports: [{ port: 'http' }] }],
      },
    }),
    edit: { pointer: '/spec/ingress/0/ports/0/endPort', value: 99 },
  },
  'networking.k8s.io/v1 IPAddress': {
    manifest: (_namespace, name) => ({
      metadata: { ...annotated(name), name: addressOf(name) },
      spec: { parentRef: { resource: 'services', namespace: 'default', name: 'web' } },
    }),
    edit: annotationEdit,
  },
  'networking.k8s.io/v1 ServiceCIDR': {
    manifest: (_namespace, name) => ({ metadata: annotated(name), spec: { cidrs: ['198.18.0.0/24'] } }),
    edit: annotationEdit,
    status: { value: { conditions: [condition] }, pointer: '/conditions/0/message' },
  },
  'node.k8s.io/v1 RuntimeClass': {
    manifest: (_namespace, name) => ({
      metadata: clusterMeta(name),
      handler: 'special',
      overhead: { podFixed: { memory: '10Mi' } },
      scheduling: { nodeSelector: { disk: 'ssd' }, tolerations: [{ key: 'special', operator: 'Exists' }] },
    }),
    edit: { pointer: '/scheduling/nodeSelector/disk', value: 'hdd' },
  },
  'resource.k8s.io/v1 DeviceClass': {
    manifest: (_namespace, name) => ({
      metadata: clusterMeta(name),
      spec: {
        selectors: [{ cel: { expression: 'device.driver == "gpu.example.com"' } }],
        config: [{ opaque: { driver: 'gpu.example.com', parameters: { mode: 'fast' } } }],
      },
    }),
    edit: { pointer: '/spec/config/0/opaque/parameters/mode', value: 'slow' },
  },
  'resource.k8s.io/v1 ResourceClaim': {
    manifest: (namespace, name) => ({
      metadata: { ...annotated(name), namespace },
      spec: { devices: { requests: [request] } },
    }),
    edit: annotationEdit,
    status: {
      value: {
        allocation: {
          devices: {
            results: [{ request: 'gpu', driver: 'gpu.example.com', pool: 'one', device: 'gpu-0' }],
          },
        },
      },
      pointer: '/allocation/devices/results/0/device',
    },
  },
  'resource.k8s.io/v1 ResourceClaimTemplate': {
    manifest: (namespace, name) => ({
      metadata: { ...annotated(name), namespace },
      spec: { spec: { devices: { requests: [request] } } },
    }),
    edit: annotationEdit,
  },
  'resource.k8s.io/v1 ResourceSlice': {
    manifest: (_namespace, name) => ({
      metadata: clusterMeta(name),
      spec: {
        driver: 'gpu.example.com',
        pool: { name: 'one', generation: 1, resourceSliceCount: 1 },
        allNodes: true,
        devices: [
          {
            name: 'gpu-0',
            // No integer: the JavaScript client renames the field `int` and drops what has the real name.
            attributes: { model: { string: 'x1' }, shared: { bool: true }, firmware: { version: '1.2.3' } },
            capacity: { memory: { value: '8Gi' } },
          },
        ],
      },
    }),
    edit: { pointer: '/spec/devices/0/attributes/model/string', value: 'x2' },
  },
};

/** An address in the place of a name: names of addresses are the addresses. */
function addressOf(name: string): string {
  let sum = 0;
  for (const letter of name) sum = (sum * 31 + letter.codePointAt(0)!) % 65_536;
  return `198.19.${sum >> 8}.${sum & 255}`;
}
