/** The kinds that the official JavaScript client has generated calls for: all that the server stores. */
import {
  AdmissionregistrationV1Api,
  ApiextensionsV1Api,
  ApiregistrationV1Api,
  AppsV1Api,
  AutoscalingV1Api,
  AutoscalingV2Api,
  BatchV1Api,
  CertificatesV1Api,
  CoordinationV1Api,
  CoreV1Api,
  DiscoveryV1Api,
  EventsV1Api,
  FlowcontrolApiserverV1Api,
  NetworkingV1Api,
  NodeV1Api,
  PolicyV1Api,
  RbacAuthorizationV1Api,
  ResourceV1Api,
  SchedulingV1Api,
  StorageV1Api,
  V1MicroTime,
} from '@kubernetes/client-node';
import { clusterKinds, namespacedKinds } from '../contract/kinds.ts';
import { type Sample, samples } from '../contract/samples.ts';
import { extensionSamples } from './extension-samples.ts';
import type { ApiClass } from './library.ts';
import { platformSamples } from './platform-samples.ts';

export interface LibraryKind {
  readonly api: ApiClass;
  readonly apiVersion: string;
  readonly kind: string;
  /** Path segment. */
  readonly segment: string;
  readonly namespaced: boolean;
  readonly sample: Sample;
  /** What a delete that removes the object returns. */
  readonly deleteAnswer: 'object' | 'status';
}

const containers = [{ name: 'web', image: 'registry.example/web:1' }];
const time = new Date('2026-01-02T03:04:05Z');
/** With a fraction of a second: Python omits a zero fraction, which Kubernetes does not accept as MicroTime. */
const precisely = new V1MicroTime('2026-01-02T03:04:05.678Z');
const meta = (namespace: string, name: string) => ({ name, namespace, labels: { contract: name } });
const condition = {
  type: 'Contract',
  status: 'True',
  reason: 'Contract',
  message: 'contract',
  lastTransitionTime: time,
};
/** Pods with a name, and the selector for them. */
const podsOf = (name: string) => ({
  selector: { matchLabels: { app: name } },
  template: { metadata: { labels: { app: name } }, spec: { containers } },
});
const rbacGroup = 'rbac.authorization.k8s.io';
const rules = [{ apiGroups: [''], resources: ['pods'], verbs: ['get', 'list'] }];
const clusterMeta = (name: string) => ({ name, labels: { contract: name } });
const subjects = [{ apiGroup: rbacGroup, kind: 'User', name: 'ann' }];
const roleRef = { apiGroup: rbacGroup, kind: 'ClusterRole', name: 'system:reader' };
const target = { kind: 'ReplicationController', name: 'web', apiVersion: 'v1' };

/** A signing request for `system:node:web`, as base64 of its PEM. */
export const signingRequest =
  'LS0tLS1CRUdJTiBDRVJUSUZJQ0FURSBSRVFVRVNULS0tLS0KTUlIc01JR1RBZ0VBTURFeEZUQVRCZ05WQkFvTURITjVjM1JsYlRwdWIyUmxjekVZTUJZR0ExVUVBd3dQYzNsegpkR1Z0T201dlpHVTZkMlZpTUZrd0V3WUhLb1pJemowQ0FRWUlLb1pJemowREFRY0RRZ0FFeWFtRTA2dmJYdlM0Ck1QOFdLWnpEWmVyZ3I5K0ZESms4YldLL1NWU2Q1czZNZS96SU5wMkF0cXdaZzlVdjJLaU53eGhlem5aeUp1SkEKUHM0L05udXQzYUFBTUFvR0NDcUdTTTQ5QkFNQ0EwZ0FNRVVDSUZudjJWYUZlRFo5Z3k0UGFtcGRSWUNxUHlYRApqNTRHcXM3TjNCeDQ3SlQ1QWlFQXRZSGR5dFZHWGJmVVZDT1AyQ0lWUEdxaGZKVEpwcDFvKzk5Nm5Rdzl6cW89Ci0tLS0tRU5EIENFUlRJRklDQVRFIFJFUVVFU1QtLS0tLQo=';

