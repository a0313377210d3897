/**
 * Docker for tests: in a temporary folder on its own socket, without touching the machine's network. With
 * `WHERRY_DOCKER=podman` it is Podman.
 */
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { EngineCalls } from '../engine/container-engine.ts';
import {
  busyboxRoot,
  removeEngine,
  type TestEngine,
  testImage,
  testImageConfig,
  writeImageArchive,
} from '../engine/engine.fixture.ts';
import type { ImageStore } from '../engine/engine-images.ts';
import { EngineProcess } from '../engine/engine-process.fixture.ts';
import { labels, sandboxName } from '../engine/pod-identity.ts';
import { DockerApi } from './docker-api.ts';
import { dockerCalls } from './docker-calls.ts';
import { DockerImages } from './docker-images.ts';

const usesPodman = process.env.WHERRY_DOCKER === 'podman';
const program = usesPodman ? 'podman' : 'dockerd';

export class TestDocker implements TestEngine {
  readonly isPodman = usesPodman;
  readonly api: DockerApi;
  readonly calls: EngineCalls;
  readonly store: ImageStore;
  readonly #process: EngineProcess;

  private constructor(
    readonly folder: string,
    readonly socket: string,
  ) {
    this.api = new DockerApi(socket);
    this.calls = dockerCalls(this.api);
    this.store = new DockerImages(this.api, 'test');
    const path = (name: string): string => join(folder, name);
    const args = usesPodman
      ? [
          ['--root', path('data'), '--runroot', path('exec'), '--tmpdir', path('tmp')],
          [
            '--cgroup-manager',
            'cgroupfs',
            '--events-backend',
            'file',
            '--network-config-dir',
            path('networks'),
          ],
          ['system', 'service', '--time=0', `unix://${socket}`],
        ]
      : [
          ['--data-root', path('data')],
          ['--exec-root', path('exec')],
          ['--pidfile', path('pid')],
          ['--host', `unix://${socket}`],
          ['--bridge=none', '--iptables=false', '--ip6tables=false', '--ip-masq=false', '--ip-forward=false'],
          ['--live-restore'],
        ];
    this.#process = new EngineProcess(program, args.flat(), () => this.api.negotiate(), {
      // Podman's helpers write into the current folder.
      cwd: folder,
      env: { CONTAINERS_CONF: path('containers.conf') },
    });
  }

  static async start(): Promise<TestDocker> {
    const folder = await mkdtemp(join(tmpdir(), 'wherry-docker-'));
    const docker = new TestDocker(folder, join(folder, 'd.sock'));
    try {
      // Podman sets limits by default that need more rights than tests may have.
      if (usesPodman)
        await writeFile(join(folder, 'containers.conf'), '[containers]\ndefault_ulimits = []\n');
      await docker.run();
      await docker.#load();
      await docker.#trial();
      return docker;
    } catch (error) {
      await docker.close();
      throw error;
    }
  }

  /** Starts the engine, or starts it again. */
  async run(): Promise<void> {
    await rm(join(this.folder, 'pid'), { force: true });
    await this.#process.start();
  }

  async #load(): Promise<void> {
    const layer = await busyboxRoot(this.folder);
    const archive = await writeImageArchive(join(this.folder, 'image'), testImage, layer, testImageConfig);
    const answer = await this.api.stream('POST', '/images/load', { body: await readFile(archive) });
    for await (const _ of answer);
  }

  async #trial(): Promise<void> {
    const HostConfig = { NetworkMode: 'none' };
    const { Id } = await this.api.json<{ Id: string }>('POST', '/containers/create', {
      body: { Image: testImage, Cmd: ['true'], HostConfig },
    });
    await this.api.json('POST', `/containers/${Id}/start`);
    await this.api.json('POST', `/containers/${Id}/wait`);
    await this.api.json('DELETE', `/containers/${Id}`, { query: { force: true } });
  }

  /** Ids of all containers. */
  async containers(): Promise<string[]> {
    const found = await this.api.json<{ Id: string }[]>('GET', '/containers/json', { query: { all: true } });
    return found.map(({ Id }) => Id);
  }

  async killSandbox(uid: string): Promise<void> {
    const filters = JSON.stringify({
      label: [`${labels.podUid}=${uid}`, `${labels.container}=${sandboxName}`],
    });
    for (const { Id } of await this.api.json<{ Id: string }[]>('GET', '/containers/json', {
      query: { filters },
    }))
      await this.api.json('POST', `/containers/${Id}/kill`);
  }

  async makeStranger(image = testImage): Promise<string[]> {
    const { Id } = await this.api.json<{ Id: string }>('POST', '/containers/create', {
      body: { Image: image, Cmd: ['true'] },
    });
    return [Id];
  }

  kill(signal: NodeJS.Signals): Promise<void> {
    return this.#process.kill(signal);
  }

  async close(): Promise<void> {
    // Twice: Podman keeps a sandbox until its containers are gone.
    for (let round = 0; round < 2; round++)
      for (const id of await this.containers().catch(() => []))
        await this.calls.delete(id, false).catch(() => undefined);
    this.api.close();
    await this.kill('SIGTERM');
    await removeEngine(this.folder);
  }
}
