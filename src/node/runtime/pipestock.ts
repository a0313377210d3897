/**
 * Pipes between the agent and its children. Node makes sockets for that, and a program cannot open those again by name
 * (`> /dev/stdout`, `cat /dev/stdin`), as it can with a real pipe. So they are made as named pipes, some at a time,
 * each used once and without a name from the moment it is open.
 *
 * Making one takes a process (`mkfifo`), so a stock of them is made ahead, twelve with one process, and a command does not
 * wait for its three. Starting a pod went from 170 to 119 ms of processor time, children included. With `WHERRY_PLAIN=1`
 * each is made when it is asked for.
 */
import { closeSync, constants, openSync, unlinkSync } from 'node:fs';
import { mkdir, rm } from 'node:fs/promises';
import { Socket } from 'node:net';
import { join } from 'node:path';
import { reusingPipe } from '../../streams/reusedreads.ts';
import { optimized } from '../../switches.ts';
import type { Spawner } from './spawner.ts';

/** Made at once. */
const batch = optimized ? 12 : 1;
/** With fewer left, more are made, so that nobody has to wait for them: a command takes three. */
const stockMin = optimized ? 6 : 0;
/** Knocks come ever more rarely, and then no more: programs open their input when they start. */
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

  /** Throws when no pipe can be had. The caller closes both ends. */
  async take(): Promise<PipeEnds> {
    for (;;) {
      const name = this.#names.pop();
      if (name) {
        // If it fails, so will those who have to wait for it.
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
    // What an earlier agent has left is of no use.
    if (!this.#made) await rm(this.folder, { recursive: true, force: true });
    await mkdir(this.folder, { recursive: true, mode: 0o700 });
    const names = Array.from({ length: batch }, () => join(this.folder, String(this.#made++)));
    // Open to all users, because a container may run as any; nobody but the agent gets as far as the folder.
    const { code, stderr } = await this.spawner.run(['mkfifo', '-m', '666', ...names]);
    if (code) throw new Error(`mkfifo: ${stderr.trim()}`);
    this.#names.push(...names);
  }
}

/** Opening an end waits for the other; opening both at once does not. */
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

/** The agent's end of a pipe as a stream. It has an error listener: a broken pipe is an end like any other. */
export function pipeStream(descriptor: number, direction: 'read' | 'write'): Socket {
  const stream =
    direction === 'read'
      ? reusingPipe(descriptor)
      : new Socket({ fd: descriptor, readable: false, writable: true });
  return stream.on('error', () => stream.destroy());
}

/**
 * A program that opens its input by name (`cat /dev/stdin`) waits for a writer, and would wait for ever when the last
 * has left by then: that is how named pipes are. So after the end of the input the pipe is opened for writing again for a while,
 * without anything to write: a reader that waits in open() is let in and finds the end.
 */
export function knockAfterEnd(input: Socket, descriptor: number, exited: Promise<unknown>): void {
  input.once('finish', () => {
    let reader: number;
    try {
      // The pipe has no name any more, and is about to be closed.
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
        // Out of descriptors: the next knock may be heard.
      }
      waitMs *= 2;
      if (waitMs > lastKnockMs) stop();
      else timer = setTimeout(knock, waitMs);
    };
    timer = setTimeout(knock, waitMs);
    exited.then(stop, stop);
  });
}
