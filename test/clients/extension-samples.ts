/** Objects of the kinds with which users extend the API, for tests of clients. None of them has an effect on others. */
import type { Sample } from '../contract/samples.ts';

const clusterMeta = (name: string) => ({ name, labels: { contract: name } });
/** A resource that there is not. */
const matchConstraints = {
  resourceRules: [
    { apiGroups: ['none.example'], apiVersions: ['v1'], resources: ['nothing'], operations: ['CREATE'] },
  ],
};
const condition = {
  type: 'Contract',
  status: 'True',
  reason: 'Contract',
  message: 'contract',
  lastTransitionTime: '2026-01-01T00:00:00Z',
};
/** Without rules, it is never called. */
const idleWebhook = {
  name: 'idle.example.com',
  clientConfig: { url: 'https://webhook.example/idle' },
  sideEffects: 'None',
  admissionReviewVersions: ['v1'],
  timeoutSeconds: 5,
};

/** By version and kind. */
export const extensionSamples: Readonly<Record<string, Sample>> = {
  'admissionregistration.k8s.io/v1 MutatingWebhookConfiguration': {
    manifest: (_namespace, name) => ({ metadata: clusterMeta(name), webhooks: [idleWebhook] }),
    edit: { pointer: '/webhooks/0/timeoutSeconds', value: 7 },
  },
  'admissionregistration.k8s.io/v1 ValidatingWebhookConfiguration': {
    manifest: (_namespace, name) => ({ metadata: clusterMeta(name), webhooks: [idleWebhook] }),
    edit: { pointer: '/webhooks/0/timeoutSeconds', value: 7 },
  },
  'admissionregistration.k8s.io/v1 ValidatingAdmissionPolicy': {
    manifest: (_namespace, name) => ({
      metadata: clusterMeta(name),
      spec: { matchConstraints, failurePolicy: 'Ignore', validations: [{ expression: 'true' }] },
    }),
    edit: { pointer: '/spec/failurePolicy', value: 'Fail' },
    status: { value: { conditions: [condition] }, pointer: '/conditions/0/message' },
  },
  'admissionregistration.k8s.io/v1 ValidatingAdmissionPolicyBinding': {
    manifest: (_namespace, name) => ({
      metadata: clusterMeta(name),
      spec: { policyName: 'nobody', validationActions: ['Warn'] },
    }),
    edit: { pointer: '/spec/validationActions/0', value: 'Audit' },
  },
  'admissionregistration.k8s.io/v1 MutatingAdmissionPolicy': {
    manifest: (_namespace, name) => ({
      metadata: clusterMeta(name),
      spec: {
        matchConstraints,
        failurePolicy: 'Ignore',
        reinvocationPolicy: 'Never',
        mutations: [
          {
            patchType: 'JSONPatch',
            jsonPatch: { expression: '[JSONPatch{op: "test", path: "/kind", value: "Thing"}]' },
          },
        ],
      },
    }),
    edit: { pointer: '/spec/failurePolicy', value: 'Fail' },
  },
  'admissionregistration.k8s.io/v1 MutatingAdmissionPolicyBinding': {
    manifest: (_namespace, name) => ({ metadata: clusterMeta(name), spec: { policyName: 'nobody' } }),
    edit: { pointer: '/spec/policyName', value: 'somebody' },
  },
  'apiextensions.k8s.io/v1 CustomResourceDefinition': {
    manifest: (_namespace, name) => ({
      metadata: clusterMeta(`things.${name}.example.com`),
      spec: {
        group: `${name}.example.com`,
        scope: 'Namespaced',
        names: { plural: 'things', singular: 'thing', kind: 'Thing', listKind: 'ThingList' },
        versions: [
          { name: 'v1', served: true, storage: true, schema: { openAPIV3Schema: { type: 'object' } } },
        ],
      },
    }),
    edit: { pointer: '/spec/versions/0/deprecated', value: true },
  },
  'apiregistration.k8s.io/v1 APIService': {
    manifest: (_namespace, name) => ({
      metadata: clusterMeta(`v1.${name}.services.example`),
      spec: {
        group: `${name}.services.example`,
        version: 'v1',
        groupPriorityMinimum: 100,
        versionPriority: 10,
      },
    }),
    edit: { pointer: '/spec/versionPriority', value: 11 },
  },
};
