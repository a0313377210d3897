/** Runtimes that are loaded when the first pod needs them, or their engine is found. */
import type { CriRuntimeOptions } from './cri/criruntime.ts';
import { criSockets } from './cri/crisockets.ts';
import { dockerSockets, existing } from './docker/dockersockets.ts';
import type { EngineRuntimeOptions } from './engine/engineruntime.ts';
import type { LateRuntime } from './runtimechoice.ts';

/** Simulated pods on a node that also runs real ones. */
export const lateSimulation = (now: () => number): LateRuntime => ({
  name: 'simulated',
  isThere: () => true,
  open: async () => {
    const { SimulatedAddresses, SimulatedRuntime } = await import('./simulatedruntime.ts');
    return new SimulatedRuntime(new SimulatedAddresses(), now);
  },
});

/** Docker or Podman. `off` as the socket: never. */
export function lateDocker(socket: string | undefined, options: EngineRuntimeOptions): LateRuntime {
  const sockets = dockerSockets(socket);
  return {
    name: 'docker',
    isThere: () => existing(sockets).length > 0,
    open: async (wanted) => {
      const [{ DockerApi }, { openDocker }, { DockerRuntime }] = await Promise.all([
        import('./docker/dockerapi.ts'),
        import('./docker/dockercalls.ts'),
        import('./docker/dockerruntime.ts'),
      ]);
      const api = await openDocker(socket);
      if (api) return new DockerRuntime(api, options);
      // Its pods wait until it answers.
      const first = existing(sockets)[0] ?? sockets[0];
      return wanted && first !== undefined ? new DockerRuntime(new DockerApi(first), options) : undefined;
    },
  };
}

/** containerd or CRI-O. `off` as the socket: never. */
export function lateCri(socket: string | undefined, options: CriRuntimeOptions): LateRuntime {
  const sockets = criSockets(socket);
  return {
    name: 'cri',
    isThere: () => existing(sockets).length > 0,
    open: async (wanted) => {
      const [{ CriApi }, { openCri }, { CriRuntime }] = await Promise.all([
        import('./cri/criapi.ts'),
        import('./cri/cricalls.ts'),
        import('./cri/criruntime.ts'),
      ]);
      const api = await openCri(socket);
      if (api) return new CriRuntime(api, options);
      // Its pods wait until it answers.
      const first = existing(sockets)[0] ?? sockets[0];
      return wanted && first !== undefined ? new CriRuntime(new CriApi(first), options) : undefined;
    },
  };
}
