/** containerd for tests: in a temporary folder on its own socket, with its own network plugins' configuration. */
import { execFileSync, spawnSync } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { mkdir, mkdtemp, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { goArch } from '../../machine/machine.ts';
import type { EngineCalls } from '../engine/container-engine.ts';
import {
  busyboxRoot,
  pluginFolder,
  programOf,
  removeEngine,
  type TestEngine,
  testImage,
  testImageConfig,
  writeImageArchive,
} from '../engine/engine.fixture.ts';
import type { ImageStore } from '../engine/engine-images.ts';
import { EngineProcess } from '../engine/engine-process.fixture.ts';
import { pauseArchive, pausePath } from '../engine/pause-program.ts';
import { labels } from '../engine/pod-identity.ts';
import { bridgeOf } from './cni-configuration.ts';
import { CriApi } from './cri-api.ts';
import { criCalls } from './cri-calls.ts';
import { type CriFeatures, criFeatures } from './cri-features.ts';
import { CriImages } from './cri-images.ts';

const pauseImage = 'localhost/pause:1';

export class TestContainerd implements TestEngine {
  readonly api: CriApi;
  readonly calls: EngineCalls;
  readonly store: ImageStore;
  features: CriFeatures = criFeatures('', '');
  readonly #process: EngineProcess;

  private constructor(
    readonly folder: string,
    readonly socket: string,
  ) {
    this.api = new CriApi(socket);
    this.calls = criCalls(this.api);
    this.store = new CriImages(this.api);
    const ask = () => this.api.call('Version', {});
    this.#process = new EngineProcess('containerd', ['-c', join(folder, 'config.toml')], ask);
  }

  /** Keeps the layers of containers in plain folders where the system has no overlays. */
  static start(): Promise<TestContainerd> {
    return TestContainerd.#start('overlayfs').catch(() => TestContainerd.#start('native'));
  }

  static async #start(snapshotter: string): Promise<TestContainerd> {
    const folder = await mkdtemp(join(tmpdir(), 'wherry-containerd-'));
    const engine = new TestContainerd(folder, join(folder, 'c.sock'));
    try {
      await engine.#configure(snapshotter);
      await engine.run();
      const { name = '', version = '' } = await engine.api.call('Version', {});
      engine.features = criFeatures(name, version);
      await engine.#load(pauseImage, pauseArchive(goArch())!, { Entrypoint: [pausePath] });
      await engine.#load(testImage, await busyboxRoot(folder), testImageConfig);
      engine.#ctr('run', '--rm', '--snapshotter', snapshotter, testImage, 'trial', 'true');
      return engine;
    } catch (error) {
      await engine.close();
      throw error;
    }
  }

  /** Starts the engine, or starts it again. */
  run(): Promise<void> {
    return this.#process.start();
  }

  /** Ids of all containers and sandboxes. */
  async containers(): Promise<string[]> {
    return (await this.calls.list({})).map(({ id }) => id);
  }

  async killSandbox(uid: string): Promise<void> {
    const { items = [] } = await this.api.call('ListPodSandbox', {
      filter: { labels: { [labels.podUid]: uid } },
    });
    for (const { id } of items) {
      const { info } = await this.api.call('PodSandboxStatus', { id, verbose: true });
      const { pid } = JSON.parse(info!['info']!) as { pid: number };
      process.kill(pid, 'SIGKILL');
    }
  }

  async makeStranger(image = testImage): Promise<string[]> {
    const name = randomUUID();
    const linux = { securityContext: { namespaces: { network: 2, pid: 1 } } };
    const sandboxConfig = {
      metadata: { name, uid: name, namespace: 'other' },
      logDirectory: this.folder,
      linux,
    };
    const { id: sandbox = '' } = await this.api.call('RunPodSandbox', { config: sandboxConfig });
    const config = { metadata: { name }, image: { image }, command: ['true'], logPath: `${name}.log`, linux };
    const { id = '' } = await this.api.call('CreateContainer', { sandbox, config, sandboxConfig });
    return [id, sandbox];
  }

  kill(signal: NodeJS.Signals): Promise<void> {
    return this.#process.kill(signal);
  }

  async close(): Promise<void> {
    const { items = [] } = await this.api.call('ListPodSandbox', {}).catch(() => ({ items: [] }));
    for (const { id = '' } of items) await this.calls.delete(id, true).catch(() => undefined);
    this.api.close();
    await this.kill('SIGTERM');
    const ip = programOf('ip');
    if (ip) spawnSync(ip, ['link', 'del', bridgeOf(join(this.folder, 'cni'))]);
    await removeEngine(this.folder);
  }

  async #configure(snapshotter: string): Promise<void> {
    const path = (name: string): string => JSON.stringify(join(this.folder, name));
    await mkdir(join(this.folder, 'cni'));
    await writeFile(
      join(this.folder, 'config.toml'),
      `version = 2
root = ${path('root')}
state = ${path('state')}
[grpc]
  address = ${path('c.sock')}
[plugins."io.containerd.internal.v1.opt"]
  path = ${path('opt')}
[plugins."io.containerd.grpc.v1.cri"]
  sandbox_image = "${pauseImage}"
  disable_apparmor = true
  restrict_oom_score_adj = true
  stream_server_address = "127.0.0.1"
  stream_server_port = "0"
  netns_mounts_under_state_dir = true
[plugins."io.containerd.grpc.v1.cri".containerd]
  snapshotter = "${snapshotter}"
[plugins."io.containerd.grpc.v1.cri".cni]
  bin_dir = "${pluginFolder}"
  conf_dir = ${path('cni')}
`,
    );
  }

  async #load(name: string, layer: Buffer, config: object): Promise<void> {
    const folder = join(this.folder, name.replace(/\W/g, '-'));
    const archive = await writeImageArchive(folder, name, layer, config);
    this.#ctr('images', 'import', '--no-unpack', archive);
  }

  #ctr(...args: readonly string[]): void {
    execFileSync(programOf('ctr')!, ['-a', this.socket, '-n', 'k8s.io', ...args], { stdio: 'pipe' });
  }
}
