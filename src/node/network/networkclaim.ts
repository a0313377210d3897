/**
 * Claims: which agent of this machine owns which interfaces and namespaces, in one file per agent. An agent that was
 * killed leaves its file behind, and the next agent of the machine finds by it what is to be removed.
 */
import { mkdir, readdir, readFile, readlink, rename, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { wallClock } from '../../clock.ts';
import { bootId, startOf } from '../runtime/processtable.ts';
import type { Spawner } from '../runtime/spawner.ts';

/** Emptied when the machine starts, as are the interfaces. */
const claimFolderDefault = '/run/wherry';
const claimsMax = 1_000;
/** A file that was not finished in this time never will be. */
const writingMaxMs = 60_000;
/** A guard has that long to remove what its agent has left. */
const guardMaxMs = 10_000;
const lookMs = 20;

interface ClaimingProcess {
  readonly pid: number;
  /** With the pid it names a process for good. */
  readonly start: string;
}

interface Claim extends ClaimingProcess {
  /** Cleans up when the other is gone. */
  readonly guard?: ClaimingProcess;
  readonly boot: string;
  /** Where the pid and the interfaces have a meaning. */
  readonly spaces: string;
  /** What is owned, for people who look. */
  readonly owns: Readonly<Record<string, string>>;
}

export class NetworkClaims {
  constructor(
    private readonly spawner: Spawner,
    private readonly folder: string = claimFolderDefault,
  ) {}

  /** Whether a process that lives has claimed this. */
  async isHeld(id: string): Promise<boolean> {
    const claim = await this.#read(`${id}.json`);
    return claim !== undefined && (await this.#isAlive(claim));
  }

  /** What agents have claimed that are gone, their guards as well. */
  async abandoned(): Promise<string[]> {
    const names = (await readdir(this.folder).catch(() => [])).slice(0, claimsMax);
    const found: string[] = [];
    const spaces = await ownSpaces();
    for (const name of names) {
      const [, id, writing] = /^([0-9a-f]{8})\.json(\.new)?$/.exec(name) ?? [];
      if (!id) continue;
      const claim = await this.#read(name);
      if (writing) await this.#dropUnfinished(name, claim);
      // A process of another container cannot be looked for from here.
      else if (claim && claim.spaces === spaces && !(await this.#isAlive(claim))) {
        await this.guarded(id);
        found.push(id);
      }
    }
    return found;
  }

  /** Resolves when nobody is at work any more to remove what a gone agent has left. */
  async guarded(id: string): Promise<void> {
    const { guard, boot } = (await this.#read(`${id}.json`)) ?? {};
    if (!guard || boot !== bootId()) return;
    for (let waitedMs = 0; waitedMs < guardMaxMs; waitedMs += lookMs) {
      if ((await startOf(guard.pid, this.spawner)) !== guard.start) return;
      await new Promise((resolve) => setTimeout(resolve, lookMs));
    }
  }

  async claim(id: string, owns: Readonly<Record<string, string>>, guardPid?: number): Promise<void> {
    const start = (await startOf(process.pid, this.spawner)) ?? '';
    const guardStart = guardPid === undefined ? undefined : await startOf(guardPid, this.spawner);
    const claim: Claim = {
      pid: process.pid,
      start,
      ...(guardStart === undefined ? {} : { guard: { pid: guardPid!, start: guardStart } }),
      boot: bootId(),
      spaces: await ownSpaces(),
      owns,
    };
    const path = this.path(id);
    await mkdir(this.folder, { recursive: true, mode: 0o700 });
    await writeFile(`${path}.new`, `${JSON.stringify(claim)}\n`, { mode: 0o600 });
    await rename(`${path}.new`, path);
  }

  async drop(id: string): Promise<void> {
    for (const path of [this.path(id), `${this.path(id)}.new`]) await rm(path, { force: true });
  }

  path(id: string): string {
    return join(this.folder, `${id}.json`);
  }

  async #dropUnfinished(name: string, claim: Claim | undefined): Promise<void> {
    const path = join(this.folder, name);
    const { mtimeMs } = await stat(path).catch(() => ({ mtimeMs: 0 }));
    const isBeingWritten = claim ? await this.#isAlive(claim) : wallClock() - mtimeMs < writingMaxMs;
    if (!isBeingWritten) await rm(path, { force: true });
  }

  async #isAlive({ pid, start, boot }: Claim): Promise<boolean> {
    return boot === bootId() && (await startOf(pid, this.spawner)) === start;
  }

  async #read(name: string): Promise<Claim | undefined> {
    try {
      const claim = JSON.parse(await readFile(join(this.folder, name), 'utf8')) as Claim;
      return Number.isInteger(claim.pid) && claim.pid > 0 ? claim : undefined;
    } catch {
      return undefined;
    }
  }
}

async function ownSpaces(): Promise<string> {
  const links = ['pid', 'net'].map((name) => readlink(`/proc/self/ns/${name}`).catch(() => ''));
  return (await Promise.all(links)).join(' ');
}
