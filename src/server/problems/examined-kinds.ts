/** The kinds that are examined, each by a function that knows what can go wrong with it. */
import type { Kind } from '../../api/kind/kind.ts';
import { secretFindings, webhookAuthorityFindings } from './certificate-findings.ts';
import {
  apiServiceFindings,
  attachmentFindings,
  claimFindings,
  customFindings,
  definitionFindings,
  namespaceFindings,
  nodeFindings,
  quotaFindings,
  signingFindings,
  volumeFindings,
} from './cluster-findings.ts';
import type { Examine } from './finding.ts';
import { podFindings } from './pod-findings.ts';
import {
  autoscalerFindings,
  budgetFindings,
  cronJobFindings,
  daemonSetFindings,
  deploymentFindings,
  jobFindings,
  replicaSetFindings,
  serviceFindings,
  statefulSetFindings,
} from './workload-findings.ts';

const byId: Readonly<Record<string, Examine>> = {
  'core/pods': podFindings,
  'apps/deployments': deploymentFindings,
  'apps/replicasets': replicaSetFindings,
  'core/replicationcontrollers': replicaSetFindings,
  'apps/statefulsets': statefulSetFindings,
  'apps/daemonsets': daemonSetFindings,
  'batch/jobs': jobFindings,
  'batch/cronjobs': cronJobFindings,
  'core/services': serviceFindings,
  'autoscaling/horizontalpodautoscalers': autoscalerFindings,
  'policy/poddisruptionbudgets': budgetFindings,
  'core/nodes': nodeFindings,
  'core/namespaces': namespaceFindings,
  'core/persistentvolumeclaims': claimFindings,
  'core/persistentvolumes': volumeFindings,
  'storage.k8s.io/volumeattachments': attachmentFindings,
  'core/resourcequotas': quotaFindings,
  'core/secrets': secretFindings,
  'apiregistration.k8s.io/apiservices': apiServiceFindings,
  'apiextensions.k8s.io/customresourcedefinitions': definitionFindings,
  'certificates.k8s.io/certificatesigningrequests': signingFindings,
  'admissionregistration.k8s.io/validatingwebhookconfigurations': webhookAuthorityFindings,
  'admissionregistration.k8s.io/mutatingwebhookconfigurations': webhookAuthorityFindings,
};

/** How objects of a kind are examined; undefined for kinds with which nothing can go wrong that is known here. */
export const examinerOf = ({ id, custom }: Kind): Examine | undefined => (custom ? customFindings : byId[id]);
