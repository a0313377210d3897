/**
 * Ports of pods that only the agent of their node can reach. Each pod in use has a dialer, which keeps connections to
 * the agent for reuse.
 */
import type { Duplex } from 'node:stream';
import type { Pod } from '../../api/generated/types.ts';
import type { NodeLocation } from '../../streams/dial/node-connector.ts';
import type { PortDialer } from '../../streams/spdy/port-dialer.ts';
import type { Connecting } from './connecting.ts';
import { kubeletPath } from './pod-target.ts';

/** A dialer without connections is dropped after this time. A dialer closes its idle connections by itself. */
const idleMs = 60_000;
const protocol = 'portforward.k8s.io';
/** Bytes of an agent's error text that are reported. */
const refusalBytesMax = 1_000;

interface Way {
  readonly dialer: PortDialer;
  /** The last known location of the agent. */
  location: NodeLocation;
  /** Open connections and attempts. */
  uses: number;
  idle: NodeJS.Timeout | undefined;
  close(): void;
}

export class PodPorts {
  /** Dialers by the pod's uid, because a new pod of the same name is another pod. */
  readonly #ways = new Map<string, Way>();

  /** @param at whether the pod's address is dialled, as by proxies, or its loopback address, as by a port-forward */
  constructor(
    private readonly connecting: Connecting,
    private readonly at: 'address' | 'loopback' = 'address',
  ) {}

  async dial(pod: Pod, location: NodeLocation, port: number): Promise<Duplex> {
    const way = await this.#way(pod, location);
    way.location = location;
    way.uses++;
    clearTimeout(way.idle);
    const done = (): void => {
      way.uses--;
      const isOpen = this.#ways.get(pod.metadata.uid!) === way;
      if (way.uses === 0 && isOpen) way.idle = setTimeout(way.close, idleMs);
    };
    try {
      const connection = await way.dialer.dial(port);
      if (connection.closed) done();
      else connection.once('close', done);
      return connection;
    } catch (error) {
      done();
      throw error;
    }
  }

  async #way(pod: Pod, location: NodeLocation): Promise<Way> {
    const { PortDialer } = await import('../../streams/spdy/port-dialer.ts');
    const uid = pod.metadata.uid!;
    const known = this.#ways.get(uid);
    if (known) return known;
    const dialer = new PortDialer({ open: () => this.#open(pod, way.location) });
    const close = (): void => {
      clearTimeout(way.idle);
      this.#ways.delete(uid);
      release();
      dialer.close();
    };
    const way: Way = { dialer, location, uses: 0, idle: undefined, close };
    // The server closes it together with all other connections.
    const release = this.connecting.open.add(close);
    this.#ways.set(uid, way);
    return way;
  }

  async #open({ metadata }: Pod, location: NodeLocation): Promise<{ socket: Duplex; head: Buffer }> {
    const { upgradeToSpdy } = await import('../../streams/spdy/spdy-upgrade.ts');
    const answer = await upgradeToSpdy(() => this.connecting.nodes.connect(location), {
      method: 'POST',
      path: `${kubeletPath('portForward', metadata.namespace, metadata.name, metadata.uid)}${
        this.at === 'address' ? '?at=address' : ''
      }`,
      headers: [],
      protocols: [protocol],
    });
    if ('socket' in answer) return answer;
    const why = answer.refused.body.toString('utf8', 0, refusalBytesMax).trim();
    throw new Error(`unable to upgrade connection: ${why || `status code ${answer.refused.statusCode}`}`);
  }
}
