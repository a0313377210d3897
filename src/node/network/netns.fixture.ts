/** Pod networks for tests: real ones, each with a unique name, removed even when a test fails. */
import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
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
  readonly #children = new Set<ChildProcess>();

  async open(): Promise<void> {
    this.claimFolder = await mkdtemp(join(tmpdir(), 'wherry-claims-'));
  }

  /** Closes everything a test has opened, and asserts that nothing is left. */
  async clear(): Promise<void> {
    for (const child of this.#children) child.kill('SIGKILL');
    this.#children.clear();
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

  /** Runs a Node script in a pod; resolves when the script reports that it is ready. */
  async serve(attachment: PodAttachment | undefined, program: string): Promise<ChildProcess> {
    const child = this.#spawn(attachment, program);
    await new Promise<void>((resolve, reject) => {
      child.stdout!.once('data', () => resolve());
      child.once('exit', () => reject(new Error('the server did not start')));
    });
    return child;
  }

  /** Runs a Node script in a pod until it exits; resolves with its output. */
  async run(attachment: PodAttachment | undefined, program: string): Promise<string> {
    const child = this.#spawn(attachment, program);
    let output = '';
    child.stdout!.setEncoding('utf8').on('data', (text: string) => {
      output += text;
    });
    await new Promise((resolve) => child.once('close', resolve));
    return output.trim();
  }

  #spawn(attachment: PodAttachment | undefined, program: string): ChildProcess {
    const own = [process.execPath, '-e', program];
    const [file, ...args] = attachment?.wrap(own) ?? own;
    const child = spawn(file!, args, { stdio: ['ignore', 'pipe', 'inherit'] });
    this.#children.add(child);
    return child;
  }
}

/** Links, namespaces and routes named after an agent. */
export async function leftOf(id: string): Promise<string[]> {
  const text = (...args: string[]): string[] => execFileSync('ip', args, { encoding: 'utf8' }).split('\n');
  const lines = [...text('-o', 'link'), ...text('netns'), ...text('route', 'show', 'table', 'all')];
  return lines.filter((line) => line.includes(id));
}

export const pod = (spec: Partial<PodSpec> = {}): Pod => ({
  metadata: { name: 'p', namespace: 'default', uid: randomUUID() },
  spec: { containers: [], ...spec },
});

/** A script that sends its name to every client. */
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
