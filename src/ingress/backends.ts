/** Backends: the endpoints behind the ports of services, each in its turn. They are worked out once per change. */
import type { Endpoints, Service } from '../api/generated/types.ts';
import type { Client } from '../client/client.ts';
import { Informer } from '../client/informer.ts';
import { endpoints, services } from '../client/resources.ts';
import { entryOf } from './hosts.ts';
import type { ServicePort } from './routes.ts';

export interface Endpoint {
  readonly ip: string;
  readonly port: number;
  /** Whose address it is said to be. Users write endpoints, so it need not be true. */
  readonly pod?: { readonly namespace: string; readonly name: string };
}

interface Rotation {
  readonly endpoints: readonly Endpoint[];
  next: number;
}

export class Backends {
  readonly #services: Informer<Service>;
  readonly #endpoints: Informer<Endpoints>;
  /** By service, then by port. */
  readonly #rotations = new Map<string, Map<string, Rotation>>();

  constructor(client: Client, onError: (error: Error) => void) {
    const changed = (now: Service | Endpoints | undefined, before: Service | Endpoints | undefined): void => {
      const { namespace, name } = (now ?? before)!.metadata;
      this.#rotations.delete(`${namespace}/${name}`);
    };
    this.#services = new Informer(client, services, { changed, onError });
    this.#endpoints = new Informer(client, endpoints, { changed, onError });
  }

  /** Resolves when everything there is is known. */
  async start(): Promise<void> {
    await Promise.all([this.#services.start(), this.#endpoints.start()]);
  }

  /** Some endpoints that are ready, the one whose turn it is first. */
  take(service: ServicePort, max: number): Endpoint[] {
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
    this.#services.close();
    this.#endpoints.close();
  }

  #find({ namespace, name, port }: ServicePort): Endpoint[] {
    const { ports = [] } = this.#services.get(namespace, name)?.spec ?? {};
    const asked = ports.find(
      (candidate) =>
        isTcp(candidate) && (typeof port === 'number' ? candidate.port : candidate.name) === port,
    );
    if (!asked) return [];
    const found: Endpoint[] = [];
    // Endpoints know the ports of a service by name only.
    for (const subset of this.#endpoints.get(namespace, name)?.subsets ?? []) {
      const open = subset.ports?.find(
        (candidate) => isTcp(candidate) && (candidate.name ?? '') === (asked.name ?? ''),
      );
      if (open?.port === undefined) continue;
      for (const { ip, targetRef } of subset.addresses ?? []) {
        if (!ip) continue;
        const isPod = targetRef?.kind === 'Pod' && targetRef.namespace === namespace && targetRef.name;
        const pod = isPod ? { namespace, name: targetRef.name! } : undefined;
        found.push({ ip, port: open.port, ...(pod ? { pod } : {}) });
      }
    }
    return found;
  }
}

const isTcp = ({ protocol = 'TCP' }: { protocol?: string }): boolean => protocol === 'TCP';
