/** Security contexts: rules for the user and the privileges of a container's and a pod's processes. */
import {
  child,
  duplicate,
  forbidden,
  index,
  invalid,
  notSupported,
  required,
  tooLong,
} from '../../errors/field-error.ts';
import type {
  AppArmorProfile,
  PodSecurityContext,
  PodSpec,
  SeccompProfile,
  SecurityContext,
  Sysctl,
} from '../../generated/types.ts';
import { isRelativePath, isUserId } from '../../values/names.ts';
import { type Findings, problemsOf } from '../shared/findings.ts';

const sysctlCharsMax = 253;
const profileBytesMax = 4095;

const procMounts = ['Default', 'Unmasked'];
const profileTypes = ['Localhost', 'RuntimeDefault', 'Unconfined'];
const sysctlRule = '[a-z0-9]([-_a-z0-9]*[a-z0-9])?([\\./][a-z0-9]([-_a-z0-9]*[a-z0-9])?)*';

/** The refusal of privileged containers, which a server may be started without. */
export const privilegedRefusal = 'disallowed by cluster policy';

/** @param hostUsers whether root in the container is root on the node */
export function* securityContextErrors(context: SecurityContext, path: string, hostUsers: boolean): Findings {
  // The default of a Kubernetes API server.
  if (context.privileged) yield forbidden(child(path, 'privileged'), privilegedRefusal);
  yield* idErrors(context, ['runAsUser', 'runAsGroup'], path);
  const { procMount } = context;
  if (procMount !== undefined && !procMounts.includes(procMount))
    yield notSupported(child(path, 'procMount'), procMount, procMounts);
  if (procMount === 'Unmasked' && hostUsers)
    yield invalid(child(path, 'procMount'), procMount, '`hostUsers` must be false to use `Unmasked`');
  yield* profileErrors(context, path);
  if (context.allowPrivilegeEscalation !== false) return;
  if (context.privileged)
    yield invalid(
      path,
      internalForm(context),
      'cannot set `allowPrivilegeEscalation` to false and `privileged` to true',
    );
  if (context.capabilities?.add?.includes('CAP_SYS_ADMIN'))
    yield invalid(
      path,
      internalForm(context),
      'cannot set `allowPrivilegeEscalation` to false and `capabilities.Add` CAP_SYS_ADMIN',
    );
}

export function* podSecurityErrors(spec: PodSpec, path: string): Findings {
  const context = spec.securityContext ?? {};
  yield* idErrors(context, ['fsGroup', 'runAsUser', 'runAsGroup'], path);
  for (const [i, group] of (context.supplementalGroups ?? []).entries())
    yield* problemsOf(index(child(path, 'supplementalGroups'), i), group, isUserId(group));
  // The error path is inside the security context, where Kubernetes has the field internally.
  if (spec.shareProcessNamespace && spec.hostPID)
    yield invalid(
      child(path, 'shareProcessNamespace'),
      true,
      'ShareProcessNamespace and HostPID cannot both be enabled',
    );
  yield* sysctlErrors(context.sysctls ?? [], child(path, 'sysctls'), spec);
  yield* profileErrors(context, path);
}

function* idErrors<Name extends string>(
  context: Partial<Record<Name, number>>,
  names: readonly Name[],
  path: string,
): Findings {
  for (const name of names) {
    const id = context[name];
    if (id !== undefined) yield* problemsOf(child(path, name), id, isUserId(id));
  }
}

function* profileErrors(context: SecurityContext | PodSecurityContext, path: string): Findings {
  if (context.seccompProfile) yield* seccompErrors(context.seccompProfile, child(path, 'seccompProfile'));
  if (context.appArmorProfile) yield* appArmorErrors(context.appArmorProfile, child(path, 'appArmorProfile'));
}

