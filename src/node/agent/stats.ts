/**
 * Statistics of a node and its pods, as kubelets report them: the Summary, and Prometheus metrics. Measured
 * only on request; CPU usage is the difference between two requests.
 */
import { cpus, uptime } from 'node:os';
import type { Pod } from '../../api/generated/types.ts';
import { residentBytes } from '../../platform.ts';
import { availableMemoryBytes, diskOf, memoryBytes } from '../machine/machine.ts';
import type { ContainerUsage } from '../runtime/runtime.ts';

/** Minimum time between two measurements that a rate is computed from. */
const apartMinMs = 1_000;

export interface CpuStats {
  readonly time: string;
  readonly usageNanoCores: number;
  readonly usageCoreNanoSeconds: number;
}

export interface MemoryStats {
  readonly time: string;
  readonly availableBytes?: number;
  readonly usageBytes: number;
  readonly workingSetBytes: number;
  readonly rssBytes: number;
  readonly pageFaults: number;
  readonly majorPageFaults: number;
}

interface FsStats {
  readonly time: string;
  readonly availableBytes: number;
  readonly capacityBytes: number;
  readonly usedBytes: number;
  readonly inodesFree: number;
  readonly inodes: number;
  readonly inodesUsed: number;
}

interface ContainerStats {
  readonly name: string;
  readonly startTime: string;
  readonly cpu: CpuStats;
  readonly memory: MemoryStats;
  readonly rootfs?: FsStats;
  readonly logs?: FsStats;
}

export interface PodStats {
  readonly podRef: { readonly name: string; readonly namespace: string; readonly uid: string };
  readonly startTime: string;
  readonly containers: readonly ContainerStats[];
  readonly cpu: CpuStats;
  readonly memory: MemoryStats;
}

export interface Summary {
  readonly node: {
    readonly nodeName: string;
    readonly startTime: string;
    readonly cpu: CpuStats;
    readonly memory: MemoryStats;
    readonly fs?: FsStats;
    readonly runtime?: { readonly imageFs: FsStats };
  };
  readonly pods: readonly PodStats[];
}

export interface StatsOptions {
  readonly nodeName: string;
  readonly folder: string;
  /** Whether the node is simulated: then it uses what its pods use. */
  readonly simulated: boolean;
  readonly usage: () => Promise<readonly ContainerUsage[]>;
  readonly now: () => number;
  /** The pods of this node. */
  readonly pods: () => readonly Pod[];
}

interface Measured {
  readonly atMs: number;
  readonly nanoseconds: number;
  readonly nanoCores: number;
}

export class NodeStats {
  readonly #startedAtMs: number;
  /** When the machine was started. */
  readonly #bootMs: number;
  #measured = new Map<string, Measured>();

  constructor(private readonly options: StatsOptions) {
    this.#startedAtMs = options.now();
    this.#bootMs = this.#startedAtMs - uptime() * 1000;
  }

  async summary(onlyCpuAndMemory: boolean): Promise<Summary> {
    const { nodeName, folder, now } = this.options;
    const usage = await this.options.usage();
    const [disk, available] = await Promise.all([diskOf(folder), availableMemoryBytes()]);
    const nowMs = now();
    const time = timeText(nowMs);
    const before = this.#measured;
    this.#measured = new Map();
    const speed = (key: string, startedAtMs: number, nanoseconds: number): CpuStats =>
      this.#cpu(before.get(key), key, startedAtMs, nanoseconds, nowMs);
    const fs: FsStats | undefined = disk && {
      time,
      availableBytes: disk.availableBytes,
      capacityBytes: disk.capacityBytes,
      usedBytes: disk.capacityBytes - disk.availableBytes,
      inodesFree: disk.inodesFree,
      inodes: disk.inodes,
      inodesUsed: disk.inodes - disk.inodesFree,
    };
    const shown = onlyCpuAndMemory ? undefined : fs;
    const pods = this.options
      .pods()
      .map((pod) => podStats(pod, usage, time, shown, speed))
      .filter((stats) => stats !== undefined);
    const used = available === undefined ? residentBytes() : memoryBytes() - available;
    return {
      node: {
        nodeName,
        startTime: timeText(this.#startedAtMs),
        ...this.#nodeUse(pods, time, Math.max(0, used), available, speed),
        ...(shown ? { fs: shown, runtime: { imageFs: shown } } : {}),
      },
      pods,
    };
  }

  /** A simulated node uses the sum of what its pods use. */
  #nodeUse(
    pods: readonly PodStats[],
    time: string,
    usedBytes: number,
    availableBytes: number | undefined,
    speed: Speed,
  ): { cpu: CpuStats; memory: MemoryStats } {
    if (this.options.simulated) return { cpu: cpuSum(pods, time), memory: memorySum(pods, time) };
    return {
      cpu: speed('', this.#bootMs, machineNanoseconds()),
      memory: {
        time,
        ...(availableBytes === undefined ? {} : { availableBytes }),
        usageBytes: usedBytes,
        workingSetBytes: usedBytes,
        rssBytes: usedBytes,
        pageFaults: 0,
        majorPageFaults: 0,
      },
    };
  }

  #cpu(
    before: Measured | undefined,
    key: string,
    startedAtMs: number,
    nanoseconds: number,
    atMs: number,
  ): CpuStats {
    const known = before && nanoseconds >= before.nanoseconds ? before : undefined;
    // Two requests in quick succession: reuse the earlier measurement.
    const measured =
      known && atMs - known.atMs < apartMinMs
        ? known
        : { atMs, nanoseconds, nanoCores: speedOf(known, startedAtMs, nanoseconds, atMs) };
    this.#measured.set(key, measured);
    return { time: timeText(atMs), usageNanoCores: measured.nanoCores, usageCoreNanoSeconds: nanoseconds };
  }
}

