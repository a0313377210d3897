/** The requests that create the sandbox of a pod and its containers. */
import type { Pod } from '../../../api/generated/types.ts';
import { cpuPeriod, type EngineLimits, engineLimits, oomScore } from '../engine/container-limits.ts';
import type { ContainerRights } from '../engine/container-rights.ts';
import { allMounts } from '../engine/engine-mounts.ts';
import type { NewRun } from '../engine/engine-pod.ts';
import { containerLabels, type Owner, sandboxLabels } from '../engine/pod-identity.ts';
import type { ContainerConfig, Resources, SandboxConfig } from './cri-messages.ts';

const Namespace = { pod: 0, container: 1, node: 2, target: 3 } as const;
const Profile = { runtimeDefault: 0, unconfined: 1, localhost: 2 } as const;
const Propagation: Partial<Record<string, number>> = { HostToContainer: 1, Bidirectional: 2 };
/** CRI's own numbers of signals; 0 is the signal of the image. */
const Signal: Partial<Record<string, number>> = {
  SIGHUP: 8,
  SIGINT: 10,
  SIGKILL: 13,
  SIGQUIT: 18,
  SIGTERM: 23,
  SIGUSR1: 29,
  SIGUSR2: 30,
};

const below = (folder: string, names: string): string[] =>
  names.split(' ').map((name) => `${folder}/${name}`);

const maskedPaths = [
  ...below(
    '/proc',
    'asound acpi interrupts kcore keys latency_stats timer_list timer_stats sched_debug scsi',
  ),
  '/sys/firmware',
  '/sys/devices/virtual/powercap',
];
const readOnlyPaths = below('/proc', 'bus fs irq sys sysrq-trigger');

export interface SandboxParts {
  readonly owner: Owner;
  readonly pod: Pod;
  readonly attempt: number;
  readonly hostname: string | undefined;
  /** The folder of the pod, which gets its logs. */
  readonly folder: string;
  /** Whether it uses the machine's network. */
  readonly sharesNetwork: boolean;
}

function namespacesOf({ spec }: Pod, sharesNetwork: boolean) {
  const { hostPID, hostIPC, shareProcessNamespace } = spec ?? {};
  return {
    network: sharesNetwork ? Namespace.node : Namespace.pod,
    // Always sent, because the default is one namespace for all processes of the pod.
    pid: hostPID ? Namespace.node : shareProcessNamespace ? Namespace.pod : Namespace.container,
    ipc: hostIPC ? Namespace.node : Namespace.pod,
  };
}

export function sandboxConfig(parts: SandboxParts): SandboxConfig {
  const { owner, pod, attempt, hostname, folder, sharesNetwork } = parts;
  const { metadata, spec } = pod;
  const { initContainers = [], containers = [], securityContext } = spec ?? {};
  const sysctls = (securityContext?.sysctls ?? []).map(({ name = '', value = '' }) => [name, value]);
  return {
    metadata: { name: metadata.name, uid: metadata.uid, namespace: metadata.namespace, attempt },
    // A sandbox with the machine's network has the machine's name, and must not get another.
    hostname: sharesNetwork ? '' : hostname,
    logDirectory: folder,
    labels: sandboxLabels(owner, pod, attempt),
    linux: {
      securityContext: {
        namespaces: namespacesOf(pod, sharesNetwork),
        seLinux: securityContext?.seLinuxOptions,
        privileged: [...initContainers, ...containers].some(
          (one) => one.securityContext?.privileged === true,
        ),
        seccomp: { type: Profile.runtimeDefault },
      },
      sysctls: Object.fromEntries(sysctls),
    },
  };
}

export interface ContainerParts extends NewRun {
  readonly owner: Owner;
  /** Relative to the folder of the pod. */
  readonly logPath: string;
  readonly sharesNetwork: boolean;
  readonly lowScores: boolean;
}

export function containerConfig(parts: ContainerParts): ContainerConfig {
  const { owner, launch, rights, facts, target, logPath, sharesNetwork, lowScores } = parts;
  const { pod, container, attempt, command, env, workingDir, image } = launch;
  const score = oomScore(pod, container);
  return {
    metadata: { name: container.name, attempt },
    image: { image: image!.engine!.id },
    command,
    env: Object.entries(env).map(([key, value]) => ({ key, value })),
    workingDir,
    mounts: allMounts(launch, facts.terminationFile).map(
      ({ path, source, readOnly, propagation = '', image: mounted }) => ({
        path,
        source,
        readOnly,
        propagation: Propagation[propagation],
        ...(mounted ? { image: { image: mounted.id }, imageSubPath: mounted.subPath } : {}),
      }),
    ),
    labels: containerLabels(owner, pod, container, attempt, facts.shownImageId),
    logPath,
    stdin: container.stdin,
    stdinOnce: container.stdinOnce,
    tty: container.tty,
    stopSignal: Signal[container.lifecycle?.stopSignal ?? ''],
    linux: {
      resources: {
        ...resourcesOf(engineLimits(container)),
        oomScore: lowScores ? score : Math.max(0, score),
      },
      securityContext: {
        ...rightsOf(rights),
        namespaces: {
          ...namespacesOf(pod, sharesNetwork),
          ...(target === undefined ? {} : { pid: Namespace.target, targetId: target }),
        },
        seLinux: container.securityContext?.seLinuxOptions ?? pod.spec?.securityContext?.seLinuxOptions,
      },
    },
  };
}

/** Limits in CRI's form. The limit of memory with swap equals that of memory: containers get no swap. */
export const resourcesOf = ({ cpuShares, cpuQuota, memoryBytes }: EngineLimits): Resources => ({
  cpuPeriod,
  cpuQuota,
  cpuShares,
  memoryLimit: memoryBytes,
  memorySwapLimit: memoryBytes,
});

function rightsOf(rights: ContainerRights) {
  const [, name = '', group] = /^([^:]*)(?::(\d+))?$/.exec(rights.user ?? '') ?? [];
  const isNumber = /^\d+$/.test(name);
  const { seccomp, appArmor, unmasked, privileged } = rights;
  const isShown = unmasked || privileged;
  return {
    user: isNumber ? { value: Number(name) } : undefined,
    username: isNumber ? undefined : name,
    group: group === undefined ? undefined : { value: Number(group) },
    groups: rights.groups,
    privileged,
    readOnlyRoot: rights.readOnlyRoot,
    noNewPrivileges: rights.noNewPrivileges,
    capabilities: { add: rights.addedCapabilities, drop: rights.droppedCapabilities },
    seccomp:
      typeof seccomp === 'object'
        ? { type: Profile.localhost, localhostRef: seccomp.path }
        : { type: seccomp === 'default' ? Profile.runtimeDefault : Profile.unconfined },
    appArmor:
      appArmor === undefined
        ? undefined
        : appArmor === 'unconfined'
          ? { type: Profile.unconfined }
          : { type: Profile.localhost, localhostRef: appArmor },
    maskedPaths: isShown ? [] : maskedPaths,
    readOnlyPaths: isShown ? [] : readOnlyPaths,
  };
}
