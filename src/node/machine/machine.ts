/** The machine an agent runs on: its capacity, its identity, and whether it is under memory or disk pressure. */

import { createHash } from 'node:crypto';
import { readFile, statfs } from 'node:fs/promises';
import { arch, availableParallelism, hostname, release, totalmem } from 'node:os';
import type { NodeSystemInfo } from '../../api/generated/types.ts';
import { platform } from '../../platform.ts';

/**
 * With less available than this, the node is under pressure and takes no more pods. Kubernetes wants 10 % of
 * the disk free, which few laptops have.
 */
const memoryBytesMin = 100 * 1024 * 1024;
const diskBytesMin = 512 * 1024 * 1024;
const pidsFreeMin = 100;

const goArchitectures: Partial<Record<string, string>> = { x64: 'amd64', ia32: '386' };
const goSystems: Partial<Record<string, string>> = { win32: 'windows' };

export const goArch = (): string => goArchitectures[arch()] ?? arch();
export const goOs = (): string => goSystems[platform.name] ?? platform.name;

export interface Disk {
  readonly capacityBytes: number;
  readonly availableBytes: number;
  readonly inodes: number;
  readonly inodesFree: number;
}

/** The file system that a folder is on; undefined when it cannot be found out. */
export async function diskOf(folder: string): Promise<Disk | undefined> {
  try {
    const { bsize, blocks, bavail, files, ffree } = await statfs(folder);
    return {
      capacityBytes: bsize * blocks,
      availableBytes: bsize * bavail,
      inodes: files,
      inodesFree: ffree,
    };
  } catch {
    return undefined;
  }
}

/** The node's capacity: what all pods together may use. */
export async function machineCapacity(folder: string, maxPods: number): Promise<Record<string, string>> {
  const disk = await diskOf(folder);
  return {
    cpu: String(availableParallelism()),
    memory: `${Math.floor(memoryBytes() / 1024)}Ki`,
    pods: String(maxPods),
    ...(disk ? { 'ephemeral-storage': `${Math.floor(disk.capacityBytes / 1024)}Ki` } : {}),
  };
}

/** The memory this process may use: a cgroup may limit it to less than the machine has. */
export function memoryBytes(): number {
  const limit = process.constrainedMemory?.() ?? 0;
  return limit > 0 ? Math.min(limit, totalmem()) : totalmem();
}

/** What the system says of the machine; read once, because a thousand simulated nodes ask for it. */
let descriptions: Promise<readonly [string, string, string, string]> | undefined;

const readDescriptions = (): Promise<readonly [string, string, string, string]> =>
  Promise.all([
    line('/etc/machine-id'),
    line('/proc/sys/kernel/random/boot_id'),
    line('/sys/class/dmi/id/product_uuid'),
    readFile('/etc/os-release', 'utf8').catch(() => ''),
  ]);

/** `identity` is for simulated nodes: each gets machine ids of its own, derived from it. */
export async function machineInfo(identity?: string): Promise<NodeSystemInfo> {
  descriptions ??= readDescriptions();
  const [machineId, bootId, product, osRelease] = await descriptions;
  const made = createHash('sha256')
    .update(identity ?? hostname())
    .digest('hex')
    .slice(0, 32);
  const machineID = (identity === undefined && machineId) || made;
  const prettyName = /^PRETTY_NAME="?([^"\n]*)"?$/m.exec(osRelease)?.[1];
  return {
    machineID,
    systemUUID: (identity === undefined && product) || asUuid(machineID),
    bootID: bootId || asUuid(made),
    kernelVersion: release(),
    osImage: prettyName || `${platform.name} ${release()}`,
    operatingSystem: goOs(),
    architecture: goArch(),
  };
}

const line = async (path: string): Promise<string> =>
  (await readFile(path, 'utf8').catch(() => '')).trim().slice(0, 100);

const asUuid = (hex: string): string => hex.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12}).*$/, '$1-$2-$3-$4-$5');

export interface Pressure {
  readonly memory: boolean;
  readonly disk: boolean;
  readonly pid: boolean;
}

export const noPressure: Pressure = { memory: false, disk: false, pid: false };

export async function machinePressure(folder: string): Promise<Pressure> {
  const [disk, available, load, pidMax] = await Promise.all([
    diskOf(folder),
    availableMemoryBytes(),
    line('/proc/loadavg'),
    line('/proc/sys/kernel/pid_max'),
  ]);
  const tasks = Number(/\/(\d+) /.exec(load)?.[1] ?? 0);
  return {
    memory: available !== undefined && available < memoryBytesMin,
    disk: disk !== undefined && disk.availableBytes < diskBytesMin,
    pid: Number(pidMax) > 0 && tasks > Number(pidMax) - pidsFreeMin,
  };
}

/** Undefined where the system does not report it. */
export async function availableMemoryBytes(): Promise<number | undefined> {
  const text = await readFile('/proc/meminfo', 'utf8').catch(() => '');
  const kilobytes = /^MemAvailable:\s+(\d+) kB$/m.exec(text)?.[1];
  return kilobytes === undefined ? undefined : Number(kilobytes) * 1024;
}
