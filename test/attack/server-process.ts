/** The process of a server that is attacked: how it is started, and what is known of it from outside. */
import { type ChildProcess, spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { command } from '../support/child.ts';

const loopWatch = join(import.meta.dirname, 'loop-watch.mjs');
/** For a server with pods to end them. */
const endMaxMs = 20_000;

/** Bytes of its log that are shown. */
const forwardedMax = 10_000;

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
    const child = spawn(process.execPath, ['--import', loopWatch, ...flags, command, ...args], {
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

  /** The longest time that its event loop was held up since the last call. */
  loopMaxMs(): Promise<number> {
    if (!this.isAlive) return Promise.resolve(Number.NaN);
    return new Promise((resolve) => {
      const gone = (): void => resolve(Number.NaN);
      this.child.once('exit', gone).once('message', (ms) => {
        this.child.off('exit', gone);
        resolve(Math.max(0, ms as number));
      });
      this.child.send('tell');
    });
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
