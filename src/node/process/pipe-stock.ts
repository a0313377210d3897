/**
 * Pipes between the agent and its children. Node uses socket pairs, which a program cannot reopen by name (`>
 * /dev/stdout`, `cat /dev/stdin`) as it can with a real pipe. So these are named pipes, each used once and
 * unlinked as soon as it is open.
 *
 * Making one takes a process (`mkfifo`), so a stock is made ahead, 48 with one process, and a command
 * does not wait for its three. Starting a pod went from 170 to 119 ms of processor time,
 * children included. With `WHERRY_PLAIN=1` each is made on
 * demand.
 */
import { chmodSync, closeSync, constants, openSync, unlinkSync } from 'node:fs';
import { mkdir, rm } from 'node:fs/promises';
import { Socket } from 'node:net';
import { join } from 'node:path';
import { reusingPipe } from '../../streams/bytes/reused-reads.ts';
import { optimized } from '../../switches.ts';
import type { Spawner } from './spawner.ts';

/** Number made with one process. */
const batch = optimized ? 48 : 1;
/** With fewer left, more are made in the background: a command takes three. */
const stockMin = optimized ? 12 : 0;
/**
 * Delays between attempts to release a reader (`knockAfterEnd`); they grow, and stop: programs open their
 * input at start.
 */
const firstKnockMs = 5;
const lastKnockMs = 20_000;

export interface PipeEnds {
  readonly readEnd: number;
  readonly writeEnd: number;
}

export class PipeStock {
  #names: string[] = [];
  #made = 0;
  #making: Promise<void> | undefined;

  constructor(
    private readonly folder: string,
    private readonly spawner: Spawner,
  ) {}

  /** Throws when no pipe can be made. The caller closes both ends. */
  async take(): Promise<PipeEnds> {
    for (;;) {
      const name = this.#names.pop();
      if (name) {
        // Ignore the error here: a caller that has to wait for pipes will get it.
        if (this.#names.length < stockMin) this.#refill().catch(() => undefined);
        return openPipe(name);
      }
      await this.#refill();
    }
  }

  async close(): Promise<void> {
    await this.#making?.catch(() => undefined);
    this.#names = [];
    await rm(this.folder, { recursive: true, force: true });
  }

  #refill(): Promise<void> {
    this.#making ??= this.#make().finally(() => {
      this.#making = undefined;
    });
    return this.#making;
  }

  async #make(): Promise<void> {
    // Remove what an earlier agent has left.
    if (!this.#made) await rm(this.folder, { recursive: true, force: true });
    await mkdir(this.folder, { recursive: true, mode: 0o700 });
    const names = Array.from({ length: batch }, () => join(this.folder, String(this.#made++)));
    const { code, stderr } = await this.spawner.run(['mkfifo', ...names]);
    if (code) throw new Error(`mkfifo: ${stderr.trim()}`);
    // A container may run as any user; only the agent can enter the folder. GNU's mkfifo could set modes only with /proc.
    for (const name of names) chmodSync(name, 0o666);
    this.#names.push(...names);
  }
}

/** Opening one end of a FIFO blocks until the other is opened; opening with O_RDWR first does not. */
function openPipe(name: string): PipeEnds {
  const opened: number[] = [];
  const open = (flags: number): number => {
    const descriptor = openSync(name, flags);
    opened.push(descriptor);
    return descriptor;
  };
  try {
    const both = open(constants.O_RDWR);
    const ends = { readEnd: open(constants.O_RDONLY), writeEnd: open(constants.O_WRONLY) };
    closeSync(both);
    return ends;
  } catch (error) {
    for (const descriptor of opened) closeSync(descriptor);
    throw error;
  } finally {
    unlinkSync(name);
  }
}

/** The agent's end of a pipe as a stream. Its errors are ignored: a broken pipe counts as the end. */
export function pipeStream(descriptor: number, direction: 'read' | 'write'): Socket {
  const stream =
    direction === 'read'
      ? reusingPipe(descriptor)
      : new Socket({ fd: descriptor, readable: false, writable: true });
  return stream.on('error', () => stream.destroy());
}

/**
 * A program that opens its input by name (`cat /dev/stdin`) blocks in open() until the FIFO has a writer, and
 * for ever if the last writer has already closed. So after the end of the input the pipe is opened for
 * writing again a few times, without writing: a reader that waits in open() continues and sees the end of
 * file.
 */
export function knockAfterEnd(input: Socket, descriptor: number, exited: Promise<unknown>): void {
  input.once('finish', () => {
    let reader: number;
    try {
      // Through /proc, because the pipe has no name any more.
      reader = openSync(`/proc/self/fd/${descriptor}`, constants.O_RDONLY | constants.O_NONBLOCK);
    } catch {
      return;
    }
    let waitMs = firstKnockMs;
    let timer: NodeJS.Timeout | undefined;
    const stop = (): void => {
      if (!timer) return;
      clearTimeout(timer);
      timer = undefined;
      closeSync(reader);
    };
    const knock = (): void => {
      try {
        closeSync(openSync(`/proc/self/fd/${reader}`, constants.O_WRONLY | constants.O_NONBLOCK));
      } catch {
        // Out of file descriptors: a later attempt may succeed.
      }
      waitMs *= 2;
      if (waitMs > lastKnockMs) stop();
      else timer = setTimeout(knock, waitMs);
    };
    timer = setTimeout(knock, waitMs);
    exited.then(stop, stop);
  });
}
