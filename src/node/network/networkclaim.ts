/**
 * Claims: which agent of this machine owns which interfaces and namespaces, in one file per agent. An agent that was
 * killed leaves its file behind, and the next agent of the machine finds by it what is to be removed.
 */
import { mkdir, readdir, readFile, readlink, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { bootId, startOf } from '../runtime/processtable.ts';
import type { Spawner } from '../runtime/spawner.ts';

/** Emptied when the machine starts, as are the interfaces. */
const claimFolderDefault = '/run/wherry';
const claimsMax = 1_000;

interface Claim {
  readonly pid: number;
  /** With the pid it names a process for good. */
  readonly start: string;
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
    const claim = await this.#read(id);
    return claim !== undefined && (await this.#isAlive(claim));
  }

  /** What agents have claimed that are gone. */
  async abandoned(): Promise<string[]> {
    const names = (await readdir(this.folder).catch(() => [])).slice(0, claimsMax);
    const ids = names.flatMap((name) => /^([0-9a-f]{8})\.json$/.exec(name)?.[1] ?? []);
    const found: string[] = [];
    const spaces = await ownSpaces();
    for (const id of ids) {
      const claim = await this.#read(id);
      // A process of another container cannot be looked for from here.
      if (claim && claim.spaces === spaces && !(await this.#isAlive(claim))) found.push(id);
    }
    return found;
  }

  async claim(id: string, owns: Readonly<Record<string, string>>): Promise<void> {
    const start = (await startOf(process.pid, this.spawner)) ?? '';
    const claim: Claim = { pid: process.pid, start, boot: bootId(), spaces: await ownSpaces(), owns };
    const path = this.#path(id);
    await mkdir(this.folder, { recursive: true, mode: 0o700 });
    await writeFile(`${path}.new`, `${JSON.stringify(claim)}\n`, { mode: 0o600 });
    await rename(`${path}.new`, path);
  }

  async drop(id: string): Promise<void> {
    await rm(this.#path(id), { force: true });
  }

  #path(id: string): string {
    return join(this.folder, `${id}.json`);
  }

  async #isAlive({ pid, start, boot }: Claim): Promise<boolean> {
    return boot === bootId() && (await startOf(pid, this.spawner)) === start;
  }

  async #read(id: string): Promise<Claim | undefined> {
    try {
      const claim = JSON.parse(await readFile(this.#path(id), 'utf8')) as Claim;
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
