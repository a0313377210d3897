/**
 * Backends: the endpoints behind service ports, used in rotation. The lists are rebuilt only when something
 * changes.
 */
import { endpointsOfPort, reachableEndpoints } from '../api/rules/service/slice-endpoints.ts';
import type { Client } from '../client/client.ts';
import { ServiceDirectory } from '../client/service-directory.ts';
import { entryOf } from './hosts.ts';
import type { BackendPort } from './routes.ts';

export interface Endpoint {
  readonly ip: string;
  readonly port: number;
  /** The pod that the endpoint claims to be. Users may write slices, so it need not be true. */
  readonly pod?: { readonly namespace: string; readonly name: string };
}

interface Rotation {
  readonly endpoints: readonly Endpoint[];
  next: number;
}

export class Backends {
  readonly #directory: ServiceDirectory;
  /** By service, then by port. */
  readonly #rotations = new Map<string, Map<string, Rotation>>();

  constructor(client: Client, onError: (error: Error) => void) {
    this.#directory = new ServiceDirectory(client, onError);
    this.#directory.onChange(({ namespace, name }) => this.#rotations.delete(`${namespace}/${name}`));
  }

  /** Resolves when all existing objects are known. */
  start(): Promise<void> {
    return this.#directory.start();
  }

  /** Up to `max` endpoints that answer, starting with the next in rotation. */
  take(service: BackendPort, max: number): Endpoint[] {
    const { namespace, name, port } = service;
    const ports = entryOf(this.#rotations, `${namespace}/${name}`, () => new Map<string, Rotation>());
    const rotation = entryOf(ports, `${typeof port} ${port}`, () => ({
      endpoints: this.#find(service),
      next: 0,
    }));
    const { endpoints } = rotation;
    const count = Math.min(max, endpoints.length);
    const first = rotation.next;
    rotation.next = (first + 1) % (endpoints.length || 1);
    return Array.from({ length: count }, (_, i) => endpoints[(first + i) % endpoints.length]!);
  }

  close(): void {
    this.#directory.close();
  }

  #find({ namespace, name, port }: BackendPort): Endpoint[] {
    const { ports = [] } = this.#directory.service(namespace, name)?.spec ?? {};
    const asked = ports.find(
      (candidate) =>
        isTcp(candidate) && (typeof port === 'number' ? candidate.port : candidate.name) === port,
    );
    if (!asked) return [];
    const slices = this.#directory.slices(namespace, name);
    return reachableEndpoints(endpointsOfPort(slices, asked.name ?? '')).map(({ ip, port, endpoint }) => {
      const { targetRef } = endpoint;
      const isPod = targetRef?.kind === 'Pod' && targetRef.namespace === namespace && targetRef.name;
      return { ip, port, ...(isPod ? { pod: { namespace, name: targetRef.name! } } : {}) };
    });
  }
}

const isTcp = ({ protocol = 'TCP' }: { protocol?: string }): boolean => protocol === 'TCP';
