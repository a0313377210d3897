/** Runtimes that are loaded when the first pod needs them, or their engine is found. */
import { existsSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import type { DockerRuntimeOptions } from './docker/dockerruntime.ts';
import type { LateRuntime } from './runtimechoice.ts';

/** How long an engine may take for its first answer. */
const firstAnswerMs = 5_000;

/** Simulated pods on a node that also runs real ones. */
export const lateSimulation = (now: () => number): LateRuntime => ({
  name: 'simulated',
  isThere: () => true,
  open: async () => {
    const { SimulatedAddresses, SimulatedRuntime } = await import('./simulatedruntime.ts');
    return new SimulatedRuntime(new SimulatedAddresses(), now);
  },
});

/** Where Docker, Docker Desktop, Colima and Podman have their sockets. */
function dockerSockets(): string[] {
  const { DOCKER_HOST, XDG_RUNTIME_DIR } = process.env;
  const home = homedir();
  return [
    ...(DOCKER_HOST?.startsWith('unix://') ? [DOCKER_HOST.slice('unix://'.length)] : []),
    '/var/run/docker.sock',
    join(home, '.docker/run/docker.sock'),
    join(home, '.colima/default/docker.sock'),
    '/run/podman/podman.sock',
    ...(XDG_RUNTIME_DIR ? [join(XDG_RUNTIME_DIR, 'podman/podman.sock')] : []),
  ];
}

/** Docker or Podman. `off` as the socket: never. */
export function lateDocker(
  socket: string | undefined,
  options: Omit<DockerRuntimeOptions, 'api'>,
): LateRuntime {
  const sockets = socket === 'off' ? [] : socket === undefined ? dockerSockets() : [socket];
  return {
    name: 'docker',
    isThere: () => sockets.some((path) => existsSync(path)),
    open: async (wanted) => {
      const [{ DockerApi }, { DockerRuntime }] = await Promise.all([
        import('./docker/dockerapi.ts'),
        import('./docker/dockerruntime.ts'),
      ]);
      const there = sockets.filter((path) => existsSync(path));
      for (const path of there) {
        const api = new DockerApi(path);
        try {
          await api.negotiate(firstAnswerMs);
          return new DockerRuntime({ ...options, api });
        } catch {
          api.close();
        }
      }
      // Its pods wait until it answers.
      const first = there[0] ?? sockets[0];
      return wanted && first !== undefined
        ? new DockerRuntime({ ...options, api: new DockerApi(first) })
        : undefined;
    },
  };
}
