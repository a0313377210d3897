/** Pods in containers of Docker or Podman. */
import type { EngineBase } from '../engine/container-engine.ts';
import type { EngineLimits } from '../engine/container-limits.ts';
import type { RunFacts } from '../engine/engine-container.ts';
import { EngineRuntime, type EngineRuntimeOptions } from '../engine/engine-runtime.ts';
import type { DockerApi } from './docker-api.ts';
import { limitsBody } from './docker-bodies.ts';
import { dockerCalls } from './docker-calls.ts';
import { DockerContainer } from './docker-container.ts';
import { DockerEvents } from './docker-events.ts';
import { DockerImages } from './docker-images.ts';
import { type DockerEngine, DockerPod } from './docker-pod.ts';
import type { DockerVersion, InspectedContainer } from './docker-types.ts';

export class DockerRuntime extends EngineRuntime<DockerEngine> {
  readonly name = 'docker';

  constructor(
    private readonly api: DockerApi,
    options: EngineRuntimeOptions,
  ) {
    super(options);
  }

  protected override async connect(base: EngineBase): Promise<DockerEngine> {
    const { api } = this;
    await api.negotiate();
    const version = await api.json<DockerVersion>('GET', '/version');
    const store = new DockerImages(api, base.owner.node);
    return {
      ...base,
      version: version.Version ?? '',
      api,
      calls: dockerCalls(api),
      events: new DockerEvents(api, base.owner.node),
      images: this.imagesOf(store),
      store,
      architecture: version.Arch ?? '',
      isPodman: version.Components?.some(({ Name }) => /podman/i.test(Name ?? '')) === true,
    };
  }

  protected override disconnect(): void {
    this.api.close();
  }

  protected override podOf(engine: DockerEngine, uid: string): DockerPod {
    return new DockerPod(engine, uid);
  }

  protected override async adopted(
    engine: DockerEngine,
    id: string,
    facts: RunFacts,
  ): Promise<DockerContainer> {
    return DockerContainer.of(
      engine,
      facts,
      await engine.api.json<InspectedContainer>('GET', `/containers/${id}/json`),
    );
  }

  protected override async update({ api }: DockerEngine, id: string, limits: EngineLimits): Promise<void> {
    // Here 0 means unchanged, so limits that are removed are set to -1.
    const body = {
      ...limitsBody(limits),
      CpuQuota: limits.cpuQuota || -1,
      ...(limits.memoryBytes ? {} : { Memory: 0, MemorySwap: -1 }),
    };
    await api.json('POST', `/containers/${id}/update`, { body });
  }
}
