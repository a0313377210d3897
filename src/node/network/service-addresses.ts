/**
 * An index of the services to which an address belongs, as cluster IP or as an endpoint of a headless service: for
 * reverse DNS queries. Built with the first query and kept up to date from then on.
 */
import { isIPv4 } from 'node:net';
import type { NamedService, ServiceDirectory } from '../../client/service-directory.ts';

export class ServiceAddresses {
  /** Services by address; undefined until the first query. */
  #services: Map<string, Map<string, NamedService>> | undefined;
  /** The addresses of each service, as they are in the map above. */
  readonly #addresses = new Map<string, ReadonlySet<string>>();

  constructor(private readonly directory: ServiceDirectory) {}

  of(address: string): NamedService[] {
    if (!this.#services) this.#build();
    return [...(this.#services!.get(address)?.values() ?? [])];
  }

  #build(): void {
    this.#services = new Map();
    for (const { metadata } of this.directory.services())
      this.#take({ namespace: metadata.namespace ?? '', name: metadata.name ?? '' });
    this.directory.onChange((changed) => this.#take(changed));
  }

  #take(named: NamedService): void {
    const key = `${named.namespace}/${named.name}`;
    const before = this.#addresses.get(key) ?? new Set();
    const after = this.#addressesOf(named);
    for (const address of before) if (!after.has(address)) this.#drop(address, key);
    for (const address of after) {
      const services = this.#services!.get(address) ?? new Map<string, NamedService>();
      this.#services!.set(address, services.set(key, named));
    }
    if (after.size) this.#addresses.set(key, after);
    else this.#addresses.delete(key);
  }

  #drop(address: string, key: string): void {
    const services = this.#services!.get(address);
    services?.delete(key);
    if (services?.size === 0) this.#services!.delete(address);
  }

  #addressesOf({ namespace, name }: NamedService): Set<string> {
    const spec = this.directory.service(namespace, name)?.spec;
    if (!spec || spec.type === 'ExternalName') return new Set();
    const { clusterIP = '' } = spec;
    if (isIPv4(clusterIP)) return new Set([clusterIP]);
    const slices = this.directory.slices(namespace, name);
    const endpoints = slices.flatMap((slice) => slice.endpoints ?? []);
    return new Set(endpoints.flatMap(({ addresses }) => addresses ?? []));
  }
}
