/**
 * The registry of a cluster and what it is handed: allocators, admission, settings. Everything that a registry is told
 * before the server listens is told here.
 */
import { MutatingPolicies } from '../extensions/policies/mutating-policies.ts';
import { ValidatingPolicies } from '../extensions/policies/validating-policies.ts';
import type { HookClient } from '../extensions/webhooks/hook-client.ts';
import { MutatingWebhooks } from '../extensions/webhooks/mutating-webhooks.ts';
import { ValidatingWebhooks } from '../extensions/webhooks/validating-webhooks.ts';
import type { AdmissionChain } from '../registry/admission/admission.ts';
import { admissionChain } from '../registry/admission/plugins.ts';
import { parseIPRanges } from '../registry/allocation/ip-allocator.ts';
import { ServiceAllocator } from '../registry/allocation/service-allocation.ts';
import { Registry } from '../registry/registry.ts';
import { warnUnenforced } from '../registry/verbs/policy-enforcement.ts';
import type { View } from '../registry/view/view.ts';
import type { Store } from '../store/store.ts';
import { defaultOf } from './options/option.ts';
import { protectionOptions } from './options/rights.ts';
import { servingOptions } from './options/serving.ts';
import { configureAdmission } from './protection.ts';
import { type RangeInForce, rangeInForce } from './service-range.ts';
import type { ClusterSettings } from './settings.ts';
import { StartError } from './shared/start-error.ts';

export interface RegistryParts {
  readonly registry: Registry;
  readonly services: ServiceAllocator;
  /** Where services get their addresses from. */
  readonly range: RangeInForce;
}

export async function makeRegistry(
  settings: ClusterSettings,
  store: Store,
  view: View,
  hooks: HookClient,
): Promise<RegistryParts> {
  const { kinds, chance, finalizing, tokens, instruments } = settings;
  const range = rangeInForce(view, settings.addressRange);
  const ranges = range.refused
    ? { ...settings.ranges, addresses: parseIPRanges(range.text)! }
    : settings.ranges;
  const services = new ServiceAllocator(view, ranges);
  const allocators = [services, services.addresses];
  const registry = new Registry(store, view, kinds, chance, allocators, finalizing, tokens);
  if (instruments) registry.timers = instruments.timers;
  instruments?.attach(registry);
  await configure(registry, settings, hooks);
  return { registry, services, range };
}

/** Sets the fields of the registry that settings decide about. */
async function configure(registry: Registry, settings: ClusterSettings, hooks: HookClient): Promise<void> {
  const { options, apiServer } = settings;
  registry.admission = admissionOf(registry, settings, hooks).guardedBy(warnUnenforced);
  registry.looseNamespaces = options.admission?.disabled?.includes('NamespaceLifecycle') ?? false;
  registry.managedFields = options.managedFields ?? defaultOf(servingOptions.managedFields);
  registry.tolerationSeconds = {
    notReady: apiServer.notReadyTolerationSeconds ?? registry.tolerationSeconds.notReady,
    unreachable: apiServer.unreachableTolerationSeconds ?? registry.tolerationSeconds.unreachable,
  };
  registry.allowance = {
    privileged: options.allowPrivileged ?? defaultOf(protectionOptions.allowPrivileged),
  };
  await configureAdmission(registry, options.admissionConfigFile);
}

function admissionOf(registry: Registry, { options }: ClusterSettings, hooks: HookClient): AdmissionChain {
  try {
    return admissionChain(options.admission, {
      mutating: [new MutatingPolicies(registry), new MutatingWebhooks(registry, hooks)],
      validating: [new ValidatingPolicies(registry), new ValidatingWebhooks(registry, hooks)],
    });
  } catch (error) {
    throw new StartError((error as Error).message);
  }
}
