/**
 * What a client that is older than the server does to an object: it reads it into types that lack the newer fields, and
 * writes back what is left. And manifests from its time, rich in fields that have neighbours it does not know.
 */
import type { Field, Model } from '../../src/api/model/model.ts';
import type { Json } from './http.ts';

/** Whether a kind was in the API of Kubernetes 1.1. */
export const wasIn11 = (model: Model): boolean => model.fields.get('kind')?.definition.since11 === true;

/** An object as a client of Kubernetes 1.1 knows it: without any field that is newer. */
export function knownIn11(model: Model, object: Json): Json {
  const known: Json = {};
  for (const [name, value] of Object.entries(object)) {
    const field = model.fields.get(name);
    if (field?.definition.since11) known[name] = valueIn11(field, value);
  }
  return known;
}

function valueIn11(field: Field, value: Json): Json {
  if (value === null) return null;
  if (field.type === 'model') return knownIn11(field.model, value);
  if (field.type === 'array') return value.map((item: Json) => valueIn11(field.items!, item));
  return value;
}

const meta = (name: string) => ({ name, labels: { app: name }, annotations: { 'example.com/by': 'test' } });
const probe = { httpGet: { path: '/', port: 80 }, initialDelaySeconds: 3, timeoutSeconds: 2 };

const podSpec = (restartPolicy: string): Json => ({
  restartPolicy,
  terminationGracePeriodSeconds: 5,
  dnsPolicy: 'Default',
  nodeSelector: { disk: 'fast' },
  imagePullSecrets: [{ name: 'registry' }],
  volumes: [
    { name: 'scratch', emptyDir: { medium: 'Memory' } },
    { name: 'bare' },
    { name: 'host', hostPath: { path: '/srv' } },
    { name: 'keys', secret: { secretName: 'keys' } },
    { name: 'git', gitRepo: { repository: 'https://example.com/repo.git' } },
    { name: 'share', nfs: { server: 'nfs.example.com', path: '/' } },
    { name: 'disk', gcePersistentDisk: { pdName: 'pd', fsType: 'ext4' } },
    {
      name: 'block',
      iscsi: { targetPortal: '192.0.2.1:3260', iqn: 'iqn.2001-04.com.example:a', lun: 0, fsType: 'ext4' },
    },
    { name: 'ceph', rbd: { monitors: ['192.0.2.2'], image: 'i', fsType: 'ext4' } },
    { name: 'claim', persistentVolumeClaim: { claimName: 'data' } },
    {
      name: 'facts',
      downwardAPI: { items: [{ path: 'labels', fieldRef: { fieldPath: 'metadata.labels' } }] },
    },
  ],
  containers: [
    {
      name: 'web',
      image: 'registry.example/web:1',
      command: ['serve'],
      ports: [{ containerPort: 80, name: 'http' }],
      env: [
        { name: 'A', value: '1' },
        { name: 'POD', valueFrom: { fieldRef: { fieldPath: 'metadata.name' } } },
      ],
      resources: { limits: { cpu: '100m', memory: '64Mi' } },
      volumeMounts: [{ name: 'scratch', mountPath: '/scratch' }],
      livenessProbe: probe,
      readinessProbe: { exec: { command: ['true'] } },
      lifecycle: { preStop: { httpGet: { port: 80 } }, postStart: { exec: { command: ['true'] } } },
      securityContext: { privileged: false, runAsUser: 7, capabilities: { add: ['KILL'] } },
    },
    { name: 'side', image: 'registry.example/side' },
  ],
});

const template = (name: string, restartPolicy: string): Json => ({
  metadata: { labels: { app: name } },
  spec: podSpec(restartPolicy),
});

const port = { name: 'http', port: 80, targetPort: 8080 };

