/** The doors of a cluster: which ones are open, and how the parts of this process reach the API through them. */

import { isEveryAddress, machineAddress } from '../node/machine/machine-address.ts';
import type { ApiDoor } from '../node/network/service-proxy.ts';
import type { Advertised } from '../registry/system/kubernetes-service.ts';
import { isLoopback } from '../server/doors/foreign-page.ts';
import { InnerDoor } from '../server/doors/inner-door.ts';
import { LocalDoor } from '../server/doors/local-door.ts';
import type { Door } from '../server/http/door.ts';
import type { Access } from './access/access.ts';
import { type ApiAddress, doorAt } from './shared/api-address.ts';
import { StartError } from './shared/start-error.ts';

export interface DoorOptions {
  readonly host?: string | undefined;
  readonly port?: number | 'off' | undefined;
  /** The address of the service `kubernetes`. */
  readonly serviceIP: string;
  /** The address for the endpoints of that service, instead of the one the server listens on. */
  readonly advertiseAddress?: string | undefined;
}

export class Doors {
  readonly all: readonly Door[];
  readonly #outer: Door;
  readonly #local: LocalDoor | undefined;
  readonly #inner: InnerDoor | undefined;
  readonly #advertised: string | undefined;

  constructor(
    { host = '127.0.0.1', port = 0, serviceIP, advertiseAddress }: DoorOptions,
    private readonly access: Access | undefined,
  ) {
    if (port === 'off' && !access)
      throw new StartError('a cluster without the local door needs the secure one');
    if (port !== 'off' && !isLoopback(host))
      throw new StartError(
        `${host} is not an address of this machine alone, and plain HTTP is served on loopback only`,
      );
    this.#advertised = advertiseAddress;
    this.#inner = port === 'off' ? new InnerDoor() : undefined;
    this.#local = port === 'off' ? undefined : new LocalDoor({ host, port, clusterIP: serviceIP });
    const first = this.#local ?? access!.door;
    this.#outer = first;
    this.all = [...new Set([first, ...(access ? [access.door] : []), ...(this.#inner ? [this.#inner] : [])])];
  }

  /** The URL that clients of this machine use first. */
  get url(): string {
    return this.#outer.url;
  }

  get secureUrl(): string | undefined {
    return this.access?.door.url;
  }

  get inside(): ApiAddress {
    const inner = this.#inner;
    if (inner)
      return {
        url: inner.url,
        connect: () => inner.connect(),
        handOver: (...sent) => inner.handOver(...sent),
      };
    return { url: this.url, handOver: (...sent) => this.#local!.handOver(...sent) };
  }

  /** The door to which connections to the service `kubernetes` lead on this machine. */
  get apiDoor(): ApiDoor {
    return doorAt(this.secureUrl ?? this.url);
  }

  /** The address for the service `kubernetes`: the secure door, as clients in pods expect, if it is open. */
  advertised(clusterIP: string): Advertised {
    const url = this.secureUrl ?? this.url;
    const ip = this.#advertised ?? new URL(url).hostname.replace(/^\[|\]$/g, '');
    // "All addresses" cannot be dialled: use an address of the machine.
    return { clusterIP, ip: isEveryAddress(ip) ? machineAddress() : ip, port: doorAt(url).port };
  }
}
