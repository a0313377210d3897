/**
 * Claims: which agent of this machine owns which interfaces and namespaces, in one file per agent. A killed
 * agent leaves its file behind, which tells the next agent of the machine what to remove.
 */
import { mkdir, readdir, readFile, readlink, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { wallClock } from '../../clock.ts';
import { bootId, startOf } from '../process/process-table.ts';
import { removeUnfinished, replaceFile } from '../process/replaced-file.ts';
import type { Spawner } from '../process/spawner.ts';

/** A tmpfs: emptied at boot, when the interfaces are gone, too. */
const claimFolderDefault = '/run/wherry';
const claimsMax = 1_000;
/** A temporary file older than this was left by a process that died while writing. */
const writingMaxMs = 60_000;
/** Time a guard gets to remove what its agent has left. */
const guardMaxMs = 10_000;
const lookMs = 20;

interface ClaimingProcess {
  readonly pid: number;
  /** Start time of the process: with the pid it identifies a process uniquely. */
  readonly start: string;
}

interface Claim extends ClaimingProcess {
  /** The guard process, which cleans up after the agent. */
  readonly guard?: ClaimingProcess;
  readonly boot: string;
  /** The pid and network namespaces of the agent: pids and interface names only have a meaning in these. */
  readonly spaces: string;
  /** The owned objects, for people who read the file, and for other agents that need a route to its pods. */
  readonly owns: Readonly<Record<string, string>>;
}

export class NetworkClaims {
  constructor(
    private readonly spawner: Spawner,
    private readonly folder: string = claimFolderDefault,
  ) {}

  /** Whether a living process holds this claim. */
  async isHeld(id: string): Promise<boolean> {
    const claim = await this.#read(`${id}.json`);
    return claim !== undefined && (await this.#isAlive(claim));
  }

  /** Ids of claims whose agent and guard are both gone. */
  async abandoned(): Promise<string[]> {
    const names = (await readdir(this.folder).catch(() => [])).slice(0, claimsMax);
    const found: string[] = [];
    const spaces = await ownSpaces();
    for (const name of names) {
      const [, id, writing] = /^\.?([0-9a-f]{8})\.json((?:\.[0-9a-f]{12})?\.new)?$/.exec(name) ?? [];
      if (!id) continue;
      const claim = await this.#read(name);
      if (writing) await this.#dropUnfinished(name, claim);
      // Skip claims made in other namespaces: whether their processes are alive cannot be seen from here.
      else if (claim && claim.spaces === spaces && !(await this.#isAlive(claim))) {
        await this.guarded(id);
        found.push(id);
      }
    }
    return found;
  }

  /** The claims of other living agents of this machine, by id. */
  async others(id: string): Promise<ReadonlyMap<string, Readonly<Record<string, string>>>> {
    const names = (await readdir(this.folder).catch(() => [])).slice(0, claimsMax);
    const spaces = await ownSpaces();
    const found = new Map<string, Readonly<Record<string, string>>>();
    for (const name of names) {
      const [, other] = /^([0-9a-f]{8})\.json$/.exec(name) ?? [];
      if (!other || other === id) continue;
      const claim = await this.#read(name);
      if (claim && claim.spaces === spaces && (await this.#isAlive(claim))) found.set(other, claim.owns);
    }
    return found;
  }

  /** Resolves when the guard of a gone agent has finished, or its time is up. */
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
    await replaceFile(path, `${JSON.stringify(claim)}\n`, 0o600);
  }

  async drop(id: string): Promise<void> {
    await rm(this.path(id), { force: true });
    await removeUnfinished(this.path(id));
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
