/** Pod networks for tests: real ones, each with a unique name, removed even when a test fails. */
import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { afterAll, afterEach, beforeAll, expect } from 'vitest';
import type { Pod, PodSpec } from '../../api/generated/types.ts';
import { Spawner } from '../process/spawner.ts';
import { IpRoute } from './ip-route.ts';
import { NetnsNetwork } from './netns-network.ts';
import { NodeBridge, type NodeBridgeOptions, netnsProblem, removeNetwork } from './node-bridge.ts';
import type { PodAttachment } from './pod-network.ts';

/** Why tests of pod networks are skipped; undefined where they can run. */
export const problem = await probe();
export const note = problem === undefined ? '' : ` (left out: ${problem})`;

async function probe(): Promise<string | undefined> {
  const spawner = new Spawner();
  try {
    return await netnsProblem(spawner);
  } finally {
    spawner.close();
  }
}

export const nodeAddress = '127.0.0.1';
/** An address range per process, because test processes run in parallel. */
export const serviceRange = `10.219.${process.pid % 250}.0/24`;
export const narrowRange = `10.220.${(process.pid % 125) * 2}.0/23`;

export class TestNetwork {
  readonly spawner = new Spawner();
  readonly errors: Error[] = [];
  /** Network ids of the agents that a test has killed. */
  readonly crashed: string[] = [];
  claimFolder = '';
  readonly #bridges = new Set<NodeBridge>();
  readonly #residents = new Map<PodAttachment | undefined, Resident>();

  async open(): Promise<void> {
    this.claimFolder = await mkdtemp(join(tmpdir(), 'wherry-claims-'));
  }

  /** Closes everything a test has opened, and asserts that nothing is left. */
  async clear(): Promise<void> {
    for (const resident of this.#residents.values()) resident.kill();
    this.#residents.clear();
    const ids = [...this.#bridges].map(({ id }) => id);
    for (const bridge of this.#bridges) await bridge.close();
    this.#bridges.clear();
    const abandoned = this.crashed.splice(0);
    const forgotten = await Promise.all(abandoned.map(leftOf));
    for (const id of abandoned) await removeNetwork(IpRoute.find(this.spawner)!, id);
    expect(forgotten.flat()).toEqual([]);
    for (const id of ids) expect(await leftOf(id)).toEqual([]);
    expect(await readdir(this.claimFolder)).toEqual([]);
    expect(this.errors.splice(0)).toEqual([]);
  }

  async close(): Promise<void> {
    this.spawner.close();
    await rm(this.claimFolder, { recursive: true, force: true });
  }

  bridge(options: Partial<NodeBridgeOptions> = {}): NodeBridge {
    const bridge = new NodeBridge({
      identity: randomUUID(),
      serviceRange,
      spawner: this.spawner,
      claimFolder: this.claimFolder,
      ...options,
    });
    this.#bridges.add(bridge);
    return bridge;
  }

  network(bridge = this.bridge()): NetnsNetwork {
    return new NetnsNetwork({
      ...{ bridge, address: nodeAddress, spawner: this.spawner },
      onError: (error) => this.errors.push(error),
    });
  }

  /** Runs a script in the Node process of a pod; resolves when it has printed something, because it is ready then. */
  async serve(attachment: PodAttachment | undefined, program: string): Promise<void> {
    const script = this.#run(attachment, program);
    await Promise.race([script.printed, script.done.then(() => script.printed)]);
  }

  /** Runs a script in the Node process of a pod; resolves with what it has printed when its promise is fulfilled. */
  async run(attachment: PodAttachment | undefined, program: string): Promise<string> {
    return (await this.#run(attachment, program).done).join('\n');
  }

  #run(attachment: PodAttachment | undefined, program: string): Script {
    const resident = this.#residents.get(attachment) ?? new Resident(attachment);
    this.#residents.set(attachment, resident);
    return resident.run(program);
  }
}

interface Script {
  /** It has printed a line. */
  readonly printed: Promise<void>;
  /** What it has printed until it was done. */
  readonly done: Promise<string[]>;
}

/** A line that a resident prints about the script with this number: what the script prints, or that it is done. */
interface Told {
  readonly script: number;
  readonly line?: string;
  readonly error?: string;
}

/**
 * One Node process in a pod for all scripts of a test, because starting Node takes longer than any of them. It reads
 * scripts from its input, a line of JSON for each.
 */
class Resident {
  readonly #child: ChildProcess;
  readonly #listeners: ((told: Told) => void)[] = [];

  constructor(attachment: PodAttachment | undefined) {
    const program = `
      const tell = (told) => process.stdout.write(JSON.stringify(told) + '\\n');
      require('node:readline').createInterface({ input: process.stdin }).on('line', (line) => {
        const [script, text] = JSON.parse(line);
        const console = { log: (said) => tell({ script, line: String(said) }) };
        (async () => eval(text))().then(() => tell({ script }), (error) => tell({ script, error: error.message }));
      });`;
    const own = [process.execPath, '-e', program];
    const [file, ...args] = attachment?.wrap(own) ?? own;
    this.#child = spawn(file!, args, { stdio: ['pipe', 'pipe', 'inherit'] });
    this.#child.stdin!.on('error', () => undefined);
    createInterface({ input: this.#child.stdout! }).on('line', (line) => {
      const told = JSON.parse(line) as Told;
      this.#listeners[told.script]!(told);
    });
    this.#child.once('exit', () => {
      for (const [script, tell] of this.#listeners.entries())
        tell({ script, error: 'its process has ended' });
    });
  }

  run(text: string): Script {
    const lines: string[] = [];
    let hasPrinted = (): void => undefined;
    const printed = new Promise<void>((resolve) => {
      hasPrinted = resolve;
    });
    const script = this.#listeners.length;
    const done = new Promise<string[]>((resolve, reject) => {
      this.#listeners.push(({ line, error }) => {
        if (error !== undefined) reject(new Error(error));
        else if (line === undefined) resolve(lines);
        else {
          lines.push(line);
          hasPrinted();
        }
      });
    });
    this.#child.stdin!.write(`${JSON.stringify([script, text])}\n`);
    return { printed, done };
  }

