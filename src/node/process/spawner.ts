/**
 * Starts child processes that inherit no file descriptors except those they are given. Libraries (the store
 * among them) and terminals open files without close-on-exec, so children would inherit them. Node cannot
 * close descriptors in a child, so their numbers are overridden with /dev/null.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { accessSync, closeSync, constants, openSync, readdirSync, readFileSync, realpathSync } from 'node:fs';
import { devNull } from 'node:os';
import { basename, delimiter, join } from 'node:path';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { platform } from '../../platform.ts';
import { optimized } from '../../switches.ts';
import { Launcher, launcherCommand } from './launcher.ts';
import { type StartedProgram, type StartOptions, startedProgram } from './started-program.ts';

/** How long the list of open descriptors is cached. Libraries open theirs early; listing costs 10 µs for each. */
const lookMs = 1_000;
/** When it is older, it is made in one turn before anything is started. */
const oldMs = 10_000;
/** Descriptors that are looked at in one turn of the event loop: clients open them by the thousand. */
const turnDescriptors = 64;
/** Turns from one start, which takes some milliseconds, to the next. In between a request can be answered. */
const startTurns = 4;
/** How many times as long as a start took others have the event loop before the next one that a client asks for. */
const restFactor = 3;
/** The least that they have: serving the client of a program takes its time, too. */
const restMs = 40;
/** A launcher is made for the command after so many in this time. */
const [oftenCount, oftenMs] = [4, 2_000];
/** Another process can open descriptors of this one on Linux only. */
const hasLauncher = optimized && platform.isLinux;
/** Higher descriptors are ignored: overriding them would cost too much. */
const descriptorMax = 4096;
const closeOnExec = 0o2000000;
/** Maximum output of a helper program. */
const outputBytesMax = 64 * 1024;
const helperMs = 20_000;

export type ChildStdio = 'ignore' | 'pipe' | number;

/** For whom a program is started: as a container of a pod, or as a command in one, by the agent itself or by a client. */
export type Asker = 'pod' | 'agent' | 'client';

export interface SpawnOptions {
  readonly env: Readonly<Record<string, string>>;
  readonly stdio: readonly [ChildStdio, ChildStdio, ChildStdio];
  readonly cwd?: string | undefined;
  /** Whether it gets its own session and process group. */
  readonly detached?: boolean;
  /** Whether it gets a channel for messages. */
  readonly hasChannel?: boolean;
}

export interface HelperResult {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

const helperPath = [
  '/usr/sbin',
  '/usr/bin',
  '/sbin',
  '/bin',
  ...(process.env['PATH']?.split(delimiter) ?? []),
];

/** The environment of helper programs; no variable of a container ever reaches them. */
export const helperEnv: Readonly<Record<string, string>> = { PATH: helperPath.join(delimiter), LC_ALL: 'C' };

export class Spawner {
  readonly #nullDevice = openSync(devNull, 'r+');
  readonly #known = new Set<number>();
  readonly #tools = new Map<string, string | undefined>();
  #inherited: readonly number[] = [];
  #lookedAt = Number.NEGATIVE_INFINITY;
  #looking: Promise<void> | undefined;
  /** When the next program may be started. */
  #next: Promise<void> = Promise.resolve();
  #nextOfClients: Promise<void> = Promise.resolve();
  #waitingClients = 0;
  /** How long the last start took. */
  #startMs = 0;
  /** When the last commands were started here. */
  readonly #commandsMs: number[] = [];
  #launcher: Launcher | undefined;
  #closed = false;

  /**
   * Resolves when a program may be started: the last one was some turns of the event loop ago, and the open descriptors
   * are known.
   */
  async ready(): Promise<void> {
    if (performance.now() - this.#lookedAt > lookMs) await this.#lookInTurns();
    const mine = this.#next;
    this.#next = mine.then(afterStart);
    await mine;
  }

  /** Starts a program with descriptors of this process, which can be closed afterwards. Rejects when it cannot be started. */
  async start(
    command: readonly string[],
    options: StartOptions,
    asker: Asker = 'pod',
  ): Promise<StartedProgram> {
    if (asker === 'pod') return this.inTurn(asker, () => this.#startHere(command, options));
    const start = (): Promise<StartedProgram> => this.#startCommand(command, options);
    return asker === 'client' ? this.#inTurnOfClients(start) : start();
  }

  /** Calls a function that starts a program by other means, in turn with others. */
  inTurn<T>(asker: Asker, begin: () => T | Promise<T>): Promise<T> {
    const start = async (): Promise<T> => {
      await this.ready();
      return begin();
    };
    return asker === 'client' ? this.#inTurnOfClients(start) : start();
  }

  /**
   * A start holds the event loop for as long as the system copies this process and the new one waits for a processor;
   * behind it, several times as long is left to others when clients ask for more programs meanwhile. Programs of pods do
   * not wait for those of clients.
   */
  async #inTurnOfClients<T>(start: () => Promise<T>): Promise<T> {
    const mine = this.#nextOfClients;
    let rested!: () => void;
    this.#nextOfClients = new Promise((resolve) => {
      rested = resolve;
    });
    this.#waitingClients++;
    await mine;
    this.#waitingClients--;
    try {
      return await start();
    } finally {
      if (this.#waitingClients === 0) rested();
      else setTimeout(rested, Math.max(this.#startMs * restFactor, restMs)).unref();
    }
  }

  /** Starts a program beside the main process of a container. When there are many of them, a launcher is made. */
  async #startCommand(command: readonly string[], options: StartOptions): Promise<StartedProgram> {
    if (this.#launcher?.isReady) {
      this.#startMs = 0;
      return this.#launcher.launch(command, options);
    }
    await this.ready();
    const started = this.#startHere(command, options);
    if (hasLauncher && (this.#isOften() || this.#waitingClients > 0)) this.#makeLauncher();
    return started;
  }

  /** Takes note of one more command. */
  #isOften(): boolean {
    const nowMs = performance.now();
    this.#commandsMs.push(nowMs);
    return this.#commandsMs.length > oftenCount && nowMs - this.#commandsMs.shift()! < oftenMs;
  }

  #startHere(command: readonly string[], { files, ...options }: StartOptions): Promise<StartedProgram> {
    const [input = 'ignore', output, errors] = files;
    return startedProgram(this.spawn(command, { ...options, stdio: [input, output, errors] }));
  }

  #makeLauncher(): void {
    if (this.#closed || (this.#launcher && !this.#launcher.isGone)) return;
    const startMs = this.#startMs;
    this.#launcher = new Launcher(
      this.spawn(launcherCommand, {
        env: { ...helperEnv, ELECTRON_RUN_AS_NODE: '1' },
        cwd: '/',
        detached: true,
        stdio: ['ignore', 'ignore', 'ignore'],
        hasChannel: true,
      }),
    );
    this.#startMs += startMs;
  }

