/** The admission plugins in the order in which they run, and which of them a server uses. */

import { AdmissionChain, type AdmissionPlugin } from '../admission-chain.ts';
import type { AdmissionParts } from '../writing.ts';
import { adminAccess } from './admin-access.ts';
import { certificateApproval } from './certificate-approval.ts';
import { certificateSigning } from './certificate-signing.ts';
import { certificateSubjectRestriction } from './certificate-subject-restriction.ts';
import { claimResize } from './claim-resize.ts';
import { defaultIngressClass } from './default-ingress-class.ts';
import { defaultStorageClass } from './default-storage-class.ts';
import { defaultTolerations, fiveMinutes, type TolerationSeconds } from './default-tolerations.ts';
import { limitRanger } from './limit-ranger.ts';
import { namespaceLifecycle } from './namespace-lifecycle.ts';
import { nodeRestriction } from './node-restriction.ts';
import { podSecurity } from './pod-security.ts';
import { openPodSecurity, type PodSecuritySettings } from './pod-security-settings.ts';
import { podTopologyLabels } from './pod-topology-labels.ts';
import { priority } from './priority.ts';
import { QuotaAccounts } from './quota-accounts.ts';
import { resourceQuota } from './resource-quota.ts';
import { runtimeClassAdmission } from './runtime-class-admission.ts';
import { serviceAccountAdmission } from './service-account-admission.ts';
import { signingRequestRule } from './signing-requests.ts';
import { storageProtection } from './storage-protection.ts';

/**
 * Plugins that evaluate what users have defined: webhooks and policies. The extensions layer makes them, because it
 * knows how to call webhooks and evaluate expressions.
 */
interface ExtensionPlugins {
  readonly mutating: readonly AdmissionPlugin[];
  readonly validating: readonly AdmissionPlugin[];
}

/** Settings of the plugins. */
export interface PluginSettings {
  readonly extensions?: ExtensionPlugins;
  /** Default: only what labels of namespaces forbid. */
  readonly podSecurity?: PodSecuritySettings | undefined;
  readonly tolerationSeconds?: TolerationSeconds;
  /** Whether pods get the token of their account from a secret, as in Kubernetes 1.1. Default: no. */
  readonly tokenSecrets?: boolean;
  /** The accounts of quota usage. Default: accounts of this chain's own. */
  readonly quotas?: QuotaAccounts;
}

/**
 * All plugins, which run by default, in order: a later one sees the changes of earlier ones. Quota is last, because it
 * counts what will be stored.
 */
const pluginsWith = (
  { registry, authorizer, finalizing }: AdmissionParts,
  {
    extensions: { mutating, validating } = { mutating: [], validating: [] },
    podSecurity: security = openPodSecurity,
    tolerationSeconds = fiveMinutes,
    tokenSecrets = false,
    quotas = new QuotaAccounts(registry),
  }: PluginSettings,
): readonly AdmissionPlugin[] => [
  namespaceLifecycle,
  limitRanger,
  serviceAccountAdmission(tokenSecrets),
  nodeRestriction({ registry, authorizer }),
  priority,
  defaultTolerations(tolerationSeconds),
  defaultStorageClass,
  storageProtection(finalizing.protection),
  podSecurity(security),
  claimResize,
  runtimeClassAdmission,
  defaultIngressClass,
  podTopologyLabels,
  ...mutating,
  certificateApproval(authorizer),
  certificateSigning(authorizer),
  certificateSubjectRestriction,
  ...validating,
  resourceQuota(quotas),
];

/**
 * Plugins of kube-apiserver that this server lacks. They may be named as disabled, without effect, but not be enabled.
 */
const foreign = new Set([
  'AlwaysAdmit',
  'AlwaysDeny',
  'AlwaysPullImages',
  'ClusterTrustBundleAttest',
  'DenyServiceExternalIPs',
  'EventRateLimit',
  'ExtendedResourceToleration',
  'ImagePolicyWebhook',
  'LimitPodHardAntiAffinityTopology',
  'NamespaceAutoProvision',
  'NamespaceExists',
  'NodeDeclaredFeatureValidator',
  'OwnerReferencesPermissionEnforcement',
  'PodNodeSelector',
  'PodTolerationRestriction',
  'TaintNodesByCondition',
]);

/** Plugins that a minor of Kubernetes runs when its gate is on. */
const gates: Readonly<Record<string, string>> = {
  MutatingAdmissionPolicy: 'MutatingAdmissionPolicy',
  PodSecurity: 'PodSecurity',
  PodTopologyLabels: 'PodTopologyLabelsAdmission',
  ValidatingAdmissionPolicy: 'ValidatingAdmissionPolicy',
};

/** Which plugins run: those that do by default, with some and without others. */
export interface AdmissionOptions {
  /** Names of plugins that run beside those that do by default. */
  readonly enabled?: readonly string[];
  /** Names of plugins that do not run. */
  readonly disabled?: readonly string[];
}

/** Builds the chain. Throws an error with a sentence when a name is unknown, or is in both lists. */
export function admissionChain(
  parts: AdmissionParts,
  { enabled = [], disabled = [] }: AdmissionOptions = {},
  settings: PluginSettings = {},
): AdmissionChain {
  const plugins = pluginsWith(parts, settings);
  const known = plugins.map(({ name }) => name).join(', ');
  for (const name of [...enabled, ...disabled])
    if (!plugins.some((plugin) => plugin.name === name) && !foreign.has(name))
      throw new Error(`there is no admission plugin ${JSON.stringify(name)}; there are ${known}`);
  const both = enabled.find((name) => disabled.includes(name));
  if (both) throw new Error(`the admission plugin ${both} is both enabled and disabled`);
  const missing = enabled.find((name) => foreign.has(name));
  if (missing)
    throw new Error(`the admission plugin ${missing} is not part of this server; there are ${known}`);
  const { minor } = parts.registry.kinds;
  const isThere = (name: string): boolean => !minor || !gates[name] || minor.isOn(gates[name]);
  return new AdmissionChain(
    plugins.filter(({ name }) => !disabled.includes(name) && isThere(name)),
    [signingRequestRule, adminAccess],
  );
}
