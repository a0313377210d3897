/** For tests of every kind: a body that it accepts. */

import type { Kind } from '../../src/api/kind/kind.ts';
import { newKeyPair } from '../../src/pki/key-pair.ts';
import { makeSigningRequest } from '../../src/pki/signing-request.ts';
import { extensionSamples } from '../clients/extension-samples.ts';
import { platformSamples } from '../clients/platform-samples.ts';
import type { Json } from '../support/http.ts';
import { prefixOf, sampleOf } from '../support/made-up.ts';

export const workloadLabels = { app: 'proto' };
const template = { metadata: { labels: workloadLabels }, spec: { containers: [{ name: 'c', image: 'i' }] } };
export const workload = { spec: { selector: { matchLabels: workloadLabels }, template } };
const jobTemplate = { spec: { template: { spec: { ...template.spec, restartPolicy: 'Never' } } } };
const cronJob = { spec: { schedule: '* * * * *', jobTemplate } };
const scaleTargetRef = { apiVersion: 'apps/v1', kind: 'Deployment', name: 'd' };
const autoscaler = { spec: { scaleTargetRef, maxReplicas: 3 } };
const roleRef = { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'r' };
const involved = { kind: 'Pod', name: 'p', namespace: 'default' };

/** What the samples of the contract do not have: other versions, and kinds of later groups. */
const bodies: Readonly<Record<string, Json>> = {
  'apps/v1 ControllerRevision': { revision: 1, data: { a: [1, 'b', { c: null }] } },
  'apps/v1 DaemonSet': workload,
  'apps/v1 Deployment': workload,
  'apps/v1 ReplicaSet': workload,
  'apps/v1 StatefulSet': { spec: { ...workload.spec, serviceName: 's' } },
  'events.k8s.io/v1 Event': {
    eventTime: '2026-01-02T03:04:05.678901Z',
    reportingController: 'example.com/c',
    reportingInstance: 'c-1',
    action: 'Act',
    reason: 'Why',
    type: 'Normal',
    regarding: involved,
  },
  'autoscaling/v2 HorizontalPodAutoscaler': autoscaler,
  'autoscaling/v1 HorizontalPodAutoscaler': autoscaler,
  'batch/v1 Job': jobTemplate,
  'batch/v1 CronJob': cronJob,
  'batch/v1beta1 CronJob': cronJob,
  'certificates.k8s.io/v1 CertificateSigningRequest': {
    spec: {
      request: Buffer.from(makeSigningRequest(newKeyPair(), { commonName: 'c', organizations: [] })).toString(
        'base64',
      ),
      signerName: 'example.com/ca',
      usages: ['client auth'],
    },
  },
  'networking.k8s.io/v1 Ingress': {
    spec: { defaultBackend: { service: { name: 's', port: { number: 80 } } } },
  },
  'flowcontrol.apiserver.k8s.io/v1 FlowSchema': {
    spec: { matchingPrecedence: 500, priorityLevelConfiguration: { name: 'exempt' } },
  },
  'flowcontrol.apiserver.k8s.io/v1 PriorityLevelConfiguration': {
    spec: { type: 'Limited', limited: { limitResponse: { type: 'Reject' } } },
  },
  'rbac.authorization.k8s.io/v1 ClusterRoleBinding': { roleRef },
  'rbac.authorization.k8s.io/v1 RoleBinding': { roleRef },
};

/** A body that the kind accepts. Names of some kinds follow from their content, and only contain this one. */
export function validBody(kind: Kind, name: string): Json {
  const id = `${kind.apiVersion} ${kind.kind}`;
  const sample = extensionSamples[id] ?? platformSamples[id];
  if (sample) return sample.manifest(kind.namespaced ? 'default' : '', name);
  const metadata = { name, labels: workloadLabels };
  return bodies[id] ? { metadata, ...bodies[id] } : sampleOf(kind, name);
}

/** The path of its objects, in the default namespace. */
export const homeOf = (kind: Kind): string =>
  `${prefixOf(kind)}${kind.namespaced ? '/namespaces/default' : ''}/${kind.resource}`;
