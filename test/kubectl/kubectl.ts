/** kubectl against a cluster of its own, with a home of its own, so that no test sees another's cache. */
import { execFile, spawn } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll } from 'vitest';
import { type Cluster, type StartOptions, start } from '../../src/cluster/index.ts';

/** How long a command may take. */
const commandWaitMs = 30_000;

export interface Output {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

export class Kubectl {
  readonly #home = mkdtempSync(path.join(tmpdir(), 'wherry-kubectl-'));

  constructor(readonly cluster: Pick<Cluster, 'url' | 'kubeconfig' | 'close'>) {
    writeFileSync(this.config, cluster.kubeconfig);
  }

  private get config(): string {
    return path.join(this.#home, 'config');
  }

  /** For those who run kubectl in their own way. */
  get environment(): NodeJS.ProcessEnv {
    return { ...process.env, HOME: this.#home, KUBECONFIG: this.config };
  }

  /** Writes a manifest and answers its path. Objects are JSON, which is YAML too. */
  file(name: string, manifest: string | object): string {
    const file = path.join(this.#home, name);
    writeFileSync(file, typeof manifest === 'string' ? manifest : JSON.stringify(manifest));
    return file;
  }

  /** Runs a command to its end, whatever that is. */
  try(...args: string[]): Promise<Output> {
    return new Promise((resolve) => {
      execFile('kubectl', args, { env: this.environment, timeout: commandWaitMs }, (error, stdout, stderr) =>
        resolve({ code: error ? Number(error.code ?? 1) : 0, stdout, stderr }),
      );
    });
  }

  /** Runs a command that must succeed, and answers what it printed. */
  async run(...args: string[]): Promise<string> {
    const { code, stdout, stderr } = await this.try(...args);
    if (code !== 0) throw new Error(`kubectl ${args.join(' ')} failed with ${code}:\n${stderr}${stdout}`);
    return stdout;
  }

  /** An object as kubectl reads it. */
  async json(...args: string[]): Promise<any> {
    return JSON.parse(await this.run(...args, '-o', 'json'));
  }

  /** The columns of each line printed, the heading first. */
  async table(...args: string[]): Promise<string[][]> {
    const lines = (await this.run(...args)).trimEnd().split('\n');
    return lines.map((line) => line.trimEnd().split(/ {2,}/));
  }

  /** Starts a command that goes on by itself, and reads its lines. */
  follow(...args: string[]): Following {
    return new Following(
      spawn('kubectl', args, { env: this.environment, stdio: ['ignore', 'pipe', 'pipe'] }),
    );
  }

  close(): void {
    rmSync(this.#home, { recursive: true, force: true });
  }
}

/** A command under way. */
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
export function withKubectl(options: StartOptions = {}): () => Kubectl {
  let kubectl: Kubectl;
  beforeAll(async () => {
    kubectl = new Kubectl(await start({ store: 'memory', ...options }));
  });
  afterAll(async () => {
    kubectl.close();
    await kubectl.cluster.close();
  });
  return () => kubectl;
}
