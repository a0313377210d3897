/**
 * Port-forwards of the server: ports of this machine's loopback address that lead to a port of a pod or service, as
 * with `kubectl port-forward`, for users of the local door. They end when they are closed, or with the server.
 */
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { plain, StatusError } from '../../api/errors/errors.ts';
import type { Pod } from '../../api/generated/types.ts';
import type { Connecting } from '../pods/connecting.ts';
import { PodPorts } from '../pods/pod-ports.ts';
import { locatePod } from '../pods/pod-target.ts';
import { ServiceDialing } from '../pods/service-dialing.ts';

const forwardsMax = 50;
/** Connections of one forward that are open at a time. */
const connectionsMax = 256;
const host = '127.0.0.1';

export interface ForwardTarget {
  readonly kind: 'pods' | 'services';
  readonly namespace: string;
  readonly name: string;
  readonly port: number;
}

export interface PortForward extends ForwardTarget {
  readonly id: string;
  readonly localPort: number;
  readonly openedMs: number;
  /** Connections that are open, and how many there were. */
  open: number;
  total: number;
  /** Why the last connection failed; undefined after one that did not. */
  error: string | undefined;
}

export class PortForwards {
  readonly #forwards = new Map<string, { readonly forward: PortForward; readonly close: () => void }>();
  readonly #pods: PodPorts;
  readonly #services: ServiceDialing;
  #lastId = 0;

  constructor(private readonly connecting: Connecting) {
    this.#pods = new PodPorts(connecting, 'loopback');
    this.#services = new ServiceDialing(connecting);
  }

  list(): readonly PortForward[] {
    return Array.from(this.#forwards.values(), ({ forward }) => forward);
  }

  /** @param localPort 0 for any that is free */
  async open(target: ForwardTarget, localPort: number): Promise<PortForward> {
    if (this.#forwards.size >= forwardsMax)
      throw new StatusError(
        429,
        'TooManyRequests',
        `there are ${forwardsMax} port-forwards already; close one first`,
        {},
      );
    // Half-open: a client may have said everything and wait for the answer.
    const server = createServer({ allowHalfOpen: true });
    server.maxConnections = connectionsMax;
    await listening(server, localPort);
    const forward: PortForward = {
      ...target,
      id: String(++this.#lastId),
      localPort: (server.address() as AddressInfo).port,
      openedMs: this.connecting.registry.sources.nowMs(),
      open: 0,
      total: 0,
      error: undefined,
    };
    const sockets = new Set<Socket>();
    server.on('connection', (socket) => {
      sockets.add(socket);
      socket.once('close', () => sockets.delete(socket));
      void this.#carry(forward, socket);
    });
    const close = (): void => {
      this.#forwards.delete(forward.id);
      server.close();
      for (const socket of sockets) socket.destroy();
    };
    // The server closes it together with all other connections.
    const release = this.connecting.open.add(close);
    server.once('close', release);
    this.#forwards.set(forward.id, { forward, close });
    return forward;
  }

  /** Ends a forward and its connections; returns undefined if there is no such forward. */
  close(id: string): PortForward | undefined {
    const found = this.#forwards.get(id);
    found?.close();
    return found?.forward;
  }

  async #carry(forward: PortForward, socket: Socket): Promise<void> {
    forward.total++;
    forward.open++;
    socket.once('close', () => forward.open--);
    socket.on('error', () => socket.destroy());
    // What the client sends waits until the pod is reached.
    socket.pause();
    let other: Duplex;
    try {
      other = await this.#dial(forward);
    } catch (error) {
      forward.error = (error as Error).message;
      socket.destroy();
      return;
    }
    forward.error = undefined;
    other.on('error', (error) => {
      forward.error = error.message;
      socket.destroy();
    });
    other.once('close', () => socket.destroySoon());
    socket.once('close', () => other.destroy());
    if (socket.destroyed) return void other.destroy();
    socket.pipe(other);
    other.pipe(socket);
  }

  async #dial({ kind, namespace, name, port }: ForwardTarget): Promise<Duplex> {
    if (kind === 'services') return this.#services.dial(namespace, name, port);
    const entry = this.connecting.registry.view.collection('core/pods').get(namespace, name);
    if (!entry) throw plain(`pod ${JSON.stringify(name)} not found`);
    const pod = entry.object() as Pod;
    const node = locatePod(this.connecting, pod);
    if (!node) throw plain(`pod ${name} does not have a host assigned`);
    return this.#pods.dial(pod, node, port);
  }
}

const listening = (server: Server, port: number): Promise<void> =>
  new Promise((resolve, reject) => {
    server.once('error', (error: NodeJS.ErrnoException) => reject(refusalOf(error, port)));
    server.listen(port, host, resolve);
  });

function refusalOf({ code, message }: NodeJS.ErrnoException, port: number): StatusError {
  if (code === 'EADDRINUSE')
    return new StatusError(409, 'Conflict', `port ${port} of this machine is in use`, {});
  if (code === 'EACCES')
    return new StatusError(403, 'Forbidden', `port ${port} may not be opened by this user`, {});
  return plain(message);
}
