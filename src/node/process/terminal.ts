/**
 * Terminals (ptys). The optional package @lydell/node-pty opens them. On Linux the rest is implemented here, for three
 * reasons. With the package, children inherit every open file of the agent. It loses the end of the output when the
 * program ends, because libuv takes the hang-up for end of file although there is more to read. And its writes can block
 * the whole process.
 */

import { closeSync, constants, openSync, readSync, writeSync } from 'node:fs';
import { createRequire } from 'node:module';
import { constants as osConstants } from 'node:os';
import { Readable, Writable } from 'node:stream';
import { ReadStream } from 'node:tty';
import { platform } from '../../platform.ts';
import type { TerminalSize } from '../../streams/session/session.ts';
import type { Asker, Spawner } from './spawner.ts';
import type { ProgramExit, StartedProgram } from './started-program.ts';

export const sizeDefault: TerminalSize = { width: 80, height: 24 };
/** Retry interval for writing to a terminal whose program does not read. */
const retryMs = 20;
const readBytes = 64 * 1024;

const missingTerminal = 'a terminal needs the optional package @lydell/node-pty';

export interface Terminal {
  readonly pid: number;
  readonly input: Writable;
  /** Ends when the program has ended and all its output was read. */
  readonly output: Readable;
  readonly exited: Promise<ProgramExit>;
  resize(size: TerminalSize): void;
  /** Closes it: its processes get SIGHUP. */
  hangUp(): void;
}

export interface TerminalOptions {
  readonly env: Readonly<Record<string, string>>;
  readonly cwd: string | undefined;
  readonly size: TerminalSize;
  readonly asker?: Asker | undefined;
  /** Called with the pid right after the start, before anything else. */
  readonly spawned: (pid: number) => void;
}

interface NativePty {
  open(columns: number, rows: number): { master: number; slave: number; pty: string };
  resize(descriptor: number, columns: number, rows: number): void;
}

/** The documented API of the package. */
interface PtyPackage {
  spawn(file: string, args: string[], options: object): PackagePty;
}

interface PackagePty {
  readonly pid: number;
  onData(listener: (data: Buffer) => void): unknown;
  onExit(listener: (exit: { exitCode: number; signal?: number }) => void): unknown;
  resize(columns: number, rows: number): void;
  write(data: Buffer): void;
  pause(): void;
  resume(): void;
  destroy(): void;
}

const require = createRequire(import.meta.url);

/** Throws when the package is not installed, or the program cannot be started. */
export async function openTerminal(
  spawner: Spawner,
  command: readonly string[],
  options: TerminalOptions,
): Promise<Terminal> {
  if (!platform.isLinux) {
    const pty = load<PtyPackage>('@lydell/node-pty');
    return spawner.inTurn(options.asker ?? 'pod', () => packageTerminal(pty, command, options));
  }
  const binary = load<{ requireBinary(name: string): NativePty }>('@lydell/node-pty/requireBinary.js');
  return linuxTerminal(binary.requireBinary('pty.node'), spawner, command, options);
}

function load<T>(name: string): T {
  try {
    return require(name) as T;
  } catch (error) {
    throw new Error(missingTerminal, { cause: error });
  }
}

/** Linux: the package opens the terminal, `setsid` makes it the program's controlling terminal. */
async function linuxTerminal(
  native: NativePty,
  spawner: Spawner,
  command: readonly string[],
  { env, cwd, size, asker, spawned }: TerminalOptions,
): Promise<Terminal> {
  const setsid = spawner.tool('setsid');
  if (!setsid) throw new Error('a terminal needs the program setsid');
  const { master, slave, pty } = native.open(size.width, size.height);
  spawner.cover(master);
  let program: StartedProgram;
  try {
    // Open the slave again: the package's descriptor is non-blocking, and the program would share that flag.
    const end = openSync(pty, constants.O_RDWR | constants.O_NOCTTY);
    closeSync(slave);
    const files = [end, end, end] as const;
    program = await spawner
      .start([setsid, '--ctty', ...command], { env, cwd, files }, asker)
      .finally(() => closeSync(end));
  } catch (error) {
    spawner.uncover(master);
    closeSync(master);
    throw error;
  }
  spawned(program.pid);
  return new LinuxTerminal(native, spawner, master, program);
}