function* seccompErrors(profile: SeccompProfile, path: string): Findings {
  yield* profileTypeErrors(profile.type, child(path, 'type'), 'seccompProfile');
  const file = profile.localhostProfile;
  const filePath = child(path, 'localhostProfile');
  if (profile.type !== 'Localhost') {
    if (file !== undefined)
      yield invalid(
        filePath,
        { Type: profile.type ?? '', LocalhostProfile: file },
        'can only be set when seccomp type is Localhost',
      );
  } else if (file === undefined) yield required(filePath, 'must be set when seccomp type is Localhost');
  else yield* problemsOf(filePath, file, isRelativePath(file));
}

function* appArmorErrors(profile: AppArmorProfile, path: string): Findings {
  yield* profileTypeErrors(profile.type, child(path, 'type'), 'appArmorProfile');
  const name = profile.localhostProfile;
  const namePath = child(path, 'localhostProfile');
  if (profile.type !== 'Localhost') {
    if (name !== undefined && profileTypes.includes(profile.type ?? ''))
      yield invalid(namePath, name, 'can only be set when AppArmor type is Localhost');
  } else if (!name?.trim()) yield required(namePath, 'must be set when AppArmor type is Localhost');
  else if (name.trim() !== name) yield invalid(namePath, name, 'must not be padded with whitespace');
  else if (Buffer.byteLength(name) > profileBytesMax) yield tooLong(namePath, profileBytesMax);
}

function* profileTypeErrors(type: string | undefined, path: string, field: string): Findings {
  if (!type) yield required(path, `type is required when ${field} is set`);
  else if (!profileTypes.includes(type)) yield notSupported(path, type, profileTypes);
}

function* sysctlErrors(sysctls: readonly Sysctl[], path: string, spec: PodSpec): Findings {
  const seen = new Set<string>();
  for (const [i, { name }] of sysctls.entries()) {
    const namePath = child(index(path, i), 'name');
    if (!name) {
      yield required(namePath);
      continue;
    }
    if (!isSysctlName(name))
      yield invalid(
        namePath,
        name,
        `must have at most ${sysctlCharsMax} characters and match regex ${sysctlRule}`,
      );
    else if (seen.has(name)) yield duplicate(namePath, name);
    seen.add(name);
    // With a host namespace, a sysctl of that namespace would change the node.
    const dotted = name.replaceAll('/', '.');
    if (spec.hostNetwork && dotted.startsWith('net.'))
      yield invalid(namePath, name, "may not be specified when 'hostNetwork' is true");
    if (spec.hostIPC && /^(?:kernel\.(?:shm|msg|sem)|fs\.mqueue\.)/.test(dotted))
      yield invalid(namePath, name, "may not be specified when 'hostIPC' is true");
  }
}

/** Segments joined by dots or slashes, each with a letter or digit at both ends. */
const isSysctlName = (name: string): boolean =>
  name.length <= sysctlCharsMax && !/[^-_./a-z0-9]|^[-_./]|[-_./]$|[-_][./]|[./][-_./]/.test(name);

/** A security context in Kubernetes' error message: printed as a Go struct, with all fields. */
const internalForm = (context: SecurityContext): unknown => ({
  Capabilities: context.capabilities
    ? { Add: context.capabilities.add ?? null, Drop: context.capabilities.drop ?? null }
    : null,
  Privileged: context.privileged ?? null,
  SELinuxOptions: context.seLinuxOptions ?? null,
  WindowsOptions: context.windowsOptions ?? null,
  RunAsUser: context.runAsUser ?? null,
  RunAsGroup: context.runAsGroup ?? null,
  RunAsNonRoot: context.runAsNonRoot ?? null,
  ReadOnlyRootFilesystem: context.readOnlyRootFilesystem ?? null,
  AllowPrivilegeEscalation: context.allowPrivilegeEscalation ?? null,
  ProcMount: context.procMount ?? null,
  SeccompProfile: context.seccompProfile
    ? {
        Type: context.seccompProfile.type ?? '',
        LocalhostProfile: context.seccompProfile.localhostProfile ?? null,
      }
    : null,
  AppArmorProfile: context.appArmorProfile
    ? {
        Type: context.appArmorProfile.type ?? '',
        LocalhostProfile: context.appArmorProfile.localhostProfile ?? null,
      }
    : null,
});
