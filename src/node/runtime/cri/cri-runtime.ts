/** Pods in containers of an engine that speaks CRI: containerd, CRI-O. */
import type { LogFolder } from '../../logs/log-folder.ts';
import type { EngineBase } from '../engine/container-engine.ts';
import type { EngineLimits } from '../engine/container-limits.ts';
import type { RunFacts } from '../engine/engine-container.ts';
import { EngineRuntime, type EngineRuntimeOptions } from '../engine/engine-runtime.ts';
import { labels } from '../engine/pod-identity.ts';
import type { ContainerUsage } from '../runtime.ts';
import { type CriApi, isMissing } from './cri-api.ts';
import { resourcesOf } from './cri-bodies.ts';
import { criCalls } from './cri-calls.ts';
import { CriContainer } from './cri-container.ts';
import { CriEvents } from './cri-events.ts';
import { criFeatures } from './cri-features.ts';
import { CriImages } from './cri-images.ts';
import { CriNetwork } from './cri-network.ts';
import { type CriEngine, CriPod } from './cri-pod.ts';

/** How often log files are checked for rotation. */
const rotateMs = 10_000;

export interface CriRuntimeOptions extends EngineRuntimeOptions {
  /** The folder for links to the logs. */
  readonly logFolder: LogFolder | undefined;
}

export class CriRuntime extends EngineRuntime<CriEngine> {
  readonly name = 'cri';
  readonly #logFolder: LogFolder | undefined;
  #rotating: NodeJS.Timeout | undefined;

  constructor(
    private readonly api: CriApi,
    options: CriRuntimeOptions,
  ) {
    super(options);
    this.#logFolder = options.logFolder;
  }

  override async usage(): Promise<readonly ContainerUsage[]> {
    const runs = new Map(this.running().map((run) => [run.id, run as CriContainer]));
    if (!runs.size) return [];
    const { owner } = await this.ready();
    const { stats = [] } = await this.api.call('ListContainerStats', {
      filter: { labels: { [labels.node]: owner.node } },
    });
    return stats
      .map((one) => runs.get(one.attributes?.id ?? '')?.usageOf(one))
      .filter((one) => one !== undefined);
  }

  protected override async connect(base: EngineBase): Promise<CriEngine> {
    const { api } = this;
    const { name = '', version = '' } = await api.call('Version', {}).catch((error: Error) => {
      throw isMissing(error)
        ? new Error(
            `the engine at ${api.socketPath} does not speak CRI, or has it switched off: ${error.message}`,
          )
        : error;
    });
    const calls = criCalls(api);
    this.#rotating ??= setInterval(() => this.#rotate(), rotateMs).unref();
    return {
      ...base,
      version: `${name} ${version}`,
      api,
      calls,
      cni: new CriNetwork(api, base),
      events: new CriEvents(api, calls, base.owner.node),
      images: this.imagesOf(new CriImages(api)),
      logFolder: this.#logFolder,
      features: criFeatures(name, version),
    };
  }

  protected override disconnect(): void {
    clearInterval(this.#rotating);
    this.api.close();
  }

  protected override podOf(engine: CriEngine, uid: string): CriPod {
    return new CriPod(engine, uid);
  }

  protected override async adopted(
    engine: CriEngine,
    id: string,
    facts: RunFacts,
  ): Promise<CriContainer | undefined> {
    const { status, info } = await engine.api.call('ContainerStatus', { id, verbose: true });
    if (!status) return undefined;
    return CriContainer.of(engine, facts, id, status, hasTerminal(info?.['info']));
  }

  protected override async update({ api }: CriEngine, id: string, limits: EngineLimits): Promise<void> {
    const linux = resourcesOf(limits);
    // Here 0 means unchanged, so limits that are removed are set to -1.
    await api.call('UpdateContainerResources', {
      id,
      linux: {
        ...linux,
        cpuQuota: linux.cpuQuota || -1,
        memoryLimit: linux.memoryLimit || -1,
        memorySwapLimit: linux.memorySwapLimit || -1,
      },
    });
  }

  #rotate(): void {
    for (const run of this.running() as CriContainer[])
      run.log.rotate().then((done) => done && run.show(), this.options.onError);
  }
}

function hasTerminal(info: string | undefined): boolean {
  try {
    return (JSON.parse(info ?? '{}') as { config?: { tty?: boolean } }).config?.tty === true;
  } catch {
    return false;
  }
}
