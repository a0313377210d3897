/** Where Docker, Docker Desktop, Colima and Podman have their sockets. */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { homeFolder } from '../../../platform.ts';

/** The sockets to try, best first. `off` as the wish: none. */
export function dockerSockets(wish: string | undefined): string[] {
  if (wish !== undefined) return wish === 'off' ? [] : [wish];
  const { DOCKER_HOST, XDG_RUNTIME_DIR } = process.env;
  const home = homeFolder();
  return [
    ...(DOCKER_HOST?.startsWith('unix://') ? [DOCKER_HOST.slice('unix://'.length)] : []),
    '/var/run/docker.sock',
    ...(home === undefined
      ? []
      : [join(home, '.docker/run/docker.sock'), join(home, '.colima/default/docker.sock')]),
    '/run/podman/podman.sock',
    ...(XDG_RUNTIME_DIR ? [join(XDG_RUNTIME_DIR, 'podman/podman.sock')] : []),
  ];
}

export const existing = (sockets: readonly string[]): string[] => sockets.filter((path) => existsSync(path));
