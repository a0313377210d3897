/** Checks of profiles of the kernel: AppArmor, seccomp, SELinux, sysctls. */
import type { SELinuxOptions } from '../../generated/types.ts';
import { appArmorPrefix } from '../pod/app-armor.ts';
import {
  type CheckedPod,
  containersText,
  type PodCheck,
  plural,
  quoted,
  settersText,
  sortedSet,
  systemsKnownSince,
  type Violation,
} from './check.ts';

const confining = new Set(['RuntimeDefault', 'Localhost']);

const isConfinedByAnnotation = (value: string): boolean =>
  value === '' || value === 'runtime/default' || value.startsWith('localhost/');

export const appArmorProfile: PodCheck = {
  id: 'appArmorProfile',
  level: 'baseline',
  since: 0,
  run(pod) {
    const types: string[] = [];
    const isBad = (profile: { readonly type?: string } | undefined): boolean => {
      if (!profile || confining.has(profile.type ?? '')) return false;
      types.push(profile.type ?? '');
      return true;
    };
    const podSets = isBad(pod.security.appArmorProfile);
    const names = pod.named((context) => isBad(context.appArmorProfile));
    const annotated = Object.entries(pod.annotations)
      .filter(([key, value]) => key.startsWith(appArmorPrefix) && !isConfinedByAnnotation(value))
      .map(([key, value]) => `${key}=${JSON.stringify(value)}`)
      .sort();
    const setters = [
      settersText(podSets, names),
      annotated.length ? plural('annotation', 'annotations', annotated.length) : '',
    ].filter(Boolean);
    if (setters.length === 0) return undefined;
    const values = [...sortedSet(types), ...annotated];
    return {
      reason: plural('forbidden AppArmor profile', 'forbidden AppArmor profiles', values.length),
      detail: `${setters.join(' and ')} must not set AppArmor profile type to ${quoted(values)}`,
    };
  },
};

/** Profiles were annotations before they were fields. */
const seccompFieldsSince = 19;
const seccompPod = 'seccomp.security.alpha.kubernetes.io/pod';
const seccompContainer = 'container.seccomp.security.alpha.kubernetes.io/';

export const seccompBaseline: PodCheck = {
  id: 'seccompProfile_baseline',
  level: 'baseline',
  since: 0,
  run: (pod, minor) => (minor < seccompFieldsSince ? seccompAnnotations(pod) : unconfined(pod)),
};

function seccompAnnotations({ annotations, containers }: CheckedPod): Violation | undefined {
  const keys = [seccompPod, ...containers.map(({ name }) => seccompContainer + name)];
  const bad = keys
    .filter((key) => Object.hasOwn(annotations, key) && !isSeccompProfile(annotations[key]!))
    .map((key) => `${key}=${JSON.stringify(annotations[key])}`);
  if (bad.length === 0) return undefined;
  return {
    reason: 'seccompProfile',
    detail: `${plural('forbidden annotation', 'forbidden annotations', bad.length)} ${sortedSet(bad).join(', ')}`,
  };
}

const isSeccompProfile = (value: string): boolean =>
  value === 'runtime/default' || value === 'docker/default' || value.startsWith('localhost/');

/** Profiles that are set, and do not confine. */
function unconfined(pod: CheckedPod): Violation | undefined {
  const types: string[] = [];
  const isBad = (profile: { readonly type?: string } | undefined): boolean => {
    if (!profile || confining.has(profile.type ?? '')) return false;
    types.push(profile.type ?? '');
    return true;
  };
  const podSets = isBad(pod.security.seccompProfile);
  const names = pod.named((context) => isBad(context.seccompProfile));
  if (!podSets && names.length === 0) return undefined;
  const what = `must not set securityContext.seccompProfile.type to ${quoted(sortedSet(types))}`;
  return { reason: 'seccompProfile', detail: `${settersText(podSets, names)} ${what}` };
}

export const seccompRestricted: PodCheck = {
  id: 'seccompProfile_restricted',
  level: 'restricted',
  since: seccompFieldsSince,
  replaces: 'seccompProfile_baseline',
  run(pod, minor) {
    if (minor >= systemsKnownSince && pod.isWindows) return undefined;
    const bad = unconfined(pod);
    if (bad || pod.security.seccompProfile) return bad;
    const names = pod.named((context) => !context.seccompProfile);
    if (names.length === 0) return undefined;
    return {
      reason: 'seccompProfile',
      detail: `pod or ${containersText(names)} must set securityContext.seccompProfile.type to "RuntimeDefault" or "Localhost"`,
    };
  },
};

const containerTypes = new Set(['', 'container_t', 'container_init_t', 'container_kvm_t']);
const engineType = 'container_engine_t';
const engineTypeSince = 31;

export const seLinuxOptions: PodCheck = {
  id: 'seLinuxOptions',
  level: 'baseline',
  since: 0,
  run(pod, minor) {
    const types: string[] = [];
    let isUserSet = false;
    let isRoleSet = false;
    const isBad = ({ type = '', user, role }: SELinuxOptions = {}): boolean => {
      const isTypeBad = !containerTypes.has(type) && !(type === engineType && minor >= engineTypeSince);
      if (isTypeBad) types.push(type);
      if (user) isUserSet = true;
      if (role) isRoleSet = true;
      return isTypeBad || Boolean(user) || Boolean(role);
    };
    const podSets = isBad(pod.security.seLinuxOptions);
    const names = pod.named((context) => isBad(context.seLinuxOptions));
    if (!podSets && names.length === 0) return undefined;
    const all = sortedSet(types);
    const what = [
      ...(all.length ? [`${plural('type', 'types', all.length)} ${quoted(all)}`] : []),
      ...(isUserSet ? ['user may not be set'] : []),
      ...(isRoleSet ? ['role may not be set'] : []),
    ].join('; ');
    return {
      reason: 'seLinuxOptions',
      detail: `${settersText(podSets, names)} set forbidden securityContext.seLinuxOptions: ${what}`,
    };
  },
};

/** The version from which on each harmless sysctl is allowed. */
const sysctlVersions: ReadonlyMap<string, number> = new Map([
  ['kernel.shm_rmid_forced', 0],
  ['net.ipv4.ip_local_port_range', 0],
  ['net.ipv4.tcp_syncookies', 0],
  ['net.ipv4.ping_group_range', 0],
  ['net.ipv4.ip_unprivileged_port_start', 0],
  ['net.ipv4.ip_local_reserved_ports', 27],
  ['net.ipv4.tcp_keepalive_time', 29],
  ['net.ipv4.tcp_fin_timeout', 29],
  ['net.ipv4.tcp_keepalive_intvl', 29],
  ['net.ipv4.tcp_keepalive_probes', 29],
  ['net.ipv4.tcp_rmem', 32],
  ['net.ipv4.tcp_wmem', 32],
]);

export const sysctls: PodCheck = {
  id: 'sysctls',
  level: 'baseline',
  since: 0,
  run({ security }, minor) {
    const names = (security.sysctls ?? [])
      .map(({ name = '' }) => name)
      .filter((name) => {
        const since = sysctlVersions.get(name);
        return since === undefined || minor < since;
      });
    return names.length ? { reason: 'forbidden sysctls', detail: names.join(', ') } : undefined;
  },
};
