/** Runtimes that are loaded when the first pod needs them, or their engine is found. */
import type { CriRuntimeOptions } from '../runtime/cri/cri-runtime.ts';
import { criSockets } from '../runtime/cri/cri-sockets.ts';
import { dockerSockets, existing } from '../runtime/docker/docker-sockets.ts';
import type { EngineRuntimeOptions } from '../runtime/engine/engine-runtime.ts';
import type { Runtime } from '../runtime/runtime.ts';
import type { LateRuntime } from '../runtime/runtime-choice.ts';

/** Simulated pods on a node that also runs real ones. */
export const lateSimulation = (now: () => number): LateRuntime => ({
  name: 'simulated',
  isThere: () => true,
  open: async () => {
    const { SimulatedAddresses, SimulatedRuntime } = await import(
      '../runtime/simulated/simulated-runtime.ts'
    );
    return new SimulatedRuntime(new SimulatedAddresses(), now);
  },
});

/** Docker or Podman; never, if the socket is `off`. */
export const lateDocker = (socket: string | undefined, options: EngineRuntimeOptions): LateRuntime =>
  lateEngine('docker', dockerSockets(socket), async () => {
    const [{ DockerApi }, { openDocker }, { DockerRuntime }] = await Promise.all([
      import('../runtime/docker/docker-api.ts'),
      import('../runtime/docker/docker-calls.ts'),
      import('../runtime/docker/docker-runtime.ts'),
    ]);
    return {
      find: () => openDocker(socket),
      at: (path) => new DockerApi(path),
      runtime: (api) => new DockerRuntime(api, options),
    };
  });

/** containerd or CRI-O; never, if the socket is `off`. */
export const lateCri = (socket: string | undefined, options: CriRuntimeOptions): LateRuntime =>
  lateEngine('cri', criSockets(socket), async () => {
    const [{ CriApi }, { openCri }, { CriRuntime }] = await Promise.all([
      import('../runtime/cri/cri-api.ts'),
      import('../runtime/cri/cri-calls.ts'),
      import('../runtime/cri/cri-runtime.ts'),
    ]);
    return {
      find: () => openCri(socket),
      at: (path) => new CriApi(path),
      runtime: (api) => new CriRuntime(api, options),
    };
  });

interface EngineCode<Api> {
  /** Finds the engine; undefined when none answers. */
  find(): Promise<Api | undefined>;
  at(socket: string): Api;
  runtime(api: Api): Runtime;
}

const lateEngine = <Api>(
  name: LateRuntime['name'],
  sockets: readonly string[],
  load: () => Promise<EngineCode<Api>>,
): LateRuntime => ({
  name,
  isThere: () => existing(sockets).length > 0,
  open: async (wanted) => {
    const code = await load();
    const api = await code.find();
    if (api) return code.runtime(api);
    // No engine answers now: its pods wait until it does.
    const first = existing(sockets)[0] ?? sockets[0];
    return wanted && first !== undefined ? code.runtime(code.at(first)) : undefined;
  },
});