/** Samples of kinds that are not in the contract in this version, or have fewer fields there. */
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
  'apps/v1 ControllerRevision': {
    manifest: (namespace, name) => ({
      metadata: meta(namespace, name),
      data: { spec: { template: { metadata: { labels: { app: name } } } } },
      revision: 1,
    }),
    edit: { pointer: '/revision', value: 2 },
  },
  'apps/v1 DaemonSet': {
    manifest: (namespace, name) => ({ metadata: meta(namespace, name), spec: podsOf(name) }),
    edit: { pointer: '/spec/updateStrategy/rollingUpdate/maxUnavailable', value: '50%' },
    status: {
      value: {
        currentNumberScheduled: 2,
        desiredNumberScheduled: 3,
        numberMisscheduled: 0,
        numberReady: 1,
        conditions: [condition],
      },
      pointer: '/numberReady',
    },
  },
  'apps/v1 Deployment': {
    manifest: (namespace, name) => ({ metadata: meta(namespace, name), spec: podsOf(name) }),
    edit: { pointer: '/spec/template/spec/containers/0/image', value: 'registry.example/web:2' },
    status: {
      value: { replicas: 3, readyReplicas: 1, conditions: [{ ...condition, lastUpdateTime: time }] },
      pointer: '/readyReplicas',
    },
  },
  'apps/v1 ReplicaSet': {
    manifest: (namespace, name) => ({ metadata: meta(namespace, name), spec: podsOf(name) }),
    edit: { pointer: '/spec/replicas', value: 2 },
    status: {
      value: { replicas: 3, readyReplicas: 1, conditions: [condition] },
      pointer: '/readyReplicas',
    },
  },
  'apps/v1 StatefulSet': {
    manifest: (namespace, name) => ({
      metadata: meta(namespace, name),
      spec: {
        ...podsOf(name),
        serviceName: name,
        volumeClaimTemplates: [
          {
            metadata: { name: 'data' },
            spec: { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1Gi' } } },
          },
        ],
      },
    }),
    edit: { pointer: '/spec/updateStrategy/rollingUpdate/partition', value: 1 },
    status: {
      value: { replicas: 3, readyReplicas: 1, availableReplicas: 0, conditions: [condition] },
      pointer: '/readyReplicas',
    },
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
    // Nothing else of such an event may change.
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
  'batch/v1 CronJob': {
    manifest: (namespace, name) => ({
      metadata: meta(namespace, name),
      spec: {
        schedule: '0 0 1 1 *',
        jobTemplate: { spec: { template: { spec: { restartPolicy: 'Never', containers } } } },
      },
    }),
    edit: { pointer: '/spec/schedule', value: '@daily' },
    status: { value: { active: [{ kind: 'Job', name: 'contract' }] }, pointer: '/active/0/name' },
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
  'policy/v1 PodDisruptionBudget': {
    manifest: (namespace, name) => ({
      metadata: meta(namespace, name),
      spec: { selector: { matchLabels: { app: name } }, minAvailable: '50%' },
    }),
    edit: { pointer: '/spec/minAvailable', value: 2 },
    status: {
      value: {
        currentHealthy: 1,
        desiredHealthy: 2,
        disruptionsAllowed: 0,
        expectedPods: 3,
        disruptedPods: { web: time },
        conditions: [condition],
      },
      pointer: '/expectedPods',
    },
  },
  'scheduling.k8s.io/v1 PriorityClass': {
    manifest: (_namespace, name) => ({
      metadata: clusterMeta(name),
      value: 5,
      description: 'one',
    }),
    edit: { pointer: '/description', value: 'two' },
  },
  'rbac.authorization.k8s.io/v1 Role': {
    manifest: (namespace, name) => ({ metadata: meta(namespace, name), rules }),
    edit: { pointer: '/rules/0/verbs/0', value: 'watch' },
  },
  'rbac.authorization.k8s.io/v1 RoleBinding': {
    manifest: (namespace, name) => ({ metadata: meta(namespace, name), subjects, roleRef }),
    edit: { pointer: '/subjects/0/name', value: 'bob' },
  },
  'rbac.authorization.k8s.io/v1 ClusterRole': {
    manifest: (_namespace, name) => ({
      metadata: clusterMeta(name),
      aggregationRule: { clusterRoleSelectors: [{ matchLabels: { 'example.com/gather': 'yes' } }] },
      rules: [...rules, { nonResourceURLs: ['/metrics'], verbs: ['get'] }],
    }),
    edit: { pointer: '/rules/1/nonResourceURLs/0', value: '/logs/*' },
  },
  'rbac.authorization.k8s.io/v1 ClusterRoleBinding': {
    manifest: (_namespace, name) => ({ metadata: clusterMeta(name), subjects, roleRef }),
    edit: { pointer: '/subjects/0/name', value: 'bob' },
  },
  'certificates.k8s.io/v1 CertificateSigningRequest': {
    manifest: (_namespace, name) => ({
      metadata: { ...clusterMeta(name), annotations: { purpose: 'one' } },
      spec: { request: signingRequest, signerName: 'example.com/signer', usages: ['client auth'] },
    }),
    edit: { pointer: '/metadata/annotations/purpose', value: 'two' },
    status: { value: { conditions: [{ ...condition, type: 'Failed' }] }, pointer: '/conditions/0/message' },
  },
  'flowcontrol.apiserver.k8s.io/v1 FlowSchema': {
    manifest: (_namespace, name) => ({
      metadata: clusterMeta(name),
      spec: {
        matchingPrecedence: 500,
        priorityLevelConfiguration: { name: 'exempt' },
        rules: [
          {
            subjects: [{ kind: 'User', user: { name: 'ann' } }],
            nonResourceRules: [{ verbs: ['get'], nonResourceURLs: ['/metrics'] }],
          },
        ],
      },
    }),
    edit: { pointer: '/spec/matchingPrecedence', value: 600 },
    status: { value: { conditions: [condition] }, pointer: '/conditions/0/message' },
  },
  'flowcontrol.apiserver.k8s.io/v1 PriorityLevelConfiguration': {
    manifest: (_namespace, name) => ({
      metadata: clusterMeta(name),
      spec: {
        type: 'Limited',
        limited: { nominalConcurrencyShares: 5, limitResponse: { type: 'Reject' } },
      },
    }),
    edit: { pointer: '/spec/limited/nominalConcurrencyShares', value: 7 },
    status: { value: { conditions: [condition] }, pointer: '/conditions/0/message' },
  },
  ...extensionSamples,
  ...platformSamples,
};

/** Kinds whose names follow from their content, or that the client lacks: for tests that need samples alone. */
export const sampledKinds = (): readonly LibraryKind[] => [
  row(ApiregistrationV1Api, 'apiregistration.k8s.io/v1', 'APIService', 'apiservices', false),
  row(
    ApiextensionsV1Api,
    'apiextensions.k8s.io/v1',
    'CustomResourceDefinition',
    'customresourcedefinitions',
    false,
  ),
  ...policyKinds('MutatingAdmissionPolicy'),
  row(NetworkingV1Api, 'networking.k8s.io/v1', 'IPAddress', 'ipaddresses', false),
];

const policyKinds = (kind: string): LibraryKind[] =>
  [
    [kind, `${kind.toLowerCase().slice(0, -1)}ies`] as const,
    [`${kind}Binding`, `${kind.toLowerCase()}bindings`] as const,
  ].map(([name, segment]) =>
    row(AdmissionregistrationV1Api, 'admissionregistration.k8s.io/v1', name, segment, false),
  );

const answeredWhole = [
  'Pod',
  'Service',
  'Namespace',
  'PersistentVolume',
  'PersistentVolumeClaim',
  'PodTemplate',
  'ResourceQuota',
  'ServiceAccount',
  'CSIDriver',
  'CSINode',
  'DeviceClass',
  'ResourceClaim',
  'ResourceClaimTemplate',
  'ResourceSlice',
  'StorageClass',
  'VolumeAttachment',
  'VolumeAttributesClass',
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
  ...policyKinds('ValidatingAdmissionPolicy'),
  row(AppsV1Api, 'apps/v1', 'ControllerRevision', 'controllerrevisions'),
  row(AppsV1Api, 'apps/v1', 'DaemonSet', 'daemonsets'),
  row(AppsV1Api, 'apps/v1', 'Deployment', 'deployments'),
  row(AppsV1Api, 'apps/v1', 'ReplicaSet', 'replicasets'),
  row(AppsV1Api, 'apps/v1', 'StatefulSet', 'statefulsets'),
  row(BatchV1Api, 'batch/v1', 'Job', 'jobs'),
  row(BatchV1Api, 'batch/v1', 'CronJob', 'cronjobs'),
  row(AutoscalingV1Api, 'autoscaling/v1', 'HorizontalPodAutoscaler', 'horizontalpodautoscalers'),
  row(AutoscalingV2Api, 'autoscaling/v2', 'HorizontalPodAutoscaler', 'horizontalpodautoscalers'),
  row(NetworkingV1Api, 'networking.k8s.io/v1', 'Ingress', 'ingresses'),
  row(NetworkingV1Api, 'networking.k8s.io/v1', 'IngressClass', 'ingressclasses', false),
  row(NetworkingV1Api, 'networking.k8s.io/v1', 'NetworkPolicy', 'networkpolicies'),
  row(NetworkingV1Api, 'networking.k8s.io/v1', 'ServiceCIDR', 'servicecidrs', false),
  row(DiscoveryV1Api, 'discovery.k8s.io/v1', 'EndpointSlice', 'endpointslices'),
  row(NodeV1Api, 'node.k8s.io/v1', 'RuntimeClass', 'runtimeclasses', false),
  row(StorageV1Api, 'storage.k8s.io/v1', 'CSIDriver', 'csidrivers', false),
  row(StorageV1Api, 'storage.k8s.io/v1', 'CSINode', 'csinodes', false),
  row(StorageV1Api, 'storage.k8s.io/v1', 'CSIStorageCapacity', 'csistoragecapacities'),
  row(StorageV1Api, 'storage.k8s.io/v1', 'StorageClass', 'storageclasses', false),
  row(StorageV1Api, 'storage.k8s.io/v1', 'VolumeAttachment', 'volumeattachments', false),
  row(StorageV1Api, 'storage.k8s.io/v1', 'VolumeAttributesClass', 'volumeattributesclasses', false),
  row(ResourceV1Api, 'resource.k8s.io/v1', 'DeviceClass', 'deviceclasses', false),
  row(ResourceV1Api, 'resource.k8s.io/v1', 'ResourceClaim', 'resourceclaims'),
  row(ResourceV1Api, 'resource.k8s.io/v1', 'ResourceClaimTemplate', 'resourceclaimtemplates'),
  row(ResourceV1Api, 'resource.k8s.io/v1', 'ResourceSlice', 'resourceslices', false),
  row(EventsV1Api, 'events.k8s.io/v1', 'Event', 'events'),
  row(CoordinationV1Api, 'coordination.k8s.io/v1', 'Lease', 'leases'),
  row(
    CertificatesV1Api,
    'certificates.k8s.io/v1',
    'CertificateSigningRequest',
    'certificatesigningrequests',
    false,
  ),
  row(FlowcontrolApiserverV1Api, 'flowcontrol.apiserver.k8s.io/v1', 'FlowSchema', 'flowschemas', false),
  row(
    FlowcontrolApiserverV1Api,
    'flowcontrol.apiserver.k8s.io/v1',
    'PriorityLevelConfiguration',
    'prioritylevelconfigurations',
    false,
  ),
  row(
    AdmissionregistrationV1Api,
    'admissionregistration.k8s.io/v1',
    'MutatingWebhookConfiguration',
    'mutatingwebhookconfigurations',
    false,
  ),
  row(
    AdmissionregistrationV1Api,
    'admissionregistration.k8s.io/v1',
    'ValidatingWebhookConfiguration',
    'validatingwebhookconfigurations',
    false,
  ),
  row(PolicyV1Api, 'policy/v1', 'PodDisruptionBudget', 'poddisruptionbudgets'),
  row(SchedulingV1Api, 'scheduling.k8s.io/v1', 'PriorityClass', 'priorityclasses', false),
  row(RbacAuthorizationV1Api, 'rbac.authorization.k8s.io/v1', 'Role', 'roles'),
  row(RbacAuthorizationV1Api, 'rbac.authorization.k8s.io/v1', 'RoleBinding', 'rolebindings'),
  row(RbacAuthorizationV1Api, 'rbac.authorization.k8s.io/v1', 'ClusterRole', 'clusterroles', false),
  row(
    RbacAuthorizationV1Api,
    'rbac.authorization.k8s.io/v1',
    'ClusterRoleBinding',
    'clusterrolebindings',
    false,
  ),
];

/** A namespace per kind, so that a quota or limit range does not affect pods. */
export const homeOf = ({ segment, apiVersion, namespaced }: LibraryKind): string =>
  namespaced ? `home-${segment}-${apiVersion.replace(/[./]/g, '-')}` : '';
