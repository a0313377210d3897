/** Connecting: what handlers of connections share, and the list of open connections. */
import type { Socket } from 'node:net';
import { unavailable } from '../../api/errors/errors.ts';
import type { Registry } from '../../registry/registry.ts';
import type { Writing } from '../../registry/writing.ts';
import { dialTcp } from '../../streams/dial/dialing.ts';
import type { NodeConnector } from '../../streams/dial/node-connector.ts';
import type { OwnDoors } from '../http/own-doors.ts';
import type { KeptLogSource } from './kept-log.ts';

export interface Connecting {
  readonly registry: Registry;
  readonly writing: Writing;
  readonly nodes: NodeConnector;
  /** Types of node addresses, in order of preference. */
  readonly addressTypes: readonly string[];
  readonly open: OpenConnections;
  /** Where this server itself listens, which is never dialled; absent for a server that does not listen. */
  readonly ownDoors?: OwnDoors | undefined;
  /** Logs of a copy, whose containers run elsewhere; absent: logs are asked of nodes. */
  readonly keptLogs?: KeptLogSource | undefined;
}

/** Connects to addresses that were checked with `target-address.ts`, unless one is a door of this server. */
export async function dialTarget(
  { ownDoors }: Connecting,
  addresses: readonly string[],
  port: number,
): Promise<Socket> {
  ownDoors?.refuse(addresses, port);
  return dialTcp(addresses, port);
}

export class OpenConnections {
  readonly #cuts = new Set<() => void>();
  #closed = false;

  /** Registers a connection until the returned function is called. `cut` closes it. */
  add(cut: () => void): () => void {
    if (this.#closed) throw unavailable('the server is shutting down');
    // Wrapped, because the same function may be added for two connections.
    const own = (): void => cut();
    this.#cuts.add(own);
    return () => void this.#cuts.delete(own);
  }

  /** Closes all connections, and refuses new ones. */
  cutAll(): void {
    this.#closed = true;
    for (const cut of this.#cuts) cut();
  }
}
