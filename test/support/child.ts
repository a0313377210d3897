/** The built command as a child process. All are ended with their test. */
import { type ChildProcess, spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll } from 'vitest';

export const command = join(import.meta.dirname, '../..', 'dist', 'cli.cjs');
/** Time limit for a process to become ready or to end. */
const patienceMs = 60_000;

/** Each folder stands for a user of its own: clusters are not found by tests of other folders. */
export const userFolders = (cwd: string | undefined): Record<string, string> =>
  cwd === undefined ? {} : { XDG_DATA_HOME: `${cwd}-home`, KUBECONFIG: join(`${cwd}-home`, 'kubeconfig') };

export interface Exit {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
}

export class Child {
  stdout = '';
  stderr = '';
  readonly exited: Promise<Exit>;
  readonly #process: ChildProcess;
  #woken: (() => void)[] = [];
  #exit: Exit | undefined;

  /** `limits` is a shell command to run first, such as `ulimit -n 100`. */
  constructor(args: readonly string[], cwd?: string, limits?: string) {
    const stdio: ['ignore', 'pipe', 'pipe'] = ['ignore', 'pipe', 'pipe'];
    const how = { cwd, stdio, env: { ...process.env, ...userFolders(cwd) } };
    this.#process = limits
      ? spawn('/bin/sh', ['-c', `${limits}; exec "$0" "$@"`, process.execPath, command, ...args], how)
      : spawn(process.execPath, [command, ...args], how);
    this.#process.stdout!.setEncoding('utf8').on('data', (text: string) => {
      this.stdout += text;
      this.#wake();
    });
    this.#process.stderr!.setEncoding('utf8').on('data', (text: string) => {
      this.stderr += text;
    });
    this.exited = new Promise((resolve) => {
      // `close`, not `exit`: by then all its output has arrived.
      this.#process.on('close', (code, signal) => {
        this.#exit = { code, signal };
        this.#wake();
        resolve(this.#exit);
      });
    });
    children.add(this);
  }

  get pid(): number {
    return this.#process.pid!;
  }

  /** The URL of the ready line. */
  async ready(): Promise<string> {
    await this.#until(() => /ready at .*\n/.test(this.stdout));
    return /ready at (\S+)\n/.exec(this.stdout)![1]!;
  }

  /** Resolves when it has printed something. */
  async printed(wanted: RegExp): Promise<void> {
    await this.#until(() => wanted.test(this.stdout));
  }

  /** Closes the reading end of its output. */
  closeOutput(): void {
    this.#process.stdout!.destroy();
    this.#process.stderr!.destroy();
  }

  signal(signal: NodeJS.Signals): void {
    this.#process.kill(signal);
  }

  async kill(): Promise<void> {
    this.#process.kill('SIGKILL');
    await this.exited;
  }

  async #until(condition: () => boolean): Promise<void> {
    const deadline = Date.now() + patienceMs;
    while (!condition()) {
      const left = deadline - Date.now();
      if (this.#exit || left <= 0)
        throw new Error(
          `it did not become ready: ${JSON.stringify(this.#exit)} ${this.stdout}${this.stderr}`,
        );
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, left);
        this.#woken.push(() => {
          clearTimeout(timer);
          resolve();
        });
      });
    }
  }

  #wake(): void {
    for (const wake of this.#woken.splice(0)) wake();
  }
}

const children = new Set<Child>();

/**
 * For a test file that starts processes: ends all of them with the file. Returns a function that makes
 * temporary folders.
 */
export function useChildren(): { folder(): Promise<string> } {
  const folders: string[] = [];
  beforeAll(() => {
    if (!existsSync(command)) throw new Error(`${command} is missing; run: node scripts/build.mjs`);
  });
  afterAll(async () => {
    for (const child of children) await child.kill();
    for (const folder of folders)
      for (const one of [folder, `${folder}-home`]) await rm(one, { recursive: true, force: true });
  });
  return {
    folder: async () => {
      const folder = await mkdtemp(join(tmpdir(), 'wherry-test-'));
      folders.push(folder);
      return folder;
    },
  };
}
