/** A cluster that runs pods as processes of this machine, with a kubectl, for the tests of a file. */
import { type ChildProcess, spawn } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type { Readable, Writable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, expect } from 'vitest';
import type { Container, Pod } from '../../src/api/generated/types.ts';
import { type Cluster, type StartOptions, start } from '../../src/cluster/index.ts';
import { Kubectl } from '../kubectl/kubectl.ts';
import { Client, type WatchEvent } from '../support/http.ts';

export const podsPath = '/api/v1/namespaces/default/pods';

/** A cluster, and the clients connected to it. */
export class ClusterAccess {
  kubectl!: Kubectl;
  readonly client = new Client(() => this.kubectl.cluster.url);
  readonly #commands = new Set<Command>();

  /** Ends all commands started here. */
  async endCommands(): Promise<void> {
    await Promise.all([...this.#commands].map((command) => command.end()));
  }

  /** kubectl with pipes; ended with the test file at the latest. */
  command(...args: string[]): Command {
    const child = spawn(this.kubectl.program, args, { env: this.kubectl.environment, stdio: 'pipe' });
    const command = new Command(child);
    this.#commands.add(command);
    void command.exited.then(() => this.#commands.delete(command));
    return command;
  }

  /** Creates a pod; resolves when it fits `wanted`, by default when all its containers are ready. */
  async run(pod: Pod, wanted: (pod: Pod) => boolean = isReady): Promise<Pod> {
    const made = await this.client.post(podsPath, pod);
    if (made.status !== 200) throw new Error(made.text);
    return this.until(pod.metadata.name!, wanted);
  }

  async until(name: string, wanted: (pod: Pod) => boolean): Promise<Pod> {
    const watch = await this.client.watch(`/api/v1/watch/namespaces/default/pods/${name}?resourceVersion=0`);
    try {
      return (await watch.until(({ type, object }) => type !== 'DELETED' && wanted(object))).object;
    } finally {
      watch.close();
    }
  }

  async untilGone(name: string): Promise<void> {
    const { body } = await this.client.get(`${podsPath}?fieldSelector=metadata.name%3D${name}`);
    if (!body.items.length) return;
    const from = body.metadata.resourceVersion;
    const watch = await this.client.watch(
      `/api/v1/watch/namespaces/default/pods/${name}?resourceVersion=${from}`,
    );
    await watch.until(({ type }: WatchEvent) => type === 'DELETED');
    watch.close();
  }
}

/** A cluster in this process. */
export class RunningCluster extends ClusterAccess {
  folder!: string;
  cluster!: Cluster;
  /** Errors that the cluster reported. */
  readonly errors: Error[] = [];

  async open(options: StartOptions): Promise<void> {
    this.folder = await mkdtemp(path.join(tmpdir(), 'wherry-streams-'));
    const node = { folder: path.join(this.folder, 'node'), name: 'here' };
    const onError = (error: Error) => void this.errors.push(error);
    this.cluster = await start({ store: 'memory', node, onError, ...options });
    this.kubectl = new Kubectl(this.cluster);
    await this.cluster.nodesReady;
  }

  /** Closes everything, and asserts that no process is left. */
  async close(): Promise<void> {
    await this.endCommands();
    const agent = agentOf(this.folder);
    await this.kubectl.cluster.close();
    this.kubectl.close();
    expect(processesOf(agent)).toEqual([]);
    await rm(this.folder, { recursive: true, force: true });
    expect(this.errors).toEqual([]);
  }
}

export interface Exit {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
}

/** A running kubectl. */
export class Command {
  readonly stdin: Writable;
  readonly stdout: Readable;
  /** All its stderr. */
  readonly complaints: Promise<string>;
  readonly exited: Promise<Exit>;

  constructor(private readonly child: ChildProcess) {
    this.stdin = child.stdin!;
    this.stdout = child.stdout!;
    // Ignore EPIPE: a command may end before its input does.
    this.stdin.on('error', () => undefined);
    this.complaints = text(child.stderr!);
    this.exited = new Promise((resolve) => {
      child.on('exit', (code, signal) => resolve({ code, signal }));
    });
  }

  kill(signal: NodeJS.Signals): void {
    this.child.kill(signal);
  }

  async end(): Promise<void> {
    this.kill('SIGKILL');
    this.stdout.destroy();
    await this.exited;
  }

  /** Its output, up to and including the match. */
  async until(pattern: RegExp): Promise<RegExpExecArray> {
    let seen = '';
    for await (const chunk of this.stdout.iterator({ destroyOnReturn: false })) {
      seen += chunk;
      const match = pattern.exec(seen);
      if (match) return match;
    }
    throw new Error(`it ended without ${pattern}: ${seen}${await this.complaints}`);
  }
}

export const isReady = (pod: Pod): boolean =>
  !!pod.status?.conditions?.some(({ type, status }) => type === 'Ready' && status === 'True');

export const hasEnded = (pod: Pod): boolean =>
  pod.status?.phase === 'Succeeded' || pod.status?.phase === 'Failed';

/** A container that runs a script. */
export const shell = (script: string, more: Partial<Container> = {}): Container => ({
  name: 'main',
  image: 'host',
  command: ['sh', '-c', script],
  ...more,
});

/** A container that runs a Node script given as text; further values are its arguments. */
export const program = (
  source: string,
  args: readonly string[] = [],
  more: Partial<Container> = {},
): Container => ({
  name: 'main',
  image: 'host',
  command: [process.execPath, '-e', source, ...args],
  ...more,
});

export const podOf = (name: string, containers: Container | Container[], spec: object = {}): Pod => ({
  metadata: { name, labels: { app: name } },
  spec: { containers: [containers].flat(), terminationGracePeriodSeconds: 1, ...spec },
});

/** The pod with a folder of the machine at its own path: the machine's `/tmp` is not that of a container. */
export const withFolder = (folder: string, pod: Pod): Pod => ({
  ...pod,
  spec: {
    ...pod.spec!,
    volumes: [{ name: 'folder', hostPath: { path: folder } }],
    containers: pod.spec!.containers!.map((container) => ({
      ...container,
      volumeMounts: [{ name: 'folder', mountPath: folder }],
    })),
  },
});

/** The mark of all processes of an agent. */
export const agentOf = (folder: string): string =>
  readFileSync(path.join(folder, 'node', 'agent-id'), 'utf8');

/** Processes of an agent's containers, and its helper processes. */
export function processesOf(agent: string): string[] {
  return readdirSync('/proc')
    .filter((pid) => /^\d+$/.test(pid) && read(`/proc/${pid}/environ`).includes(agent))
    .map((pid) => `${pid} ${read(`/proc/${pid}/cmdline`).replaceAll('\0', ' ')}`);
}

/** Empty if the process is already gone. */
function read(file: string): string {
  try {
    return readFileSync(file, 'latin1');
  } catch {
    return '';
  }
}

/** One cluster for the tests of a file. */
export function useRunningCluster(options: StartOptions = {}): RunningCluster {
  const cluster = new RunningCluster();
  beforeAll(() => cluster.open(options));
  afterAll(() => cluster.close());
  return cluster;
}
