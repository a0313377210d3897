/** Host ports: ports of the machine forwarded to a pod with its own network, while the pod exists. */
import type { Socket } from 'node:net';
import type { Pod } from '../../api/generated/types.ts';
import { dialTcp } from '../../streams/dial/dialing.ts';
import { hostDoor } from './service-door.ts';
import { type ListenerContext, ServiceListener } from './service-listener.ts';
import type { ServiceEntry } from './service-ports.ts';
import { join, reset } from './tcp-forward.ts';

/** Maximum concurrent connections to one pod. Further ones are reset. */
const connectionsMax = 1_024;

export interface HostPortTarget {
  readonly ip: string;
  readonly port: number;
}

export class HostPorts {
  readonly #listeners: readonly ServiceListener[];
  readonly #connections = new Set<Socket>();
  #closed = false;

  /** `address` is the node's address; `target` says where a port of the pod is reached. */
  constructor(
    pod: Pod,
    target: (port: number) => HostPortTarget,
    address: string,
    onError: (error: Error) => void,
  ) {
    const context: ListenerContext = {
      addresses: (entry) => (entry.ip ? [entry.ip] : [...new Set([address, '127.0.0.1'])]),
      door: () => hostDoor,
      serve: (client, entry) => void this.#serve(client, entry),
      choose: (_client, { targets }) => targets[0],
      onError,
    };
    this.#listeners = hostEntries(pod, target).map((entry) => new ServiceListener(entry, context));
  }

  /** Resolves when every port listens or has failed to. */
  async settled(): Promise<void> {
    await Promise.all(this.#listeners.map((listener) => listener.settled()));
  }

  async close(): Promise<void> {
    this.#closed = true;
    await Promise.all(this.#listeners.map((listener) => listener.close()));
    for (const connection of this.#connections) reset(connection);
  }

  async #serve(client: Socket, { targets: [target] }: ServiceEntry): Promise<void> {
    client.on('error', () => undefined);
    client.allowHalfOpen = true;
    if (this.#closed || this.#connections.size >= connectionsMax) return reset(client);
    this.#connections.add(client);
    client.once('close', () => this.#connections.delete(client));
    const socket = await dialTcp([target!.ip], target!.port).catch(() => undefined);
    if (socket && !client.destroyed && !this.#closed) return join(client, socket);
    socket?.destroy();
    reset(client);
  }
}

function hostEntries(pod: Pod, target: (port: number) => HostPortTarget): ServiceEntry[] {
  const { namespace, name, uid } = pod.metadata;
  const { containers = [], initContainers = [] } = pod.spec ?? {};
  return [...initContainers, ...containers].flatMap(({ ports = [] }) =>
    ports.flatMap(({ hostPort = 0, hostIP, containerPort = 0, protocol = 'TCP' }) => {
      if (!hostPort || (protocol !== 'TCP' && protocol !== 'UDP')) return [];
      const own = hostIP && hostIP !== '0.0.0.0' && hostIP !== '::' ? hostIP : undefined;
      const key = `${namespace}/${name} ${uid} ${own ?? '*'}:${hostPort}/${protocol}`;
      const targets = [{ ...target(containerPort), shared: false }];
      return [
        {
          ...{ key, entrance: 'node' as const, protocol, ip: own, port: hostPort, targets },
          subject: `pod ${namespace}/${name}`,
          affinityKey: key,
          affinityMs: undefined,
          isApi: false,
        },
      ];
    }),
  );
}
