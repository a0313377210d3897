/**
 * The addresses and ports at which this server itself listens. It never dials them for a user: addresses of nodes, pods
 * and endpoints are written by users, who could otherwise make the server send requests to itself with its own
 * identity.
 */
import type { EndpointSlice, Service } from '../../api/generated/types.ts';
import { type Address, parseIP } from '../../api/values/addresses.ts';
import type { View } from '../../registry/view/view.ts';
import { ownAddresses } from '../../streams/dial/machine-doors.ts';
import { addressNotAllowed } from '../../streams/dial/target-address.ts';
import type { Door } from './door.ts';

interface Place {
  readonly address: Address;
  readonly port: number;
}

export class OwnDoors {
  /** Computed once the doors listen; constant from then on. */
  #places: readonly Place[] | undefined;

  constructor(
    private readonly doors: readonly Door[],
    private readonly view: View,
  ) {}

  /** Throws when one of the addresses, with this port, is a door. */
  refuse(addresses: readonly string[], port: number): void {
    if (addresses.some((address) => this.has(address, port))) throw addressNotAllowed();
  }

  has(text: string, port: number): boolean {
    const address = parseIP(text);
    if (!address) return false;
    this.#places ??= this.doors.flatMap(({ url }) => placeOf(url) ?? []);
    const isHere = this.#places.some(
      (place) => place.port === port && (isSame(place.address, address) || reaches(place.address, address)),
    );
    return isHere || this.#isService(address, port) || this.#isAdvertised(address, port);
  }

  /**
   * Whether the address is the service `kubernetes`, which leads to a door: its cluster IP, or its node port on any
   * local address.
   */
  #isService(address: Address, port: number): boolean {
    const { spec } = (this.view.collection('core/services').get('default', 'kubernetes')?.peek() ??
      {}) as Partial<Service>;
    const clusterIPs = [spec?.clusterIP ?? '', ...(spec?.clusterIPs ?? [])];
    if (clusterIPs.some((ip) => isSame(parseIP(ip), address))) return true;
    return spec?.ports?.some(({ nodePort }) => nodePort === port) === true && isOfMachine(address);
  }

  /**
   * Whether the address is one that the servers of this cluster advertise: this one's behind a gateway, and those of
   * other servers that share the store.
   */
  #isAdvertised(address: Address, port: number): boolean {
    const { endpoints = [], ports = [] } = (this.view
      .collection('discovery.k8s.io/endpointslices')
      .get('default', 'kubernetes')
      ?.peek() ?? {}) as Partial<EndpointSlice>;
    return (
      ports.some((one) => one.port === port) &&
      endpoints.some(({ addresses }) => addresses?.some((text) => isSame(parseIP(text), address)))
    );
  }
}

/** The address and port of a door; undefined when it does not listen on the network. */
function placeOf(url: string): Place | undefined {
  const { hostname, port, protocol } = new URL(url);
  const address = parseIP(hostname.replace(/^\[|\]$/g, ''));
  return address && { address, port: Number(port || (protocol === 'https:' ? 443 : 80)) };
}

const isSame = (one: Address | undefined, other: Address): boolean =>
  one?.family === other.family && one.value === other.value;

/**
 * Whether dialling an address reaches a listener: one at all addresses is reached at each, and one at all IPv6
 * addresses is reached by IPv4, too.
 */
const reaches = (listening: Address, dialled: Address): boolean =>
  listening.value === 0n && (listening.family === 6 || dialled.family === 4) && isOfMachine(dialled);

const isOfMachine = (address: Address): boolean =>
  isLocal(address) || ownAddresses().some((own) => isSame(own, address));

/** Whether an address is loopback or "all addresses", which systems treat as loopback. */
const isLocal = ({ family, value }: Address): boolean =>
  value === 0n || (family === 4 ? value >> 24n === 127n : value === 1n);
