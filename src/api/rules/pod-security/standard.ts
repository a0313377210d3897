/** The pod security standards: which checks each level has, by version, and what they find in a pod. */
import type { ObjectMeta, PodSpec } from '../../generated/types.ts';
import { CheckedPod, type PodCheck, type Violation } from './check.ts';
import { hostNamespaces, hostPathVolumes, hostPorts, hostProbes, windowsHostProcess } from './host-checks.ts';
import { minorOf, type PolicyLevel } from './policy.ts';
import {
  allowPrivilegeEscalation,
  capabilitiesBaseline,
  capabilitiesRestricted,
  privileged,
  procMount,
  procMountRestricted,
} from './privilege-checks.ts';
import {
  appArmorProfile,
  seccompBaseline,
  seccompRestricted,
  seLinuxOptions,
  sysctls,
} from './profile-checks.ts';
import { restrictedVolumes, runAsNonRoot, runAsUser } from './restriction-checks.ts';

/** In the order of their ids, level by level. */
export const podChecks: readonly PodCheck[] = [
  appArmorProfile,
  capabilitiesBaseline,
  hostNamespaces,
  hostPathVolumes,
  hostPorts,
  hostProbes,
  privileged,
  procMount,
  seLinuxOptions,
  seccompBaseline,
  sysctls,
  windowsHostProcess,
  allowPrivilegeEscalation,
  capabilitiesRestricted,
  procMountRestricted,
  restrictedVolumes,
  runAsNonRoot,
  runAsUser,
  seccompRestricted,
];
const baseline = podChecks.filter(({ level }) => level === 'baseline');
const restricted = podChecks.filter(({ level }) => level === 'restricted');

function checksOf({ level }: PolicyLevel, minor: number): readonly PodCheck[] {
  const asked = ({ since }: PodCheck): boolean => since <= minor;
  if (level === 'privileged') return [];
  if (level === 'baseline') return baseline.filter(asked);
  const strict = restricted.filter(asked);
  const replaced = new Set(strict.map(({ replaces }) => replaces));
  return [...baseline.filter((check) => asked(check) && !replaced.has(check.id)), ...strict];
}

/** What a pod, or a template of one, has that a level forbids. */
export function violations(
  policy: PolicyLevel,
  metadata: ObjectMeta | undefined,
  spec: PodSpec | undefined,
): Violation[] {
  if (policy.level === 'privileged') return [];
  const pod = new CheckedPod(metadata, spec ?? {});
  const minor = minorOf(policy.version);
  return checksOf(policy, minor).flatMap((check) => check.run(pod, minor) ?? []);
}

/** `host namespaces (hostPID=true), privileged (…)`. */
export const violationsText = (found: readonly Violation[]): string =>
  found.map(({ reason, detail }) => `${reason} (${detail})`).join(', ');

/** The same without details, for many pods at once. */
export const reasonsText = (found: readonly Violation[]): string =>
  found.map(({ reason }) => reason).join(', ');