  /** Throws, or the child emits `error`, when it cannot be started. */
  spawn(
    command: readonly string[],
    { env, stdio, cwd, detached = false, hasChannel = false }: SpawnOptions,
  ): ChildProcess {
    if (this.#closed) throw new Error('the runtime is closed');
    const begunMs = performance.now();
    const covers = this.#covers();
    if (hasChannel) covers[0] = 'ipc';
    try {
      return spawn(command[0]!, command.slice(1), {
        cwd,
        env: { ...env },
        detached,
        windowsHide: true,
        stdio: [...stdio, ...covers],
      });
    } finally {
      this.#startMs = performance.now() - begunMs;
    }
  }

  /** Runs a system program to its end. */
  async run(command: readonly string[], timeoutMs = helperMs): Promise<HelperResult> {
    await this.ready();
    const child = this.spawn(command, { env: helperEnv, stdio: ['ignore', 'pipe', 'pipe'] });
    const output = { stdout: '', stderr: '' };
    for (const name of ['stdout', 'stderr'] as const)
      child[name]!.setEncoding('utf8')
        .on('data', (text: string) => {
          output[name] = (output[name] + text).slice(0, outputBytesMax);
        })
        .on('error', () => undefined);
    const timer = setTimeout(() => child.kill('SIGKILL'), timeoutMs);
    try {
      const code = await new Promise<number>((resolve, reject) => {
        child.once('error', reject).once('close', (status: number | null) => resolve(status ?? 128));
      });
      return { code, ...output };
    } finally {
      clearTimeout(timer);
    }
  }

  /**
   * The full path of a system program. Always used: otherwise the `PATH` of a container could choose what
   * runs with the agent's rights before its own command.
   */
  tool(name: string): string | undefined {
    if (!this.#tools.has(name))
      this.#tools.set(name, helperPath.map((folder) => join(folder, name)).find(isExecutable));
    return this.#tools.get(name);
  }

  /** The same, unless it is a part of busybox, which lacks options of util-linux. */
  fullTool(name: string): string | undefined {
    const found = this.tool(name);
    return found && /^busybox/.test(basename(realpathSync(found))) ? undefined : found;
  }

  /** Lists the descriptors that a child would inherit. */
  look(): void {
    this.#inherited = openDescriptors().filter(isInherited);
    this.#lookedAt = performance.now();
  }

  #lookInTurns(): Promise<void> {
    this.#looking ??= inheritedInTurns()
      .then((found) => {
        this.#inherited = found;
        this.#lookedAt = performance.now();
      })
      .finally(() => {
        this.#looking = undefined;
      });
    return this.#looking;
  }

  /** Registers a descriptor without close-on-exec that was opened after the last listing. */
  cover(descriptor: number): void {
    this.#known.add(descriptor);
  }

  uncover(descriptor: number): void {
    this.#known.delete(descriptor);
  }

  close(): void {
    if (this.#closed) return;
    this.#closed = true;
    this.#launcher?.close();
    closeSync(this.#nullDevice);
  }

  /** Entries of `stdio` from number 3 on. Node closes those that are 'ignore' itself. */
  #covers(): (ChildStdio | 'ipc')[] {
    if (performance.now() - this.#lookedAt > oldMs) this.look();
    const covers: ChildStdio[] = [];
    for (const descriptor of [...this.#inherited, ...this.#known]) covers[descriptor - 3] = this.#nullDevice;
    return Array.from(covers, (cover) => cover ?? 'ignore');
  }
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

/** Open descriptors of this process, without the standard ones. Only known on Linux. */
function openDescriptors(): number[] {
  try {
    const numbers = readdirSync('/proc/self/fdinfo').map(Number);
    return numbers.filter((number) => number > 2 && number <= descriptorMax);
  } catch {
    return [];
  }
}

async function inheritedInTurns(): Promise<number[]> {
  const found: number[] = [];
  const all = openDescriptors();
  for (let at = 0; at < all.length; at += turnDescriptors) {
    if (at > 0) await nextTurn();
    found.push(...all.slice(at, at + turnDescriptors).filter(isInherited));
  }
  return found;
}

async function afterStart(): Promise<void> {
  for (let i = 0; i < startTurns; i++) await nextTurn();
}

/** Whether a child would inherit it. */
function isInherited(number: number): boolean {
  try {
    const flags = /^flags:\s*([0-7]+)$/m.exec(readFileSync(`/proc/self/fdinfo/${number}`, 'latin1'))?.[1];
    return flags !== undefined && (Number.parseInt(flags, 8) & closeOnExec) === 0;
  } catch {
    // Closed meanwhile.
    return false;
  }
}
