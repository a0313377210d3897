/** The process of a server that is attacked: how it is started, and what is known of it from outside. */
import { type ChildProcess, spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { command } from '../support/child.ts';

const loopWatch = join(import.meta.dirname, 'loop-watch.mjs');
/** `npm run attack -- --turns`: servers are profiled, and write their longest turns to this file. */
const turnsFile = process.env['TURNS_FILE'];
const turnWatch = join(import.meta.dirname, '../../bench/tails/turn-watch.mjs');
/** For a server with pods to end them. */
const endMaxMs = 20_000;

/** Bytes of its log that are shown. */
const forwardedMax = 10_000;

export interface Blocks {
  /** The longest, in milliseconds of processor time where the system tells it. */
  readonly maxMs: number;
  /** How many took longer than 10 ms. */
  readonly count: number;
}

interface Turn {
  readonly ms: number;
  readonly ran: readonly string[];
  readonly itself: readonly string[];
}

export class ServerProcess {
  private constructor(
    private readonly child: ChildProcess,
    private readonly folder: string,
    /** What it has written, and how many bytes to its log. */
    private readonly output: { text: string; loggedBytes: number },
  ) {}

  get loggedBytes(): number {
    return this.output.loggedBytes;
  }

  get said(): string {
    return this.output.text;
  }

  /** @param folder which is removed with the process; where it is started, and keeps its data */
  static async start(
    folder: string,
    args: readonly string[],
    flags: readonly string[],
  ): Promise<ServerProcess> {
    const watches = ['--import', loopWatch, ...(turnsFile ? ['--import', turnWatch] : [])];
    const child = spawn(process.execPath, [...watches, ...flags, command, ...args], {
      cwd: folder,
      stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
    });
    const output = { text: '', loggedBytes: 0 };
    child.stderr!.on('data', (chunk: Buffer) => {
      if (output.loggedBytes < forwardedMax) process.stderr.write(chunk);
      output.loggedBytes += chunk.length;
    });
    await new Promise<void>((resolve, reject) => {
      child.once('exit', () => reject(new Error(`the server did not start: ${output.text}`)));
      child.stdout!.setEncoding('utf8').on('data', (text: string) => {
        output.text += text;
        if (/Secure door at \S+\n/.test(output.text)) resolve();
      });
    });
    return new ServerProcess(child, folder, output);
  }

  get pid(): number {
    return this.child.pid!;
  }

  get isAlive(): boolean {
    return this.child.exitCode === null && this.child.signalCode === null;
  }

  /** Milliseconds that its main thread has been on a processor; NaN where the system does not tell. */
  get cpuMs(): number {
    try {
      return Number(readFileSync(`/proc/${this.pid}/schedstat`, 'utf8').split(' ')[0]) / 1e6;
    } catch {
      return Number.NaN;
    }
  }

  /** Its memory; NaN where the system does not tell. */
  get megabytes(): number {
    try {
      const [, kilobytes] = /VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${this.pid}/status`, 'utf8'))!;
      return Number(kilobytes) / 1024;
    } catch {
      return Number.NaN;
    }
  }

  /** How its event loop was held up since the last call. */
  blocks(): Promise<Blocks> {
    const unknown = { maxMs: Number.NaN, count: Number.NaN };
    if (!this.isAlive) return Promise.resolve(unknown);
    return new Promise((resolve) => {
      const gone = (): void => resolve(unknown);
      this.child.once('exit', gone).once('message', (blocks) => {
        this.child.off('exit', gone);
        resolve(blocks as Blocks);
      });
      this.child.send('tell');
    });
  }

  /** Its longest turns since the last call, and what ran in them; empty unless it is profiled. */
  async turns(): Promise<string> {
    if (!turnsFile || !this.isAlive) return '';
    await rm(turnsFile, { force: true });
    this.child.kill('SIGUSR2');
    let text = '';
    while (!text.endsWith('}')) {
      await new Promise((resolve) => setTimeout(resolve, 50));
      text = await readFile(turnsFile, 'utf8').catch(() => '');
    }
    const { turns } = JSON.parse(text) as { turns: readonly Turn[] };
    return turns
      .map(
        ({ ms, ran, itself }) =>
          `  turn of ${ms.toFixed(1)} ms\n    ran ${ran.join(', ')}\n    itself ${itself.join(', ')}\n`,
      )
      .join('');
  }

  /** @param hasPods which it ends itself, when it is asked to end */
  async close(hasPods: boolean): Promise<void> {
    if (this.isAlive) {
      const gone = new Promise((resolve) => this.child.once('exit', resolve));
      const kill = (): void => void this.child.kill('SIGKILL');
      const late = setTimeout(kill, endMaxMs);
      if (hasPods) this.child.kill('SIGTERM');
      else kill();
      await gone;
      clearTimeout(late);
    }
    await rm(this.folder, { recursive: true, force: true });
  }
}