class LinuxTerminal implements Terminal {
  readonly pid: number;
  readonly input: Writable;
  readonly output: Readable;
  readonly exited: Promise<ProgramExit>;
  readonly #stream: ReadStream;
  #open = true;

  constructor(
    private readonly native: NativePty,
    private readonly spawner: Spawner,
    private readonly master: number,
    { pid, exited }: StartedProgram,
  ) {
    this.pid = pid;
    this.exited = exited;
    this.#stream = new ReadStream(master);
    this.output = this.#read();
    this.input = this.#write();
  }

  resize({ width, height }: TerminalSize): void {
    if (!this.#open || !width || !height) return;
    try {
      this.native.resize(this.master, width, height);
    } catch {
      // The terminal was closed meanwhile.
    }
  }

  hangUp(): void {
    this.#stream.destroy();
  }

  #read(): Readable {
    const stream = this.#stream;
    const output = new Readable({
      read: () => void stream.resume(),
      destroy: (error, done) => {
        stream.destroy();
        done(error);
      },
    });
    stream
      .on('data', (chunk: Buffer) => {
        if (!output.push(chunk)) stream.pause();
      })
      // At a hang-up the stream ends although data may be left. The descriptor is still open here, so read the rest.
      .on('end', () => this.#drain(output))
      // Reading fails with EIO when no process has the terminal open any more: that is its end.
      .on('error', () => undefined)
      .on('close', () => {
        this.#open = false;
        this.spawner.uncover(this.master);
        output.push(null);
        this.input.destroy();
      });
    return output.on('error', () => undefined);
  }

  #drain(output: Readable): void {
    const buffer = Buffer.allocUnsafe(readBytes);
    try {
      for (let count = readSync(this.master, buffer); count > 0; count = readSync(this.master, buffer))
        output.push(Buffer.from(buffer.subarray(0, count)));
    } catch {
      // No data left.
    }
  }

  #write(): Writable {
    let timer: NodeJS.Timeout | undefined;
    const attempt = (chunk: Buffer, done: () => void): void => {
      for (let at = 0; this.#open && at < chunk.length; ) {
        try {
          at += writeSync(this.master, chunk, at);
        } catch (error) {
          if ((error as NodeJS.ErrnoException).code !== 'EAGAIN') break;
          timer = setTimeout(() => attempt(chunk.subarray(at), done), retryMs);
          return;
        }
      }
      done();
    };
    const input = new Writable({
      write: (chunk: Buffer, _encoding, done) => attempt(chunk, done),
      destroy: (error, done) => {
        clearTimeout(timer);
        done(error);
      },
    });
    return input.on('error', () => undefined);
  }
}

const signalNames = new Map(
  Object.entries(osConstants.signals).map(([name, number]) => [number, name as NodeJS.Signals]),
);

/** Other systems: the package does everything, and closes inherited descriptors there. */
function packageTerminal(
  pty: PtyPackage,
  command: readonly string[],
  { env, cwd, size, spawned }: TerminalOptions,
): Terminal {
  const { width: cols, height: rows } = size;
  const terminal = pty.spawn(command[0]!, command.slice(1), {
    cwd,
    env: { ...env },
    cols,
    rows,
    encoding: null,
  });
  spawned(terminal.pid);
  const output = new Readable({ read: () => terminal.resume() }).on('error', () => undefined);
  terminal.onData((chunk) => {
    if (!output.push(chunk)) terminal.pause();
  });
  let gone = false;
  const exited = new Promise<ProgramExit>((resolve) => {
    terminal.onExit(({ exitCode, signal }) => {
      gone = true;
      output.push(null);
      resolve(
        signal
          ? { code: null, signal: signalNames.get(signal) ?? 'SIGKILL' }
          : { code: exitCode, signal: null },
      );
    });
  });
  const input = new Writable({
    write: (chunk: Buffer, _encoding, done) => {
      if (!gone) terminal.write(chunk);
      done();
    },
  }).on('error', () => undefined);
  return {
    pid: terminal.pid,
    input,
    output,
    exited,
    resize: ({ width, height }) => {
      if (!gone && width && height) terminal.resize(width, height);
    },
    hangUp: () => {
      if (!gone) terminal.destroy();
    },
  };
}
