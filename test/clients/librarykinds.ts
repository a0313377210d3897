/** What the official JavaScript client has generated calls for, kind by kind: all that the server stores. */
import {
  AutoscalingV1Api,
  AutoscalingV2Api,
  BatchV1Api,
  CoordinationV1Api,
  CoreV1Api,
  EventsV1Api,
  NetworkingV1Api,
  V1MicroTime,
} from '@kubernetes/client-node';
import { clusterKinds, namespacedKinds } from '../contract/kinds.ts';
import { type Sample, samples } from '../contract/samples.ts';
import type { ApiClass } from './library.ts';

export interface LibraryKind {
  readonly api: ApiClass;
  readonly apiVersion: string;
  readonly kind: string;
  /** Path segment. */
  readonly segment: string;
  readonly namespaced: boolean;
  readonly sample: Sample;
  /** What a delete that removes the object answers with. */
  readonly deleteAnswer: 'object' | 'status';
}

const containers = [{ name: 'web', image: 'registry.example/web:1' }];
const time = new Date('2026-01-02T03:04:05Z');
/** Not a whole second: Python leaves a fraction of nothing out, which is no such time to Kubernetes. */
const precisely = new V1MicroTime('2026-01-02T03:04:05.678Z');
const meta = (namespace: string, name: string) => ({ name, namespace, labels: { contract: name } });
const condition = {
  type: 'Contract',
  status: 'True',
  reason: 'Contract',
  message: 'contract',
  lastTransitionTime: time,
};
const target = { kind: 'ReplicationController', name: 'web', apiVersion: 'v1' };

/** Samples of kinds that the contract does not have in this version, or says less of. */
const newer: Readonly<Record<string, Sample>> = {
  ConfigMap: {
    manifest: (namespace, name) => ({ metadata: meta(namespace, name), data: { a: '1' } }),
    edit: { pointer: '/data/a', value: '2' },
  },
  ReplicationController: {
    ...samples.ReplicationController!,
    status: { value: { replicas: 3, readyReplicas: 2 }, pointer: '/readyReplicas' },
  },
  Service: {
    ...samples.Service!,
    status: { value: { conditions: [condition] }, pointer: '/conditions/0/message' },
  },
  LimitRange: {
    ...samples.LimitRange!,
    manifest: (namespace, name) => ({
      metadata: meta(namespace, name),
      // The library cannot have a property named default.
      spec: { limits: [{ type: 'Container', max: { cpu: '4' }, _default: { cpu: '2' } }] },
    }),
  },
  'events.k8s.io/v1 Event': {
    manifest: (namespace, name) => ({
      metadata: meta(namespace, name),
      eventTime: precisely,
      reportingController: 'example.com/contract',
      reportingInstance: 'contract-1',
      action: 'Starting',
      reason: 'Started',
      regarding: { kind: 'Pod', namespace, name: 'web', apiVersion: 'v1' },
      note: 'Started container web',
      type: 'Normal',
    }),
    // Nothing else of such an event changes.
    edit: { pointer: '/metadata/labels/edited', value: 'yes' },
  },
  'autoscaling/v1 HorizontalPodAutoscaler': {
    manifest: (namespace, name) => ({
      metadata: meta(namespace, name),
      spec: { scaleTargetRef: target, minReplicas: 1, maxReplicas: 3, targetCPUUtilizationPercentage: 50 },
    }),
    edit: { pointer: '/spec/maxReplicas', value: 5 },
    status: { value: { currentReplicas: 1, desiredReplicas: 2 }, pointer: '/desiredReplicas' },
  },
  'autoscaling/v2 HorizontalPodAutoscaler': {
    manifest: (namespace, name) => ({
      metadata: meta(namespace, name),
      spec: {
        scaleTargetRef: target,
        maxReplicas: 3,
        metrics: [
          {
            type: 'Resource',
            resource: { name: 'memory', target: { type: 'Utilization', averageUtilization: 70 } },
          },
        ],
      },
    }),
    edit: { pointer: '/spec/metrics/0/resource/target/averageUtilization', value: 80 },
    status: {
      value: { currentReplicas: 1, desiredReplicas: 2, conditions: [condition] },
      pointer: '/conditions/0/reason',
    },
  },
  'batch/v1 Job': {
    manifest: (namespace, name) => ({
      metadata: meta(namespace, name),
      spec: { backoffLimit: 2, template: { spec: { restartPolicy: 'Never', containers } } },
    }),
    edit: { pointer: '/spec/parallelism', value: 2 },
    status: { value: { startTime: time, active: 1 }, pointer: '/active' },
  },
  'networking.k8s.io/v1 Ingress': {
    manifest: (namespace, name) => ({
      metadata: meta(namespace, name),
      spec: { defaultBackend: { service: { name: 'web', port: { number: 80 } } } },
    }),
    edit: { pointer: '/spec/defaultBackend/service/port/number', value: 8080 },
    status: {
      value: { loadBalancer: { ingress: [{ ip: '192.0.2.8' }] } },
      pointer: '/loadBalancer/ingress/0/ip',
    },
  },
  'coordination.k8s.io/v1 Lease': {
    manifest: (namespace, name) => ({
      metadata: meta(namespace, name),
      spec: { holderIdentity: 'one', leaseDurationSeconds: 15, renewTime: precisely },
    }),
    edit: { pointer: '/spec/holderIdentity', value: 'two' },
  },
};

const answeredWhole = [
  'Pod',
  'Service',
  'Namespace',
  'PersistentVolume',
  'PersistentVolumeClaim',
  'PodTemplate',
  'ResourceQuota',
  'ServiceAccount',
];

function row(
  api: ApiClass,
  apiVersion: string,
  kind: string,
  segment: string,
  namespaced = true,
): LibraryKind {
  const sample = newer[`${apiVersion} ${kind}`] ?? newer[kind] ?? samples[kind]!;
  const deleteAnswer = answeredWhole.includes(kind) ? 'object' : 'status';
  return { api, apiVersion, kind, segment, namespaced, sample, deleteAnswer };
}

export const libraryKinds: readonly LibraryKind[] = [
  ...[...namespacedKinds, ...clusterKinds].map(({ kind, segment, namespaced }) =>
    row(CoreV1Api, 'v1', kind, segment, namespaced),
  ),
  row(CoreV1Api, 'v1', 'ConfigMap', 'configmaps'),
  row(BatchV1Api, 'batch/v1', 'Job', 'jobs'),
  row(AutoscalingV1Api, 'autoscaling/v1', 'HorizontalPodAutoscaler', 'horizontalpodautoscalers'),
  row(AutoscalingV2Api, 'autoscaling/v2', 'HorizontalPodAutoscaler', 'horizontalpodautoscalers'),
  row(NetworkingV1Api, 'networking.k8s.io/v1', 'Ingress', 'ingresses'),
  row(EventsV1Api, 'events.k8s.io/v1', 'Event', 'events'),
  row(CoordinationV1Api, 'coordination.k8s.io/v1', 'Lease', 'leases'),
];

/** Each kind has a namespace of its own, so that a quota or limit range meets no pods. */
export const homeOf = ({ segment, apiVersion, namespaced }: LibraryKind): string =>
  namespaced ? `home-${segment}-${apiVersion.replace(/[./]/g, '-')}` : '';
