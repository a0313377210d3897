/**
 * Forwards UDP datagrams: each client of a port gets its own socket to its target, which replies come back
 * on, until an idle timeout.
 */
import { createSocket, type Socket } from 'node:dgram';
import { isIPv6 } from 'node:net';
import { composedKey } from '../../composed-key.ts';
import { targetKey } from './affinity.ts';
import type { ServiceTarget } from './service-ports.ts';

const idleMs = 60_000;
/** Clients per port. Beyond this the oldest flow is closed. */
const clientsMax = 1_000;
const earlyMax = 16;

interface Flow {
  readonly target: string;
  readonly socket: Socket;
  readonly timer: NodeJS.Timeout;
  ready: boolean;
  /** Datagrams that arrived before the socket was ready. */
  readonly early: Buffer[];
}

export class UdpForward {
  readonly #flows = new Map<string, Flow>();

  constructor(
    private readonly server: Socket,
    private readonly choose: (client: string) => ServiceTarget | undefined,
  ) {
    server.on('message', (message, { address, port }) => this.#forward(message, address, port));
    server.on('error', () => undefined);
  }

  /** Closes flows to targets that no longer exist. */
  retain(targets: readonly ServiceTarget[]): void {
    const keys = new Set(targets.map(targetKey));
    for (const [client, { target }] of this.#flows) if (!keys.has(target)) this.#drop(client);
  }

  close(): Promise<void> {
    for (const client of this.#flows.keys()) this.#drop(client);
    return new Promise((resolve) => this.server.close(() => resolve()));
  }

  #forward(message: Buffer, address: string, port: number): void {
    const client = composedKey(address, String(port));
    const flow = this.#flows.get(client) ?? this.#begin(client, address, port);
    if (!flow) return;
    flow.timer.refresh();
    if (flow.ready) flow.socket.send(message);
    else if (flow.early.length < earlyMax) flow.early.push(message);
  }

  #begin(client: string, address: string, port: number): Flow | undefined {
    const target = this.choose(address);
    if (!target) return undefined;
    if (this.#flows.size >= clientsMax) this.#drop(this.#flows.keys().next().value!);
    const socket = createSocket(isIPv6(target.ip) ? 'udp6' : 'udp4');
    const timer = setTimeout(() => this.#drop(client), idleMs);
    timer.unref();
    const flow: Flow = { target: targetKey(target), socket, timer, ready: false, early: [] };
    this.#flows.set(client, flow);
    // A target that is gone causes an ICMP error: drop the flow, so that the client's next datagram may go to
    // another target.
    socket.on('error', () => this.#drop(client, flow));
    socket.on('message', (answer) => {
      timer.refresh();
      this.server.send(answer, port, address, () => undefined);
    });
    socket.once('connect', () => {
      flow.ready = true;
      for (const message of flow.early.splice(0)) socket.send(message);
    });
    socket.connect(target.port, target.ip);
    return flow;
  }

  #drop(client: string, only?: Flow): void {
    const flow = this.#flows.get(client);
    if (!flow || (only && flow !== only)) return;
    this.#flows.delete(client);
    clearTimeout(flow.timer);
    flow.socket.close();
  }
}
