/** Checks of privileges: capabilities, escalation, privileged containers, masked parts of /proc. */
import {
  type CheckedPod,
  containersText,
  ownUsersSince,
  type PodCheck,
  quoted,
  sortedSet,
  systemsKnownSince,
  type Violation,
} from './check.ts';

/** What container runtimes give by default. */
const defaultCapabilities = new Set([
  'AUDIT_WRITE',
  'CHOWN',
  'DAC_OVERRIDE',
  'FOWNER',
  'FSETID',
  'KILL',
  'MKNOD',
  'NET_BIND_SERVICE',
  'SETFCAP',
  'SETGID',
  'SETPCAP',
  'SETUID',
  'SYS_CHROOT',
]);
const restrictedCapabilities = new Set(['NET_BIND_SERVICE']);

/** The text about containers that add forbidden capabilities; undefined when no container does. */
function addedText(pod: CheckedPod, allowed: ReadonlySet<string>): string | undefined {
  const added: string[] = [];
  const names = pod.named(({ capabilities }) => {
    const own = (capabilities?.add ?? []).filter((name) => !allowed.has(name));
    added.push(...own);
    return own.length > 0;
  });
  if (names.length === 0) return undefined;
  return `${containersText(names)} must not include ${quoted(sortedSet(added))} in securityContext.capabilities.add`;
}

export const capabilitiesBaseline: PodCheck = {
  id: 'capabilities_baseline',
  level: 'baseline',
  since: 0,
  run(pod) {
    const detail = addedText(pod, defaultCapabilities);
    return detail === undefined ? undefined : { reason: 'non-default capabilities', detail };
  },
};

export const capabilitiesRestricted: PodCheck = {
  id: 'capabilities_restricted',
  level: 'restricted',
  since: 22,
  replaces: 'capabilities_baseline',
  run(pod, minor) {
    if (minor >= systemsKnownSince && pod.isWindows) return undefined;
    const keeping = pod.named(({ capabilities }) => !capabilities?.drop?.includes('ALL'));
    const details = [
      keeping.length
        ? `${containersText(keeping)} must set securityContext.capabilities.drop=["ALL"]`
        : undefined,
      addedText(pod, restrictedCapabilities),
    ].filter((text) => text !== undefined);
    return details.length ? { reason: 'unrestricted capabilities', detail: details.join('; ') } : undefined;
  },
};

export const privileged: PodCheck = {
  id: 'privileged',
  level: 'baseline',
  since: 0,
  run(pod) {
    const names = pod.named((context) => context.privileged === true);
    if (names.length === 0) return undefined;
    return {
      reason: 'privileged',
      detail: `${containersText(names)} must not set securityContext.privileged=true`,
    };
  },
};

export const allowPrivilegeEscalation: PodCheck = {
  id: 'allowPrivilegeEscalation',
  level: 'restricted',
  since: 8,
  run(pod, minor) {
    if (minor >= systemsKnownSince && pod.isWindows) return undefined;
    const names = pod.named((context) => context.allowPrivilegeEscalation !== false);
    if (names.length === 0) return undefined;
    return {
      reason: 'allowPrivilegeEscalation != false',
      detail: `${containersText(names)} must set securityContext.allowPrivilegeEscalation=false`,
    };
  },
};

function unmasked(pod: CheckedPod): Violation | undefined {
  const values: string[] = [];
  const names = pod.named(({ procMount }) => {
    if (procMount === undefined || procMount === 'Default') return false;
    values.push(procMount);
    return true;
  });
  if (names.length === 0) return undefined;
  return {
    reason: 'procMount',
    detail: `${containersText(names)} must not set securityContext.procMount to ${quoted(sortedSet(values))}`,
  };
}

export const procMount: PodCheck = {
  id: 'procMount',
  level: 'baseline',
  since: 0,
  run: (pod, minor) => (minor >= ownUsersSince && pod.hasOwnUsers ? undefined : unmasked(pod)),
};

export const procMountRestricted: PodCheck = {
  id: 'procMount_restricted',
  level: 'restricted',
  since: 35,
  replaces: 'procMount',
  run: unmasked,
};
