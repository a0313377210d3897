/** The requests that create the sandbox of a pod and its containers. */
import type { Pod, SELinuxOptions } from '../../../api/generated/types.ts';
import {
  cpuPeriod,
  type EngineLimits,
  engineLimits,
  oomScore,
  sandboxOomScore,
} from '../engine/container-limits.ts';
import type { ContainerRights } from '../engine/container-rights.ts';
import { allMounts } from '../engine/engine-mounts.ts';
import type { NewRun } from '../engine/engine-pod.ts';
import { containerLabels, labels, type Owner, sandboxLabels } from '../engine/pod-identity.ts';
import type { Mount } from '../runtime.ts';

const shmBytes = 64 * 1024 * 1024;
const log = { Type: 'json-file', Config: { 'max-size': '10m', 'max-file': '5' } };
const neverRestarted = { Name: 'no' };

/**
 * How a sandbox is connected: not at all, because the agent does it; by the engine; or by sharing the machine's
 * network.
 */
export type SandboxNetwork = 'none' | 'bridge' | 'published' | 'host';

export interface SandboxParts {
  readonly owner: Owner;
  readonly pod: Pod;
  readonly attempt: number;
  readonly image: string;
  readonly network: SandboxNetwork;
  readonly hostname: string | undefined;
  /** Whether the agent may set a negative OOM score. */
  readonly lowScores: boolean;
}

export function sandboxBody(parts: SandboxParts): object {
  const { owner, pod, attempt, image, network, hostname, lowScores } = parts;
  const { hostIPC, securityContext } = pod.spec ?? {};
  const sysctls = (securityContext?.sysctls ?? []).map(({ name = '', value = '' }) => [name, value]);
  const ports = network === 'published' ? portKeys(pod) : [];
  return {
    ...(hostname === undefined || network === 'host' ? {} : { Hostname: hostname }),
    Image: image,
    Labels: sandboxLabels(owner, pod, attempt),
    ExposedPorts: Object.fromEntries(ports.map((key) => [key, {}])),
    HostConfig: {
      NetworkMode: network === 'published' ? 'bridge' : network,
      ...(network === 'host' ? { UTSMode: 'host' } : {}),
      PortBindings: Object.fromEntries(ports.map((key) => [key, [{ HostIp: '127.0.0.1', HostPort: '' }]])),
      // Podman refuses a size of shared memory when the machine's is used.
      ...(hostIPC ? { IpcMode: 'host' } : { IpcMode: 'shareable', ShmSize: shmBytes }),
      CpuShares: 2,
      OomScoreAdj: lowScores ? sandboxOomScore : 0,
      SecurityOpt: ['no-new-privileges'],
      Sysctls: Object.fromEntries(sysctls),
      LogConfig: log,
      RestartPolicy: neverRestarted,
    },
  };
}

/** The ports that containers declare, such as `80/tcp`. */
const portKeys = ({ spec }: Pod): string[] => [
  ...new Set(
    (spec?.containers ?? []).flatMap(({ ports = [] }) =>
      ports.map(({ containerPort, protocol = 'TCP' }) => `${containerPort}/${protocol.toLowerCase()}`),
    ),
  ),
];

export interface ContainerParts extends NewRun {
  readonly owner: Owner;
  /** The host name; needed because Podman gives every container its own. */
  readonly hostname: string | undefined;
  readonly lowScores: boolean;
}

export function containerBody(parts: ContainerParts): object {
  const { owner, launch, rights, target, facts, hostname, lowScores } = parts;
  const sandbox = parts.sandbox.id;
  const { pod, container, attempt, command, env, workingDir, image } = launch;
  const { hostNetwork, hostPID, hostIPC, shareProcessNamespace } = pod.spec ?? {};
  const score = oomScore(pod, container);
  return {
    ...(hostname === undefined ? {} : { Hostname: hostname }),
    Image: image!.engine!.id,
    // The whole command line: setting an entry point clears the image's arguments.
    Entrypoint: command,
    Cmd: [],
    Env: Object.entries(env).map(([name, value]) => `${name}=${value}`),
    WorkingDir: workingDir ?? '',
    User: rights.user ?? '',
    OpenStdin: container.stdin === true,
    StdinOnce: container.stdinOnce === true,
    Tty: container.tty === true,
    ...(container.lifecycle?.stopSignal ? { StopSignal: container.lifecycle.stopSignal } : {}),
    Healthcheck: { Test: ['NONE'] },
    Labels: {
      ...containerLabels(owner, pod, container, attempt, image!.engine!.shownId),
      [labels.sandbox]: sandbox,
    },
    HostConfig: {
      NetworkMode: `container:${sandbox}`,
      IpcMode: hostIPC ? 'host' : `container:${sandbox}`,
      PidMode: hostPID
        ? 'host'
        : target !== undefined
          ? `container:${target}`
          : shareProcessNamespace
            ? `container:${sandbox}`
            : '',
      UTSMode: hostNetwork ? 'host' : '',
      Mounts: allMounts(launch, facts.terminationFile).map(mountBody),
      ...limitsBody(engineLimits(container)),
      OomScoreAdj: lowScores ? score : Math.max(0, score),
      ...rightsBody(
        rights,
        container.securityContext?.seLinuxOptions ?? pod.spec?.securityContext?.seLinuxOptions,
      ),
      LogConfig: log,
      RestartPolicy: neverRestarted,
    },
  };
}

/** Limits in Docker's form. The limit of memory with swap equals that of memory: containers get no swap. */
export function limitsBody({ cpuShares, cpuQuota, memoryBytes }: EngineLimits): object {
  return {
    CpuShares: cpuShares,
    CpuPeriod: cpuPeriod,
    CpuQuota: cpuQuota,
    Memory: memoryBytes,
    MemorySwap: memoryBytes,
  };
}

function rightsBody(rights: ContainerRights, seLinux: SELinuxOptions | undefined): object {
  const { seccomp, appArmor, unmasked } = rights;
  const label = Object.entries(seLinux ?? {}).map(([name, value]) => `label=${name}:${value}`);
  return {
    Privileged: rights.privileged,
    ReadonlyRootfs: rights.readOnlyRoot,
    CapAdd: rights.addedCapabilities,
    CapDrop: rights.droppedCapabilities,
    GroupAdd: rights.groups.map(String),
    SecurityOpt: [
      ...(rights.noNewPrivileges ? ['no-new-privileges'] : []),
      ...(seccomp === 'default'
        ? []
        : [`seccomp=${seccomp === 'unconfined' ? 'unconfined' : seccomp.profile}`]),
      ...(appArmor ? [`apparmor=${appArmor}`] : []),
      ...label,
    ],
    ...(unmasked ? { MaskedPaths: [], ReadonlyPaths: [] } : {}),
  };
}

const propagations: Partial<Record<string, string>> = { HostToContainer: 'rslave', Bidirectional: 'rshared' };

const mountBody = ({ path, source, readOnly, propagation = '' }: Mount): object => ({
  Type: 'bind',
  Source: source,
  Target: path,
  ReadOnly: readOnly,
  BindOptions: { Propagation: propagations[propagation] ?? 'rprivate' },
});
