/** Ports of this machine: whether they can be listened at, and sentences about those that cannot. */
import { once } from 'node:events';
import { createServer } from 'node:net';
import { StartError } from './start-error.ts';

export interface ListenPort {
  readonly host: string;
  /** The port; 0 or undefined: any port, or none. */
  readonly port: number | undefined;
}

/** Throws a `StartError` for the first port that cannot be listened at, before anything else is started. */
export async function checkPorts(ports: readonly ListenPort[]): Promise<void> {
  for (const { host, port } of ports) {
    if (!port) continue;
    const server = createServer().listen({ host, port, exclusive: true });
    try {
      await once(server, 'listening');
    } catch (error) {
      throw listenError(error, { host, port });
    }
    server.close();
    await once(server, 'close');
  }
}

/** Turns a failure to listen into a `StartError`; returns other errors unchanged. */
export function listenError(
  error: unknown,
  asked: { readonly host?: string | undefined; readonly port?: number | 'off' | undefined },
): unknown {
  // Node's error names the port that could not be opened: the server's or the ingress'.
  const {
    code,
    address: host = asked.host ?? '127.0.0.1',
    port = asked.port,
  } = error as NodeJS.ErrnoException & { address?: string; port?: number };
  if (code === 'EADDRINUSE')
    return new StartError(`port ${port} on ${host} is taken by another process`, { cause: error });
  if (code === 'EACCES')
    return new StartError(`port ${port} on ${host} may not be used by this user`, { cause: error });
  if (code === 'EADDRNOTAVAIL' || code === 'ENOTFOUND')
    return new StartError(`${host} is not an address of this machine`, { cause: error });
  return error;
}
