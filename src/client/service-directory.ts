/**
 * All services and their endpoint slices, kept up to date by watches, for the service proxy, the name server and
 * ingress.
 */
import type { EndpointSlice, Endpoints, Service } from '../api/generated/types.ts';
import { mirrorOf } from '../api/rules/service/mirrored-endpoints.ts';
import { serviceNameLabel } from '../api/rules/service/slice-endpoints.ts';
import type { Client } from './client.ts';
import { Informer } from './informer.ts';
import { PacedWork } from './paced-work.ts';
import { endpointSlices, endpoints, services } from './resources.ts';

/** Listeners learn of several changes at once of a service with more slices and ports than this. */
const manyMax = 100;

export interface NamedService {
  readonly namespace: string;
  readonly name: string;
}

const keyOf = ({ namespace, name }: NamedService): string => `${namespace}/${name}`;

export class ServiceDirectory {
  readonly #services: Informer<Service>;
  readonly #slices: Informer<EndpointSlice>;
  /** Endpoints, used instead of slices on a server that does not have slices. */
  #endpoints: Informer<Endpoints> | undefined;
  /** The slices of each service, by their names. */
  readonly #byService = new Map<string, Map<string, EndpointSlice>>();
  readonly #paced = new PacedWork();
  readonly #listeners = new Set<(changed: NamedService) => void>();

  constructor(client: Client, onError: (error: Error) => void) {
    this.#services = new Informer(client, services, {
      changed: (service, previous) => {
        const { namespace = '', name = '' } = (service ?? previous)!.metadata;
        this.#tell({ namespace, name });
      },
      onError,
    });
    this.#slices = new Informer(client, endpointSlices, {
      labelSelector: serviceNameLabel,
      changed: (slice, previous) => this.#sliceChanged(slice, previous),
      onError,
      onAbsent: () => {
        this.#endpoints = new Informer(client, endpoints, {
          changed: (now, previous) => this.#endpointsChanged(now, previous),
          onError,
        });
      },
    });
  }

  /** Resolves when all existing objects are known. */
  async start(): Promise<void> {
    await Promise.all([this.#services.start(), this.#slices.start()]);
    // Decided by now, because the slices were requested first.
    await this.#endpoints?.start();
  }

  /** Calls the listener for every service when it, or one of its slices, may have changed. */
  onChange(listener: (changed: NamedService) => void): void {
    this.#listeners.add(listener);
  }

  services(): IterableIterator<Service> {
    return this.#services.all();
  }

  service(namespace: string, name: string): Service | undefined {
    return this.#services.get(namespace, name);
  }

  /** All slices of a service, of whichever controller or user. */
  slices(namespace: string, name: string): readonly EndpointSlice[] {
    return [...(this.#byService.get(keyOf({ namespace, name }))?.values() ?? [])];
  }

  close(): void {
    this.#services.close();
    this.#slices.close();
    this.#endpoints?.close();
    this.#listeners.clear();
  }

  #endpointsChanged(now: Endpoints | undefined, previous: Endpoints | undefined): void {
    const service = (now ?? previous)!.metadata;
    const before = previous ? slicesOf(previous) : [];
    const after = now ? slicesOf(now) : [];
    for (const [i, slice] of after.entries()) this.#sliceChanged(slice, before[i]);
    for (const slice of before.slice(after.length)) this.#sliceChanged(undefined, slice);
    this.#tell({ namespace: service.namespace ?? '', name: service.name ?? '' });
  }

  /** A slice may also move from one service to another. */
  #sliceChanged(slice: EndpointSlice | undefined, previous: EndpointSlice | undefined): void {
    const before = previous && serviceOf(previous);
    const after = slice && serviceOf(slice);
    if (before) {
      const key = keyOf(before);
      const slices = this.#byService.get(key);
      slices?.delete(previous.metadata.name ?? '');
      if (slices?.size === 0) this.#byService.delete(key);
    }
    if (after) {
      const key = keyOf(after);
      const slices = this.#byService.get(key) ?? new Map<string, EndpointSlice>();
      this.#byService.set(key, slices.set(slice.metadata.name ?? '', slice));
    }
    if (before && before.name !== after?.name) this.#tell(before);
    if (after) this.#tell(after);
  }

  #tell(changed: NamedService): void {
    const key = keyOf(changed);
    const tell = (): void => {
      for (const listener of this.#listeners) listener(changed);
    };
    const ports = this.service(changed.namespace, changed.name)?.spec?.ports ?? [];
    if ((this.#byService.get(key)?.size ?? 0) + ports.length > manyMax) this.#paced.run(key, tell);
    else tell();
  }
}

/** The addresses of Endpoints in the form of slices. */
function slicesOf(object: Endpoints): EndpointSlice[] {
  const { namespace, name = '' } = object.metadata;
  const { groups } = mirrorOf(object);
  return (['IPv4', 'IPv6'] as const)
    .flatMap((addressType) => groups[addressType].map((group) => ({ addressType, ...group })))
    .map(({ addressType, ports, endpoints: members }, i) => ({
      metadata: { namespace, name: `${name}-${i}`, labels: { [serviceNameLabel]: name } },
      addressType,
      ports: [...ports],
      endpoints: [...members],
    }));
}

const serviceOf = ({ metadata }: EndpointSlice): NamedService => ({
  namespace: metadata.namespace ?? '',
  name: metadata.labels?.[serviceNameLabel] ?? '',
});
