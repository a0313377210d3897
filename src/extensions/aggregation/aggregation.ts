/** Aggregation: versions of the API that other servers serve, and the table of all versions, the APIServices. */
import type { Duplex } from 'node:stream';
import type { JsonObject } from '../../api/text/object.ts';
import type { Certified } from '../../pki/authority.ts';
import type { Writing } from '../../registry/writing.ts';
import type { ServiceDial } from '../calls/hook-client.ts';
import { ApiServices, type RemoteVersion } from './api-services.ts';
import { Availability } from './availability.ts';
import { LocalServices } from './local-services.ts';

export interface AggregationOptions {
  readonly dial: ServiceDial;
  /** The client certificate with which this server identifies itself to other servers; undefined: it has none. */
  readonly client: () => Certified | undefined;
  /** Versions that this server serves without stored kinds. */
  readonly computed: readonly string[];
  readonly report: (error: Error) => void;
}

export class Aggregation {
  readonly services: ApiServices;
  readonly #local: LocalServices;
  readonly #availability: Availability;

  constructor(
    writing: Writing,
    private readonly options: AggregationOptions,
  ) {
    const { computed, report } = options;
    this.services = new ApiServices(writing.registry.view);
    this.#local = new LocalServices(writing, computed, report);
    this.#availability = new Availability(writing, this.services, (remote) => this.#check(remote), report);
  }

  async start(): Promise<void> {
    this.#availability.start();
    await this.#local.start();
  }

  async close(): Promise<void> {
    await this.#local.close();
    await this.#availability.close();
  }

  /** A connection to the server of a version, over TLS. */
  async connect(remote: RemoteVersion): Promise<Duplex> {
    // Loaded at the first connection: TLS takes Node some milliseconds.
    const { connectRemote } = await import('./remote-connection.ts');
    return connectRemote(remote, this.options.dial, this.options.client());
  }

  /** The list of resources of a version, as its server answered last. */
  resources(apiVersion: string): JsonObject | undefined {
    return this.#availability.resources(apiVersion);
  }

  async #check(remote: RemoteVersion): Promise<Buffer> {
    const { checkDiscovery } = await import('./discovery-check.ts');
    // Certificates are not verified here: requests verify them, and this only checks whether the server answers.
    return checkDiscovery({ ...remote, insecure: true, caBundle: '' }, (to) => this.connect(to));
  }
}
