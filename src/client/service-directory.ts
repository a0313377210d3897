/**
 * All services and their endpoint slices, kept up to date by watches, for the service proxy, the name server and
 * ingress.
 */
import type { EndpointSlice, Service } from '../api/generated/types.ts';
import { serviceNameLabel } from '../api/rules/service/slice-endpoints.ts';
import type { Client } from './client.ts';
import { Informer } from './informer.ts';
import { endpointSlices, services } from './resources.ts';

export interface NamedService {
  readonly namespace: string;
  readonly name: string;
}

export class ServiceDirectory {
  readonly #services: Informer<Service>;
  readonly #slices: Informer<EndpointSlice>;
  /** The slices of each service, by their names. */
  readonly #byService = new Map<string, Map<string, EndpointSlice>>();
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
    });
  }

  /** Resolves when all existing objects are known. */
  async start(): Promise<void> {
    await Promise.all([this.#services.start(), this.#slices.start()]);
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
    return [...(this.#byService.get(`${namespace}/${name}`)?.values() ?? [])];
  }

  close(): void {
    this.#services.close();
    this.#slices.close();
    this.#listeners.clear();
  }

  /** A slice may also move from one service to another. */
  #sliceChanged(slice: EndpointSlice | undefined, previous: EndpointSlice | undefined): void {
    const before = previous && serviceOf(previous);
    const after = slice && serviceOf(slice);
    if (before) {
      const key = `${before.namespace}/${before.name}`;
      const slices = this.#byService.get(key);
      slices?.delete(previous.metadata.name ?? '');
      if (slices?.size === 0) this.#byService.delete(key);
    }
    if (after) {
      const key = `${after.namespace}/${after.name}`;
      const slices = this.#byService.get(key) ?? new Map<string, EndpointSlice>();
      this.#byService.set(key, slices.set(slice.metadata.name ?? '', slice));
    }
    if (before && before.name !== after?.name) this.#tell(before);
    if (after) this.#tell(after);
  }

  #tell(changed: NamedService): void {
    for (const listener of this.#listeners) listener(changed);
  }
}

const serviceOf = ({ metadata }: EndpointSlice): NamedService => ({
  namespace: metadata.namespace ?? '',
  name: metadata.labels?.[serviceNameLabel] ?? '',
});
