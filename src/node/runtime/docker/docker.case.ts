/**
 * Docker for tests: in a temporary folder on its own socket, without touching the machine's network. With
 * `WHERRY_DOCKER=podman` it is Podman.
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { busyboxRoot, type TestEngine, testImage, testImageConfig } from '../engine/engine.case.ts';
import { EngineProcess } from '../engine/engineprocess.case.ts';
import { labels, sandboxName } from '../engine/podidentity.ts';
import { DockerApi } from './dockerapi.ts';

const usesPodman = process.env.WHERRY_DOCKER === 'podman';
export const dockerProgram = usesPodman ? 'podman' : 'dockerd';

export class TestDocker implements TestEngine {
  readonly api: DockerApi;
  readonly #process: EngineProcess;

  private constructor(
    readonly folder: string,
    readonly socket: string,
  ) {
    this.api = new DockerApi(socket);
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
    this.#process = new EngineProcess(dockerProgram, args.flat(), () => this.api.negotiate());
  }

  static async start(): Promise<TestDocker> {
    const folder = await mkdtemp(join(tmpdir(), 'wherry-docker-'));
    const docker = new TestDocker(folder, join(folder, 'd.sock'));
    try {
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
    const [repo, tag] = testImage.split(':');
    const { Cmd, Env, WorkingDir } = testImageConfig;
    const changes = [
      `CMD ${JSON.stringify(Cmd)}`,
      ...Env.map((text) => `ENV ${text}`),
      `WORKDIR ${WorkingDir}`,
    ];
    await this.api.json('POST', '/images/create', {
      query: { fromSrc: '-', repo, tag, changes: changes.join('\n') },
      body: await busyboxRoot(this.folder),
    });
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

  kill(signal: NodeJS.Signals): Promise<void> {
    return this.#process.kill(signal);
  }

  async close(): Promise<void> {
    for (const id of await this.containers().catch(() => []))
      await this.api
        .json('DELETE', `/containers/${id}`, { query: { force: true, v: true } })
        .catch(() => undefined);
    this.api.close();
    await this.kill('SIGTERM');
    await rm(this.folder, { recursive: true, force: true });
  }
}