type Speed = (key: string, startedAtMs: number, nanoseconds: number) => CpuStats;

/** The rate since the last measurement, or since the start. */
function speedOf(
  before: Measured | undefined,
  startedAtMs: number,
  nanoseconds: number,
  atMs: number,
): number {
  const ms = Math.max(1, atMs - (before?.atMs ?? startedAtMs));
  return Math.round(((nanoseconds - (before?.nanoseconds ?? 0)) / ms) * 1000);
}

function podStats(
  { metadata, status }: Pod,
  usage: readonly ContainerUsage[],
  time: string,
  fs: FsStats | undefined,
  speed: Speed,
): PodStats | undefined {
  const { name = '', namespace = '', uid = '' } = metadata;
  const own = usage.filter((one) => one.uid === uid);
  if (!own.length) return undefined;
  const containers = own.map((one): ContainerStats => {
    const startedAtMs = one.startedAt.getTime();
    return {
      name: one.container,
      startTime: timeText(startedAtMs),
      cpu: speed(`${uid}/${one.container}/${startedAtMs}`, startedAtMs, one.cpuNanoseconds),
      memory: {
        time,
        usageBytes: one.rssBytes,
        workingSetBytes: one.rssBytes,
        rssBytes: one.rssBytes,
        pageFaults: one.pageFaults,
        majorPageFaults: one.majorPageFaults,
      },
      ...(fs ? { rootfs: { ...fs, usedBytes: 0 }, logs: { ...fs, usedBytes: one.logBytes } } : {}),
    };
  });
  return {
    podRef: { name, namespace, uid },
    startTime: status?.startTime ?? time,
    containers,
    cpu: cpuSum(containers, time),
    memory: memorySum(containers, time),
  };
}

interface Used {
  readonly cpu: CpuStats;
  readonly memory: MemoryStats;
}

const sum = (parts: readonly Used[], of: (part: Used) => number): number =>
  parts.reduce((total, part) => total + of(part), 0);

const cpuSum = (parts: readonly Used[], time: string): CpuStats => ({
  time,
  usageNanoCores: sum(parts, ({ cpu }) => cpu.usageNanoCores),
  usageCoreNanoSeconds: sum(parts, ({ cpu }) => cpu.usageCoreNanoSeconds),
});

const memorySum = (parts: readonly Used[], time: string): MemoryStats => ({
  time,
  usageBytes: sum(parts, ({ memory }) => memory.usageBytes),
  workingSetBytes: sum(parts, ({ memory }) => memory.workingSetBytes),
  rssBytes: sum(parts, ({ memory }) => memory.rssBytes),
  pageFaults: sum(parts, ({ memory }) => memory.pageFaults),
  majorPageFaults: sum(parts, ({ memory }) => memory.majorPageFaults),
});

/** Processor time that all cores have worked since the machine started. */
function machineNanoseconds(): number {
  let ms = 0;
  for (const { times } of cpus()) ms += times.user + times.nice + times.sys + times.irq;
  return ms * 1_000_000;
}

const timeText = (ms: number): string => new Date(ms).toISOString();

/** The resource metrics of Kubernetes, in Prometheus' text format. */
export function resourceMetrics({ node, pods }: Summary): string {
  const lines: string[] = [];
  const family = (name: string, type: string, help: string, samples: readonly string[]): void => {
    if (samples.length) lines.push(`# HELP ${name} ${help}`, `# TYPE ${name} ${type}`, ...samples);
  };
  const seconds = ({ usageCoreNanoSeconds }: CpuStats): number => usageCoreNanoSeconds / 1e9;
  const podLabels = ({ podRef }: PodStats): string => `namespace="${podRef.namespace}",pod="${podRef.name}"`;
  const each = (name: string, of: (stats: ContainerStats) => number): string[] =>
    pods.flatMap((pod) =>
      pod.containers.map((one) => `${name}{container="${one.name}",${podLabels(pod)}} ${of(one)}`),
    );
  family(
    'container_cpu_usage_seconds_total',
    'counter',
    'Processor time used by the container, in seconds',
    each('container_cpu_usage_seconds_total', ({ cpu }) => seconds(cpu)),
  );
  family(
    'container_memory_working_set_bytes',
    'gauge',
    'Memory used by the container, in bytes',
    each('container_memory_working_set_bytes', ({ memory }) => memory.workingSetBytes),
  );
  family(
    'container_start_time_seconds',
    'gauge',
    'Start of the container, in seconds since 1970',
    each('container_start_time_seconds', ({ startTime }) => Date.parse(startTime) / 1000),
  );
  family('node_cpu_usage_seconds_total', 'counter', 'Processor time used on the node, in seconds', [
    `node_cpu_usage_seconds_total ${seconds(node.cpu)}`,
  ]);
  family('node_memory_working_set_bytes', 'gauge', 'Memory used on the node, in bytes', [
    `node_memory_working_set_bytes ${node.memory.workingSetBytes}`,
  ]);
  family(
    'pod_cpu_usage_seconds_total',
    'counter',
    'Processor time used by the pod, in seconds',
    pods.map((pod) => `pod_cpu_usage_seconds_total{${podLabels(pod)}} ${seconds(pod.cpu)}`),
  );
  family(
    'pod_memory_working_set_bytes',
    'gauge',
    'Memory used by the pod, in bytes',
    pods.map((pod) => `pod_memory_working_set_bytes{${podLabels(pod)}} ${pod.memory.workingSetBytes}`),
  );
  family('resource_scrape_error', 'gauge', '1 if the figures could not be read, 0 otherwise', [
    'resource_scrape_error 0',
  ]);
  return `${lines.join('\n')}\n`;
}