/** Manifests by kind; several where a kind is treated in several ways. Names are added to them. */
export const manifests11: Readonly<Record<string, readonly ((name: string) => Json)[]>> = {
  Pod: [
    (name) => ({ metadata: meta(name), spec: podSpec('Always') }),
    (name) => ({
      metadata: meta(name),
      spec: { containers: [{ name: 'c', image: 'i', ports: [{ containerPort: 7 }] }], hostNetwork: true },
    }),
  ],
  PodTemplate: [(name) => ({ metadata: meta(name), template: template(name, 'Always') })],
  ReplicationController: [(name) => ({ metadata: meta(name), spec: { template: template(name, 'Always') } })],
  Job: [
    (name) => ({
      metadata: meta(name),
      spec: { selector: { matchLabels: { app: name } }, template: template(name, 'Never') },
    }),
    (name) => ({
      metadata: meta(name),
      spec: {
        completions: 3,
        selector: { matchExpressions: [{ key: 'app', operator: 'In', values: [name] }] },
        template: template(name, 'OnFailure'),
      },
    }),
  ],
  Service: [
    (name) => ({ metadata: meta(name), spec: { selector: { app: name }, ports: [port] } }),
    (name) => ({
      metadata: meta(name),
      spec: { type: 'NodePort', ports: [port, { ...port, name: 'b', port: 81 }] },
    }),
    (name) => ({
      metadata: meta(name),
      spec: { type: 'LoadBalancer', sessionAffinity: 'ClientIP', ports: [port] },
    }),
    (name) => ({ metadata: meta(name), spec: { clusterIP: 'None', ports: [port] } }),
    (name) => ({ metadata: meta(name), spec: { externalIPs: ['192.0.2.9'], ports: [port] } }),
  ],
  PersistentVolume: [
    (name) => ({
      metadata: meta(name),
      spec: {
        capacity: { storage: '1Gi' },
        accessModes: ['ReadWriteOnce'],
        hostPath: { path: '/srv/data' },
      },
    }),
    (name) => ({
      metadata: meta(name),
      spec: {
        capacity: { storage: '1Gi' },
        accessModes: ['ReadWriteMany'],
        persistentVolumeReclaimPolicy: 'Recycle',
        nfs: { server: 'nfs.example.com', path: '/data' },
        claimRef: { kind: 'PersistentVolumeClaim', namespace: 'default', name: 'data' },
      },
    }),
    (name) => ({
      metadata: meta(name),
      spec: {
        capacity: { storage: '1Gi' },
        accessModes: ['ReadWriteOnce'],
        rbd: { monitors: ['192.0.2.2'], image: 'i', fsType: 'ext4' },
      },
    }),
  ],
  PersistentVolumeClaim: [
    (name) => ({
      metadata: meta(name),
      spec: { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1Gi' } } },
    }),
  ],
  Node: [
    (name) => ({ metadata: meta(name), spec: { podCIDR: '10.9.0.0/24' } }),
    (name) => ({
      metadata: meta(name),
      spec: { externalID: name, unschedulable: true },
      status: {
        capacity: { cpu: '4', memory: '8Gi' },
        conditions: [{ type: 'Ready', status: 'True' }],
        addresses: [{ type: 'LegacyHostIP', address: '192.0.2.7' }],
      },
    }),
  ],
  HorizontalPodAutoscaler: [
    (name) => ({
      metadata: meta(name),
      spec: {
        scaleRef: { kind: 'ReplicationController', name: 'web', subresource: 'scale' },
        maxReplicas: 3,
      },
    }),
  ],
  Ingress: [
    (name) => ({
      metadata: meta(name),
      spec: {
        rules: [
          {
            host: 'a.example.com',
            http: { paths: [{ path: '/a', backend: { serviceName: 's', servicePort: 80 } }] },
          },
        ],
      },
    }),
  ],
  Event: [
    (name) => ({
      metadata: meta(name),
      involvedObject: { kind: 'Pod', namespace: 'events-core', name: 'web' },
      reason: 'Started',
      message: 'Started',
      source: { component: 'test' },
      count: 2,
    }),
  ],
  Secret: [(name) => ({ metadata: meta(name), data: { a: 'MQ==' } })],
  ServiceAccount: [(name) => ({ metadata: meta(name), secrets: [{ name: 'token' }] })],
  Endpoints: [
    (name) => ({
      metadata: meta(name),
      subsets: [
        { addresses: [{ ip: '10.1.2.3', targetRef: { kind: 'Pod', name: 'p' } }], ports: [{ port: 80 }] },
      ],
    }),
  ],
  LimitRange: [
    (name) => ({
      metadata: meta(name),
      spec: { limits: [{ type: 'Container', max: { cpu: '4' }, defaultRequest: { cpu: '1' } }] },
    }),
  ],
  ResourceQuota: [(name) => ({ metadata: meta(name), spec: { hard: { pods: '100', cpu: '2' } } })],
  Namespace: [(name) => ({ metadata: meta(name) })],
};
