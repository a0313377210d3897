/** For tests of volumes: pods of a running cluster, with their volumes in a temporary folder per test. */
import { mkdtemp, readdir, readFile, realpath, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, expect } from 'vitest';
import type { Container, Node, Pod, PodSpec, Volume } from '../../api/generated/types.ts';
import { Client } from '../../client/client.ts';
import { pods } from '../../client/resources.ts';
import { type Cluster, start } from '../../cluster/index.ts';
import { ConfigObjects } from '../environment/config-objects.ts';
import { MountError, PodVolumes, type PodVolumesOptions } from './pod-volumes.ts';

const node: Node = { metadata: { name: 'n1' }, status: { allocatable: { cpu: '4', memory: '8Gi' } } };

export const isRoot = process.getuid?.() === 0;

export class TestVolumes {
  client!: Client;
  folder = '';
  clockMs = 0;
  errors: Error[] = [];
  #cluster: Cluster | undefined;
  #objects!: ConfigObjects;
  #serial = 0;
  readonly #opened: PodVolumes[] = [];

  async start(): Promise<void> {
    // No controllers, so that nothing else binds claims or deletes pods.
    this.#cluster = await start({ store: 'memory', controllers: false });
    this.client = new Client(this.#cluster.url);
  }

  async stop(): Promise<void> {
    this.client.close();
    await this.#cluster!.close();
  }

  async beginTest(): Promise<void> {
    this.folder = await realpath(await mkdtemp(join(tmpdir(), 'wherry-volumes-')));
    // No caching, so that a refresh sees a change made just before.
    this.#objects = new ConfigObjects(this.client, { ageMaxMs: 0 });
    this.clockMs = Date.now();
    this.errors = [];
  }

  async endTest(): Promise<void> {
    for (const volumes of this.#opened.splice(0)) await volumes.close();
    this.#objects.close();
    await rm(this.folder, { recursive: true, force: true });
  }

  /** A pod in the cluster with a container that mounts every volume at its name. */
  async createPod(volumes: Volume[], spec: PodSpec = {}, container: Container = {}): Promise<Pod> {
    const volumeMounts = volumes.map(({ name }) => ({ name, mountPath: `/${name}` }));
    return this.client.create(pods, 'default', {
      metadata: { name: `pod-${(this.#serial += 1)}`, labels: { app: 'web' } },
      spec: {
        automountServiceAccountToken: false,
        nodeName: 'n1',
        ...spec,
        volumes,
        containers: [{ name: 'c', image: 'i', volumeMounts, ...container }],
      },
    });
  }

  volumesOf(pod: Pod, more: Partial<PodVolumesOptions> = {}): PodVolumes {
    const volumes = new PodVolumes({
      pod,
      folder: this.folder,
      client: this.client,
      objects: this.#objects,
      node,
      podIP: () => '10.1.0.5',
      hostIP: '192.168.0.9',
      now: () => this.clockMs,
      onError: (error) => this.errors.push(error),
      ...more,
    });
    this.#opened.push(volumes);
    return volumes;
  }

  async setUp(list: Volume[], spec?: PodSpec, container?: Container) {
    const pod = await this.createPod(list, spec, container);
    const volumes = this.volumesOf(pod);
    await volumes.setUp();
    return { pod, volumes, container: pod.spec!.containers![0]! };
  }

  async failure(list: Volume[]): Promise<MountError> {
    const error = await this.setUp(list).then(
      () => new Error('it was set up'),
      (thrown: Error) => thrown,
    );
    expect(error).toBeInstanceOf(MountError);
    return error as MountError;
  }

  file(...names: string[]): Promise<string> {
    return readFile(join(this.folder, 'volumes', ...names), 'utf8');
  }

  async visible(name: string): Promise<string[]> {
    const entries = await readdir(join(this.folder, 'volumes', name));
    return entries.filter((entry) => !entry.startsWith('..')).sort();
  }

  async modeOf(...names: string[]): Promise<number> {
    return (await stat(join(this.folder, 'volumes', ...names))).mode & 0o7777;
  }
}

export function useVolumes(): TestVolumes {
  const place = new TestVolumes();
  beforeAll(() => place.start());
  beforeEach(() => place.beginTest());
  afterEach(() => place.endTest());
  afterAll(() => place.stop());
  return place;
}
