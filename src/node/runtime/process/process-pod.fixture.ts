/**
 * For tests of the process runtime: a runtime in a temporary folder with one pod, and sessions that record
 * their output.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PassThrough, Writable } from 'node:stream';
import type { Container, Pod, PodSpec } from '../../../api/generated/types.ts';
import type { Session, TerminalSize } from '../../../streams/session/session.ts';
import { HostNetwork } from '../../network/pod-network.ts';
import { findProcesses } from '../../process/process-table.ts';
import { ImageTable } from '../images.ts';
import type { ContainerLaunch, ContainerLog, LogQuery, RunningContainer } from '../runtime.ts';
import { ProcessRuntime, type ProcessRuntimeOptions } from './process-runtime.ts';

export interface Wanted extends Partial<Omit<ContainerLaunch, 'container' | 'pod'>> {
  readonly container?: Partial<Container>;
  readonly spec?: PodSpec;
}

export class ProcessPod {
  readonly errors: Error[];
  readonly #started: RunningContainer[] = [];

  private constructor(
    readonly folder: string,
    readonly runtime: ProcessRuntime,
    readonly pod: Pod,
    errors: Error[],
  ) {
    this.errors = errors;
  }

  static async make(options: Partial<ProcessRuntimeOptions> = {}): Promise<ProcessPod> {
    const folder = options.folder ?? (await mkdtemp(join(tmpdir(), 'wherry-runtime-')));
    const errors: Error[] = [];
    const runtime = new ProcessRuntime({
      folder,
      network: new HostNetwork('127.0.0.1'),
      images: await ImageTable.open(),
      now: Date.now,
      onError: (error) => void errors.push(error),
      ...options,
    });
    const pod: Pod = {
      metadata: { name: 'web', namespace: 'default', uid: 'uid-1' },
      spec: { containers: [] },
    };
    const made = new ProcessPod(folder, runtime, pod, errors);
    await runtime.recover(new Set(['uid-1']));
    await runtime.preparePod(pod);
    return made;
  }

  async launch(wanted: Wanted = {}): Promise<ContainerLaunch> {
    const pod = wanted.spec ? { ...this.pod, spec: wanted.spec } : this.pod;
    return {
      attempt: 0,
      command: ['sleep', '600'],
      env: { PATH: process.env['PATH']! },
      workingDir: undefined,
      mounts: [],
      ...wanted,
      pod,
      place: await this.runtime.preparePod(pod),
      container: { name: 'main', ...wanted.container },
    };
  }

  async start(wanted: Wanted = {}): Promise<RunningContainer> {
    const container = await this.runtime.start(await this.launch(wanted));
    this.#started.push(container);
    return container;
  }

  /** Ends all containers, before the next test. */
  async clear(): Promise<void> {
    for (const container of this.#started) container.kill('SIGKILL');
    await Promise.all(this.#started.splice(0).map(({ exited }) => exited));
  }

  /** Starts a container that runs a shell script. */
  shell(script: string, wanted: Wanted = {}): Promise<RunningContainer> {
    return this.start({ command: ['sh', '-c', script], ...wanted });
  }

  log(query: Partial<LogQuery> = {}, attempt = 0, container = 'main'): Promise<string> {
    return logText(this.runtime.log('uid-1', container, attempt)!, query);
  }

  /** Living processes of this agent's containers. */
  async alive(): Promise<number[]> {
    const identity = await readFile(join(this.folder, 'agent-id'), 'utf8');
    return findProcesses(new Set(), { text: `WHERRY_CONTAINER=${identity}/`, prefix: true });
  }

  /** Their command lines. */
  async commands(): Promise<string[]> {
    const texts = (await this.alive()).map((pid) =>
      readFile(`/proc/${pid}/cmdline`, 'latin1').catch(() => ''),
    );
    return (await Promise.all(texts)).map((text) => text.replaceAll('\0', ' ').trim());
  }

  async close(): Promise<void> {
    await this.runtime.close();
    const left = await this.alive().catch(() => []);
    await rm(this.folder, { recursive: true, force: true });
    if (left.length) throw new Error(`processes are left: ${left.join(', ')}`);
  }
}

export async function logText(log: ContainerLog, query: Partial<LogQuery> = {}): Promise<string> {
  const pieces: Buffer[] = [];
  const full = { follow: false, timestamps: false, ...query };
  for await (const piece of log.read(full, new AbortController().signal)) pieces.push(piece);
  return Buffer.concat(pieces).toString('utf8');
}

/** Command lines of all processes of the machine that contain a text. */
export function commandsWith(text: string): string[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map((pid) => {
      try {
        return readFileSync(`/proc/${pid}/cmdline`, 'latin1').replaceAll('\0', ' ').trim();
      } catch {
        return '';
      }
    })
    .filter((line) => line.startsWith('sleep ') && line.includes(text));
}

/** An in-memory client. */
export class TestSession implements Session {
  readonly tty: boolean;
  readonly stdin: PassThrough | undefined;
  readonly stdout: Writable;
  readonly stderr: Writable | undefined;
  out = '';
  err = '';
  readonly #gone = new AbortController();
  readonly #listeners: ((size: TerminalSize) => void)[] = [];
  readonly #watchers = new Set<() => void>();

  constructor(
    wish: { readonly tty?: boolean; readonly stdin?: boolean; readonly stdout?: Writable } = {},
    private readonly size?: TerminalSize,
  ) {
    this.tty = wish.tty ?? false;
    this.stdin = wish.stdin ? new PassThrough() : undefined;
    this.stdout = wish.stdout ?? this.#sink('out');
    this.stderr = this.tty ? undefined : this.#sink('err');
  }

  get gone(): AbortSignal {
    return this.#gone.signal;
  }

  leave(): void {
    this.#gone.abort();
  }

  onResize(listener: (size: TerminalSize) => void): void {
    this.#listeners.push(listener);
    if (this.size) listener(this.size);
  }

  resize(size: TerminalSize): void {
    for (const listener of this.#listeners) listener(size);
  }

  /** Resolves when the output so far matches. */
  async until(pattern: RegExp): Promise<RegExpExecArray> {
    for (;;) {
      const found = pattern.exec(this.out + this.err);
      if (found) return found;
      await new Promise<void>((resolve) => {
        this.#watchers.add(resolve);
      });
    }
  }

  #sink(name: 'out' | 'err'): Writable {
    return new Writable({
      write: (chunk: Buffer, _encoding, done) => {
        this[name] += chunk.toString('latin1');
        for (const watcher of this.#watchers) watcher();
        this.#watchers.clear();
        done();
      },
    });
  }
}
