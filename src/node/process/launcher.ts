/**
 * A small process that starts programs for the agent. To start one, the system copies the page tables of the process
 * that starts it, whose event loop waits meanwhile: 5 to 17 ms in a server, less than 1 ms in the launcher. It is made
 * for commands in pods when there are several at once, or a few in a second, and ends when it has had none for a while.
 * With `WHERRY_PLAIN=1` there is no launcher.
 */
import type { ChildProcess } from 'node:child_process';
import { constants } from 'node:fs';
import { signalSession } from './signals.ts';
import type { ProgramExit, ProgramFiles, StartedProgram, StartOptions } from './started-program.ts';

/** It ends after this time without a program. */
export const IDLE_MS = 30_000;

const ENDED = 'the process that starts programs has ended';

/**
 * Starts the programs that it gets as messages. Files are opened by the names that the agent's descriptors have in /proc.
 * Programs inherit nothing else: what Node opens itself is marked, and what the launcher has inherited is /dev/null.
 */
const script = `
const { spawn } = require('node:child_process');
const { closeSync, openSync } = require('node:fs');
const tell = (told) => process.connected && process.send(told, () => undefined);
process.on('disconnect', () => process.exit());
process.on('message', ({ id, command, files, ...options }) => {
  const opened = [];
  const open = ({ path, flags }) => {
    opened.push(openSync(path, flags));
    return opened.at(-1);
  };
  try {
    const stdio = files.map((file) => (file ? open(file) : 'ignore'));
    const child = spawn(command[0], command.slice(1), { ...options, stdio });
    child.once('exit', (code, signal) => tell({ id, exit: { code, signal } }));
    child.once('error', ({ message }) => tell({ id, error: message }));
    if (child.pid) tell({ id, pid: child.pid });
  } catch ({ message }) {
    tell({ id, error: message });
  }
  opened.forEach((descriptor) => closeSync(descriptor));
});
tell({ id: 0 });
`;

export const launcherCommand: readonly string[] = [process.execPath, '-e', script];

/** What it says: that it is ready, as number 0, or what became of a program. */
interface Told {
  readonly id: number;
  readonly pid?: number;
  readonly exit?: ProgramExit;
  readonly error?: string;
}

interface Launched {
  pid?: number;
  readonly started: (pid: number) => void;
  readonly failed: (error: Error) => void;
  readonly ended: (exit: ProgramExit) => void;
}

export class Launcher {
  #isReady = false;
  #isGone = false;
  #lastId = 0;
  readonly #launched = new Map<number, Launched>();
  #idle: NodeJS.Timeout | undefined;

  /** @param child a process of `launcherCommand` with a channel, in a session of its own */
  constructor(private readonly child: ChildProcess) {
    child
      .on('message', (told: Told) => this.#hear(told))
      .on('error', () => this.#end())
      .once('disconnect', () => this.#end());
    child.unref();
    child.channel?.unref();
    this.#rest();
  }

  /** Whether it takes programs: it has started itself, and has not ended. */
  get isReady(): boolean {
    return this.#isReady && !this.#isGone;
  }

  get isGone(): boolean {
    return this.#isGone;
  }

  /** Rejects when the program cannot be started. Its files can be closed afterwards. */
  launch(command: readonly string[], { files, ...options }: StartOptions): Promise<StartedProgram> {
    if (this.#isGone) return Promise.reject(new Error(ENDED));
    clearTimeout(this.#idle);
    const id = ++this.#lastId;
    return new Promise((resolve, reject) => {
      let ended!: (exit: ProgramExit) => void;
      const exited = new Promise<ProgramExit>((resolveExit) => {
        ended = resolveExit;
      });
      this.#launched.set(id, {
        started: (pid) => resolve({ pid, exited }),
        failed: reject,
        ended,
      });
      this.child.send({ ...options, id, command, files: named(files) }, (error) => {
        if (error) this.#end();
      });
    });
  }

  /** Its programs are left to run. */
  close(): void {
    clearTimeout(this.#idle);
    if (this.child.connected) this.child.disconnect();
  }

  #hear({ id, pid, exit, error }: Told): void {
    if (id === 0) this.#isReady = true;
    const launched = this.#launched.get(id);
    if (!launched) return;
    if (pid !== undefined) {
      launched.pid = pid;
      launched.started(pid);
      return;
    }
    this.#launched.delete(id);
    if (exit) launched.ended(exit);
    else launched.failed(new Error(error));
    if (this.#launched.size === 0) this.#rest();
  }

  #rest(): void {
    this.#idle = setTimeout(() => this.close(), IDLE_MS).unref();
  }

  /** How its programs end is not known any more: they are ended. */
  #end(): void {
    if (this.#isGone) return;
    this.#isGone = true;
    clearTimeout(this.#idle);
    for (const { pid, failed, ended } of this.#launched.values()) {
      if (pid === undefined) failed(new Error(ENDED));
      else signalSession(pid, 'SIGKILL');
      ended({ code: null, signal: 'SIGKILL' });
    }
    this.#launched.clear();
  }
}

/** Files that another process can open. A pipe is opened for its one direction, a terminal for both. */
function named(files: ProgramFiles): readonly ({ readonly path: string; readonly flags: number } | null)[] {
  const isTerminal = files[0] === files[1];
  return files.map((descriptor, i) => {
    if (descriptor === undefined) return null;
    const direction = i === 0 ? constants.O_RDONLY : constants.O_WRONLY;
    return {
      path: `/proc/${process.pid}/fd/${descriptor}`,
      flags: (isTerminal ? constants.O_RDWR : direction) | constants.O_NOCTTY,
    };
  });
}