  kill(): void {
    this.#child.kill('SIGKILL');
  }
}

/** Links, namespaces and routes named after an agent. */
export async function leftOf(id: string): Promise<string[]> {
  const input = 'link show\nnetns list\nroute show table all\n';
  const lines = execFileSync('ip', ['-o', '-batch', '-'], { input, encoding: 'utf8' }).split('\n');
  return lines.filter((line) => line.includes(id));
}

export const pod = (spec: Partial<PodSpec> = {}): Pod => ({
  metadata: { name: 'p', namespace: 'default', uid: randomUUID() },
  spec: { containers: [], ...spec },
});

/** A script that sends its name to every client, and prints a word when it listens. */
export const namedServer = (name: string, port: number, host = '0.0.0.0'): string =>
  `require('node:net').createServer((socket) => { socket.on('error', () => 0); socket.end(${JSON.stringify(name)}); })
    .listen(${port}, ${JSON.stringify(host)}, () => console.log('ready'))`;

/** A script that prints what the servers at these addresses send, or the error code. */
export const asking = (...addresses: readonly [host: string, port: number][]): string =>
  `(async () => {
    for (const [host, port] of ${JSON.stringify(addresses)}) console.log(await new Promise((resolve) => {
      const socket = require('node:net').connect({ host, port, timeout: 5000 });
      let text = '';
      socket.on('data', (data) => { text += data; }).on('end', () => resolve(text))
        .on('error', ({ code }) => resolve(code)).on('timeout', () => { resolve('late'); socket.destroy(); });
    }));
  })()`;

export function useNetwork(): TestNetwork {
  const network = new TestNetwork();
  beforeAll(() => network.open());
  afterEach(() => network.clear());
  afterAll(() => network.close());
  return network;
}
