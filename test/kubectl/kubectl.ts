/** kubectl with its own cluster and its own home folder, so that no test sees another's cache. */
import { execFile, spawn } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, expect } from 'vitest';
import { type Cluster, type StartOptions, start } from '../../src/cluster/index.ts';
import { type KubectlProgram, kubectls } from './programs.ts';

/** How long a command may take. */
const commandWaitMs = 60_000;

/** Go collects garbage when the heap has grown by this: most commands end before, which saves a quarter of their time. */
const goGarbagePercent = '1000';

export interface Output {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

export class Kubectl {
  readonly #home = mkdtempSync(path.join(tmpdir(), 'wherry-kubectl-'));
  readonly #programs = path.join(this.#home, 'bin');

  constructor(
    readonly cluster: Pick<Cluster, 'url' | 'kubeconfig' | 'close'>,
    private readonly used: KubectlProgram | undefined = kubectls[0],
  ) {
    writeFileSync(this.config, cluster.kubeconfig);
    mkdirSync(this.#programs);
    if (used) symlinkSync(used.program, path.join(this.#programs, 'kubectl'));
  }

  get version(): string {
    return this.used?.version ?? '';
  }

  /**
   * The expected wording of kubectl itself, by version: the text, or a pattern. Other versions may print
   * anything.
   */
  wording(kept: Readonly<Record<string, string | RegExp>>): unknown {
    const words = kept[this.version];
    if (words === undefined) return expect.anything();
    return words instanceof RegExp ? expect.stringMatching(words) : words;
  }

  get program(): string {
    return path.join(this.#programs, 'kubectl');
  }

  private get config(): string {
    return path.join(this.#home, 'config');
  }

  /** An environment in which `kubectl` is the right version, for tests that run it themselves. */
  get environment(): NodeJS.ProcessEnv {
    const programs = [this.#programs, process.env.PATH].join(path.delimiter);
    return {
      ...process.env,
      HOME: this.#home,
      KUBECONFIG: this.config,
      PATH: programs,
      GOGC: goGarbagePercent,
    };
  }

  /** Writes a manifest and returns its path. Objects are written as JSON, which is valid YAML. */
  file(name: string, manifest: string | object): string {
    const file = path.join(this.#home, name);
    writeFileSync(file, typeof manifest === 'string' ? manifest : JSON.stringify(manifest));
    return file;
  }

  /** Runs a command to its end, whether it succeeds or not. */
  try(...args: string[]): Promise<Output> {
    return new Promise((resolve) => {
      execFile(
        this.program,
        args,
        { env: this.environment, timeout: commandWaitMs },
        (error, stdout, stderr) => resolve({ code: error ? Number(error.code ?? 1) : 0, stdout, stderr }),
      );
    });
  }

  /** Runs a command that must succeed; returns its output. */
  async run(...args: string[]): Promise<string> {
    const { code, stdout, stderr } = await this.try(...args);
    if (code !== 0) throw new Error(`kubectl ${args.join(' ')} failed with ${code}:\n${stderr}${stdout}`);
    return stdout;
  }

  /** An object as kubectl prints it, parsed. */
  async json(...args: string[]): Promise<any> {
    return JSON.parse(await this.run(...args, '-o', 'json'));
  }

  /** The columns of each line printed, the heading first. */
  async table(...args: string[]): Promise<string[][]> {
    const lines = (await this.run(...args)).trimEnd().split('\n');
    return lines.map((line) => line.trimEnd().split(/ {2,}/));
  }

  /** Starts a command that keeps running, and reads its lines. */
  follow(...args: string[]): Following {
    return new Following(
      spawn(this.program, args, { env: this.environment, stdio: ['ignore', 'pipe', 'pipe'] }),
    );
  }

  close(): void {
    rmSync(this.#home, { recursive: true, force: true });
  }
}

/** A running command. */
export class Following {
  #text = '';
  #waiters: (() => void)[] = [];

  constructor(private readonly child: ReturnType<typeof spawn>) {
    child.stdout!.on('data', (data) => {
      this.#text += data;
      for (const waiter of this.#waiters.splice(0)) waiter();
    });
  }

  /** Resolves when the output matches. */
  async until(pattern: RegExp): Promise<string> {
    const deadline = setTimeout(() => this.child.kill('SIGKILL'), commandWaitMs);
    const ended = new Promise<void>((resolve) => this.child.once('exit', () => resolve()));
    while (!pattern.test(this.#text)) {
      if (this.child.exitCode !== null || this.child.signalCode !== null)
        throw new Error(`kubectl ended without printing ${pattern}:\n${this.#text}`);
      await Promise.race([new Promise<void>((resolve) => this.#waiters.push(resolve)), ended]);
    }
    clearTimeout(deadline);
    return this.#text;
  }

  async stop(): Promise<void> {
    if (this.child.exitCode !== null || this.child.signalCode !== null) return;
    const ended = new Promise<void>((resolve) => this.child.once('exit', () => resolve()));
    this.child.kill();
    await ended;
  }
}

/** A cluster and a kubectl for the tests of a suite. */
export function withKubectl(options: StartOptions = {}, program?: KubectlProgram): () => Kubectl {
  let kubectl: Kubectl;
  beforeAll(async () => {
    kubectl = new Kubectl(await start({ store: 'memory', ...options }), program);
  });
  afterAll(async () => {
    kubectl.close();
    await kubectl.cluster.close();
  });
  return () => kubectl;
}
