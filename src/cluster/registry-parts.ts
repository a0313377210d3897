/** Builds the registry of a cluster, with allocators, admission and settings. */

import type { Authorization } from '../access/authorization/make-authorizer.ts';
import { Tokens } from '../access/tokens/tokens.ts';
import type { HookClient } from '../extensions/calls/hook-client.ts';
import { MutatingPolicies } from '../extensions/policies/mutating-policies.ts';
import { ValidatingPolicies } from '../extensions/policies/validating-policies.ts';
import { MutatingWebhooks } from '../extensions/webhooks/mutating-webhooks.ts';
import { ValidatingWebhooks } from '../extensions/webhooks/validating-webhooks.ts';
import { fiveMinutes } from '../registry/admission/default-tolerations.ts';
import { admissionChain } from '../registry/admission/plugins.ts';
import type { PodSecuritySettings } from '../registry/admission/pod-security-settings.ts';
import { warnUnenforced } from '../registry/admission/policy-enforcement.ts';
import { QuotaAccounts } from '../registry/admission/quota-accounts.ts';
import type { AdmissionChain } from '../registry/admission-chain.ts';
import { parseIPRanges } from '../registry/allocation/ip-allocator.ts';
import { ServiceAllocator } from '../registry/allocation/service-allocation.ts';
import type { Registry } from '../registry/registry.ts';
import { endpointsRemoval } from '../registry/system/endpoints-removal.ts';
import type { View } from '../registry/view/view.ts';
import { type AdmissionParts, makeWriting, type Writing } from '../registry/writing.ts';
import type { Store } from '../store/store.ts';
import { Later } from './later.ts';
import { defaultOf } from './options/option.ts';
import { protectionOptions } from './options/rights.ts';
import { servingOptions } from './options/serving.ts';
import { admissionSettings } from './protection.ts';
import { type RangeInForce, rangeInForce } from './service-range.ts';
import type { ClusterSettings } from './settings.ts';
import { StartError } from './shared/start-error.ts';

export interface OpenRegistry {
  readonly registry: Registry;
  readonly writing: Writing;
  /** The quota accounts that admission keeps. */
  readonly quotas: QuotaAccounts;
  readonly tokens: Tokens;
  readonly services: ServiceAllocator;
  /** The range of service addresses. */
  readonly range: RangeInForce;
}

export async function makeRegistry(
  settings: ClusterSettings,
  store: Store,
  view: View,
  hooks: HookClient,
  /** Undefined: every user may do everything. */
  authorization: Authorization | undefined,
): Promise<OpenRegistry> {
  const { options, kinds, sources, finalizing, instruments } = settings;
  const range = rangeInForce(view, settings.addressRange);
  const ranges = range.refused
    ? { ...settings.ranges, addresses: parseIPRanges(range.text)! }
    : settings.ranges;
  const services = new ServiceAllocator(view, ranges);
  const { podSecurity } = await admissionSettings(options.admissionConfigFile);
  const accounts = new Later<QuotaAccounts>('the registry is being made');
  const writing = makeWriting(store, view, kinds, sources, {
    admission: (made) => {
      const quotas = new QuotaAccounts(made.registry);
      accounts.set(quotas);
      const chain = admissionOf(made, settings, { hooks, podSecurity, quotas }).guardedBy(warnUnenforced);
      return authorization ? chain.guardedBy(authorization.guard) : chain;
    },
    authorizer: authorization?.authorizer,
    allocators: [services, services.addresses],
    removals: [endpointsRemoval],
    finalizing,
    selfLinks: options.like === undefined,
    managedFields: options.managedFields ?? defaultOf(servingOptions.managedFields),
    allowance: { privileged: options.allowPrivileged ?? defaultOf(protectionOptions.allowPrivileged) },
    timers: instruments?.timers,
    onCommit: instruments?.onCommit,
  });
  const { registry } = writing;
  instruments?.attach(writing);
  return {
    registry,
    writing,
    quotas: accounts.part,
    tokens: new Tokens(registry, settings.tokens),
    services,
    range,
  };
}

/** Further parts that plugins are made with, besides the settings of the cluster. */
interface PluginParts {
  readonly hooks: HookClient;
  readonly podSecurity: PodSecuritySettings | undefined;
  readonly quotas: QuotaAccounts;
}

function admissionOf(
  parts: AdmissionParts,
  { options, apiServer }: ClusterSettings,
  { hooks, podSecurity, quotas }: PluginParts,
): AdmissionChain {
  const { registry, authorizer } = parts;
  const { notReadyTolerationSeconds, unreachableTolerationSeconds } = apiServer;
  try {
    return admissionChain(parts, options.admission, {
      extensions: {
        mutating: [
          new MutatingPolicies(registry, authorizer),
          new MutatingWebhooks(registry, authorizer, hooks),
        ],
        validating: [
          new ValidatingPolicies(registry, authorizer),
          new ValidatingWebhooks(registry, authorizer, hooks),
        ],
      },
      podSecurity,
      tolerationSeconds: {
        notReady: notReadyTolerationSeconds ?? fiveMinutes.notReady,
        unreachable: unreachableTolerationSeconds ?? fiveMinutes.unreachable,
      },
      tokenSecrets: options.controllerSettings?.serviceAccountTokenSecrets,
      quotas,
    });
  } catch (error) {
    throw new StartError((error as Error).message);
  }
}
