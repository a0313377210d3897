/**
 * Samples: for every kind of the contract a manifest that Kubernetes' own validation accepts, one change that
 * an update may make, and a status that a status update may set. They use their own namespaces and classes
 * and request little, so that controllers leave them alone.
 */
import type { Json } from '../support/http.ts';

export interface Sample {
  /** The manifest, without kind and apiVersion. */
  manifest(namespace: string, name: string): Json;
  /** A change every update may make: JSON pointer and new value. */
  readonly edit: { readonly pointer: string; readonly value: Json };
  /** For kinds with a status path: a new status, and a pointer to compare. */
  readonly status?: { readonly value: Json; readonly pointer: string };
}

/** Every sample has its own name as a label, for selectors. */
const meta = (namespace: string, name: string) => ({
  name,
  ...(namespace ? { namespace } : {}),
  labels: { contract: name },
});

const containers = [{ name: 'web', image: 'registry.example/web:1' }];
const time = '2026-01-02T03:04:05Z';

export const samples: Readonly<Record<string, Sample>> = {
  Endpoints: {
    manifest: (namespace, name) => ({
      metadata: meta(namespace, name),
      subsets: [{ addresses: [{ ip: '10.1.2.3' }], ports: [{ name: 'http', port: 80, protocol: 'TCP' }] }],
    }),
    edit: { pointer: '/subsets/0/ports/0/port', value: 8080 },
  },
  Event: {
    manifest: (namespace, name) => ({
      metadata: meta(namespace, name),
      involvedObject: { kind: 'Pod', namespace, name: 'web', apiVersion: 'v1' },
      reason: 'Started',
      message: 'Started container web',
      source: { component: 'contract' },
      firstTimestamp: time,
      lastTimestamp: time,
      count: 1,
      type: 'Normal',
    }),
    edit: { pointer: '/message', value: 'Started container web again' },
  },
  LimitRange: {
    manifest: (namespace, name) => ({
      metadata: meta(namespace, name),
      spec: {
        limits: [
          { type: 'Container', max: { cpu: '4' }, default: { cpu: '2' }, defaultRequest: { cpu: '1' } },
        ],
      },
    }),
    edit: { pointer: '/spec/limits/0/max/cpu', value: '8' },
  },
  PersistentVolumeClaim: {
    manifest: (namespace, name) => ({
      metadata: meta(namespace, name),
      spec: {
        accessModes: ['ReadWriteOnce'],
        resources: { requests: { storage: '1Gi' } },
        storageClassName: 'contract-claims',
      },
    }),
    // The spec of a claim is immutable.
    edit: { pointer: '/metadata/labels/edited', value: 'yes' },
    status: {
      value: { phase: 'Pending', conditions: [{ type: 'Resizing', status: 'True', message: 'contract' }] },
      pointer: '/conditions/0/message',
    },
  },
  Pod: {
    manifest: (namespace, name) => ({ metadata: meta(namespace, name), spec: { containers } }),
    edit: { pointer: '/spec/containers/0/image', value: 'registry.example/web:2' },
    status: { value: { phase: 'Running', message: 'contract' }, pointer: '/message' },
  },
  PodTemplate: {
    manifest: (namespace, name) => ({
      metadata: meta(namespace, name),
      template: { metadata: { labels: { app: name } }, spec: { containers } },
    }),
    edit: { pointer: '/template/spec/containers/0/image', value: 'registry.example/web:2' },
  },
  ReplicationController: {
    manifest: (namespace, name) => ({
      metadata: meta(namespace, name),
      spec: {
        replicas: 1,
        selector: { app: name },
        template: { metadata: { labels: { app: name } }, spec: { restartPolicy: 'Always', containers } },
      },
    }),
    edit: { pointer: '/spec/replicas', value: 2 },
  },
  ResourceQuota: {
    manifest: (namespace, name) => ({ metadata: meta(namespace, name), spec: { hard: { pods: '100' } } }),
    edit: { pointer: '/spec/hard/pods', value: '200' },
    status: { value: { hard: { pods: '100' }, used: { pods: '7' } }, pointer: '/used/pods' },
  },
  Secret: {
    manifest: (namespace, name) => ({ metadata: meta(namespace, name), type: 'Opaque', data: { a: 'MQ==' } }),
    edit: { pointer: '/data/a', value: 'Mg==' },
  },
  Service: {
    manifest: (namespace, name) => ({
      metadata: meta(namespace, name),
      spec: {
        selector: { app: name },
        ports: [{ name: 'http', port: 80, targetPort: 8080, protocol: 'TCP' }],
      },
    }),
    edit: { pointer: '/spec/ports/0/targetPort', value: 9090 },
  },
  ServiceAccount: {
    manifest: (namespace, name) => ({
      metadata: meta(namespace, name),
      imagePullSecrets: [{ name: 'registry' }],
    }),
    edit: { pointer: '/imagePullSecrets/0/name', value: 'other-registry' },
  },
  Namespace: {
    manifest: (_, name) => ({ metadata: meta('', name) }),
    // A namespace has nothing else that an update may change.
    edit: { pointer: '/metadata/labels/edited', value: 'yes' },
    status: {
      value: {
        phase: 'Active',
        conditions: [
          {
            type: 'NamespaceContentRemaining',
            status: 'False',
            reason: 'Contract',
            lastTransitionTime: time,
          },
        ],
      },
      pointer: '/conditions/0/reason',
    },
  },
  Node: {
    manifest: (_, name) => ({ metadata: meta('', name), spec: { unschedulable: true } }),
    edit: { pointer: '/spec/providerID', value: 'contract://node' },
    status: {
      value: {
        capacity: { cpu: '4', memory: '8Gi', pods: '110' },
        addresses: [{ type: 'InternalIP', address: '192.0.2.7' }],
      },
      pointer: '/addresses/0/address',
    },
  },
  PersistentVolume: {
    manifest: (_, name) => ({
      metadata: meta('', name),
      spec: {
        capacity: { storage: '1Gi' },
        accessModes: ['ReadWriteOnce'],
        persistentVolumeReclaimPolicy: 'Retain',
        storageClassName: 'contract-volumes',
        hostPath: { path: '/data/contract' },
      },
    }),
    edit: { pointer: '/spec/capacity/storage', value: '2Gi' },
    status: { value: { phase: 'Available', message: 'contract' }, pointer: '/message' },
  },
  HorizontalPodAutoscaler: {
    manifest: (namespace, name) => ({
      metadata: meta(namespace, name),
      spec: {
        scaleRef: { kind: 'ReplicationController', name: 'web', apiVersion: 'v1', subresource: 'scale' },
        minReplicas: 1,
        maxReplicas: 3,
        cpuUtilization: { targetPercentage: 50 },
      },
    }),
    edit: { pointer: '/spec/maxReplicas', value: 5 },
    status: { value: { currentReplicas: 1, desiredReplicas: 2 }, pointer: '/desiredReplicas' },
  },
  Ingress: {
    manifest: (namespace, name) => ({
      metadata: meta(namespace, name),
      spec: { backend: { serviceName: 'web', servicePort: 80 } },
    }),
    edit: { pointer: '/spec/backend/servicePort', value: 8080 },
    status: {
      value: { loadBalancer: { ingress: [{ ip: '192.0.2.8' }] } },
      pointer: '/loadBalancer/ingress/0/ip',
    },
  },
  Job: {
    manifest: (namespace, name) => ({
      metadata: meta(namespace, name),
      spec: {
        completions: 1,
        parallelism: 1,
        selector: { matchLabels: { app: name } },
        template: { metadata: { labels: { app: name } }, spec: { restartPolicy: 'Never', containers } },
      },
    }),
    edit: { pointer: '/spec/parallelism', value: 2 },
    status: { value: { startTime: time, active: 1 }, pointer: '/active' },
  },
};

/** The value at a pointer; undefined when there is none. */
export function at(document: Json, pointer: string): Json {
  return pointer
    .split('/')
    .slice(1)
    .reduce((value, step) => value?.[step], document);
}

/** A copy of an object with its kind's edit. */
export function edited(object: Json, { edit }: Sample): Json {
  const copy = structuredClone(object);
  const steps = edit.pointer.split('/').slice(1);
  const last = steps.pop()!;
  let target = copy;
  for (const step of steps) target = target[step] ??= {};
  target[last] = edit.value;
  return copy;
}

/** The edit as a partial object, with whole lists, because merge patches replace lists. */
export function editAsMergePatch(object: Json, sample: Sample): Json {
  const steps = sample.edit.pointer.split('/').slice(1);
  const list = steps.findIndex((step) => /^\d+$/.test(step));
  const kept = list < 0 ? steps : steps.slice(0, list);
  const value = at(edited(object, sample), `/${kept.join('/')}`);
  return kept.reduceRight((inner, step) => ({ [step]: inner }), value);
}
