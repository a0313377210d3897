/**
 * All services and their endpoints, kept up to date by watches, for the service proxy, the name server and
 * ingress.
 */
import type { Endpoints, Service } from '../api/generated/types.ts';
import type { Client } from './client.ts';
import { Informer } from './informer.ts';
import { endpoints, services } from './resources.ts';

export interface NamedService {
  readonly namespace: string;
  readonly name: string;
}

export class ServiceDirectory {
  readonly #services: Informer<Service>;
  readonly #endpoints: Informer<Endpoints>;
  readonly #listeners = new Set<(changed: NamedService) => void>();

  constructor(client: Client, onError: (error: Error) => void) {
    const changed = (
      object: Service | Endpoints | undefined,
      previous: Service | Endpoints | undefined,
    ): void => {
      const { namespace = '', name = '' } = (object ?? previous)!.metadata;
      for (const listener of this.#listeners) listener({ namespace, name });
    };
    this.#services = new Informer(client, services, { changed, onError });
    this.#endpoints = new Informer(client, endpoints, { changed, onError });
  }

  /** Resolves when all existing objects are known. */
  async start(): Promise<void> {
    await Promise.all([this.#services.start(), this.#endpoints.start()]);
  }

  /** Calls the listener for every service when it, or its endpoints, may have changed. */
  onChange(listener: (changed: NamedService) => void): void {
    this.#listeners.add(listener);
  }

  services(): IterableIterator<Service> {
    return this.#services.all();
  }

  service(namespace: string, name: string): Service | undefined {
    return this.#services.get(namespace, name);
  }

  endpoints(namespace: string, name: string): Endpoints | undefined {
    return this.#endpoints.get(namespace, name);
  }

  close(): void {
    this.#services.close();
    this.#endpoints.close();
    this.#listeners.clear();
  }
}
