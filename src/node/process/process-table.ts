/**
 * The processes of this machine: their sessions, their resource usage, and which belong to a container. Read
 * from /proc on Linux, elsewhere from `ps`, which Windows lacks: what processes use is not known there.
 */

import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { platform } from '../../platform.ts';
import { tagOf } from './process-tag.ts';
import type { Spawner } from './spawner.ts';
import { startQuery } from './windows-tree.ts';

/** Number of processes examined before yielding to the event loop: three files are read of each. */
const sliceMax = 10;
/** Unit of times in /proc, whatever the kernel's own tick is. */
const ticksPerSecond = 100;
const nanosecondsPerTick = 1e9 / ticksPerSecond;
/** Maximum size of an environment that is read. */
const environBytesMax = 2 * 1024 * 1024;

export interface ProcessEntry {
  readonly pid: number;
  readonly session: number;
  readonly cpuNanoseconds: number;
  readonly rssBytes: number;
  readonly pageFaults: number;
  readonly majorPageFaults: number;
}

interface Stat extends ProcessEntry {
  readonly dead: boolean;
  readonly parent: number;
  /** In clock ticks since boot. With the pid it identifies a process uniquely. */
  readonly startTicks: string;
}

/** Absent in some chroots, too. */
const hasProc = platform.isLinux && existsSync('/proc/self/stat');

/** All running processes. */
export async function listProcesses(spawner: Spawner): Promise<ProcessEntry[]> {
  if (platform.isWindows) return [];
  if (!hasProc) return parsePs((await spawner.run(['ps', '-axo', psColumns])).stdout);
  const entries: ProcessEntry[] = [];
  await eachPid((pid) => {
    const stat = readStat(pid);
    if (stat && !stat.dead) entries.push(stat);
  });
  return entries;
}

export function bySession(entries: readonly ProcessEntry[]): Map<number, ProcessEntry[]> {
  const sessions = new Map<number, ProcessEntry[]>();
  for (const entry of entries) {
    const members = sessions.get(entry.session);
    if (members) members.push(entry);
    else sessions.set(entry.session, [entry]);
  }
  return sessions;
}

/** The start time, which distinguishes a process from a later one with the same pid; undefined when the process does not exist. */
export async function startOf(pid: number, spawner: Spawner): Promise<string | undefined> {
  if (hasProc) {
    const stat = readStat(pid);
    return stat && !stat.dead ? stat.startTicks : undefined;
  }
  const query = platform.isWindows ? startQuery(pid) : ['ps', '-o', 'lstart=', '-p', String(pid)];
  const text = (await spawner.run(query)).stdout.trim();
  return text || undefined;
}

/** An id that changes with every boot, after which all pids are reused. */
export function bootId(): string {
  try {
    return readFileSync('/proc/sys/kernel/random/boot_id', 'latin1').trim();
  } catch {
    return '';
  }
}

/**
 * Processes of these sessions, processes with the mark, and all their descendants. A process that has left
 * its session is found by its tag; where there are no tags, by its environment or parent.
 */
export async function findProcesses(sessions: ReadonlySet<number>, mark: Mark): Promise<number[]> {
  const found = new Set<number>();
  if (!hasProc) return [];
  const children = new Map<number, number[]>();
  await eachPid((pid) => {
    const stat = readStat(pid);
    if (!stat || stat.dead || pid === process.pid) return;
    const siblings = children.get(stat.parent);
    if (siblings) siblings.push(pid);
    else children.set(stat.parent, [pid]);
    if (sessions.has(stat.session) || isMarked(pid, mark)) found.add(pid);
  });
  for (const pid of found) for (const child of children.get(pid) ?? []) found.add(child);
  return [...found];
}

/** What identifies all processes of a container, or of an agent. */
export interface Mark {
  /** An environment variable: its whole text, or a prefix of it. */
  readonly text: string;
  /** The tag, or a prefix of it; absent where there are no tags. */
  readonly tag?: string | undefined;
  readonly prefix: boolean;
}

export function isMarked(pid: number, { text, tag, prefix }: Mark): boolean {
  if (tag !== undefined) {
    const own = tagOf(pid);
    if (prefix ? own?.startsWith(tag) : own === tag) return true;
  }
  let environ: string;
  try {
    environ = readFileSync(`/proc/${pid}/environ`, 'latin1').slice(0, environBytesMax);
  } catch {
    return false;
  }
  return `\0${environ}`.includes(prefix ? `\0${text}` : `\0${text}\0`);
}

/**
 * Memory of a process, with shared pages divided among their users (PSS); undefined when the system does not
 * report it.
 */
export function proportionalBytes(pid: number): number | undefined {
  try {
    const kib = /^Pss:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/smaps_rollup`, 'latin1'))?.[1];
    return kib === undefined ? undefined : Number(kib) * 1024;
  } catch {
    return undefined;
  }
}

async function eachPid(visit: (pid: number) => void): Promise<void> {
  let visited = 0;
  for (const name of readdirSync('/proc')) {
    if (!/^\d+$/.test(name)) continue;
    visit(Number(name));
    if (++visited % sliceMax === 0) await new Promise((resolve) => setImmediate(resolve));
  }
}

function readStat(pid: number): Stat | undefined {
  try {
    return parseStat(readFileSync(`/proc/${pid}/stat`, 'latin1'));
  } catch {
    return undefined;
  }
}

/** `PID (NAME) STATE PPID PGRP SESSION ...`; the name may contain anything, parentheses too. */
export function parseStat(text: string): Stat {
  const fields = text.slice(text.lastIndexOf(')') + 2).split(' ');
  const number = (index: number): number => Number(fields[index] ?? 0);
  return {
    pid: Number.parseInt(text, 10),
    dead: fields[0] === 'Z' || fields[0] === 'X',
    parent: number(1),
    session: number(3),
    // Its own time, and that of children it has waited for.
    cpuNanoseconds: (number(11) + number(12) + number(13) + number(14)) * nanosecondsPerTick,
    pageFaults: number(7) + number(8),
    majorPageFaults: number(9) + number(10),
    startTicks: fields[19] ?? '',
    rssBytes: number(21) * pageBytes(),
  };
}

let pageSize = 0;

function pageBytes(): number {
  pageSize ||= readPageSize();
  return pageSize;
}

/** The page size from the auxiliary vector, where it is entry 6. */
function readPageSize(): number {
  try {
    const table = readFileSync('/proc/self/auxv');
    for (let at = 0; at + 16 <= table.length; at += 16)
      if (table.readBigUInt64LE(at) === 6n) return Number(table.readBigUInt64LE(at + 8));
  } catch {
    // Not readable: use the common size.
  }
  return 4096;
}

const psColumns = 'pid=,pgid=,rss=,time=';

/** Not every `ps` shows sessions: the process group is used instead. */
export function parsePs(text: string): ProcessEntry[] {
  return text
    .split('\n')
    .map((line) => /^\s*(\d+)\s+(\d+)\s+(\d+)\s+([\d:.-]+)\s*$/.exec(line))
    .filter((parts) => parts !== null)
    .map((parts) => ({
      pid: Number(parts[1]),
      session: Number(parts[2]),
      rssBytes: Number(parts[3]) * 1024,
      cpuNanoseconds: psTime(parts[4]!) * 1e9,
      pageFaults: 0,
      majorPageFaults: 0,
    }));
}

/** `[DAYS-][HOURS:]MINUTES:SECONDS[.HUNDREDTHS]` */
function psTime(text: string): number {
  const [days, clock] = text.includes('-') ? text.split('-') : ['0', text];
  return (clock ?? '').split(':').reduce((sum, part) => sum * 60 + Number(part), 0) + Number(days) * 86_400;
}
