/**
 * The addresses and ports at which this server itself answers. It never dials them for a user: addresses of nodes, pods
 * and endpoints are written by users, who could otherwise make the server talk to itself under its own name.
 */
import { networkInterfaces } from 'node:os';
import type { EndpointSlice, Service } from '../../api/generated/types.ts';
import { type Address, parseIP } from '../../api/values/addresses.ts';
import type { View } from '../../registry/view/view.ts';
import { addressNotAllowed } from '../../streams/dial/target-address.ts';
import type { Door } from './door.ts';

interface Place {
  readonly address: Address;
  readonly port: number;
}

export class OwnDoors {
  /** Known once the doors listen, and the same from then on. */
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

  /** The service `kubernetes` leads to a door, by its addresses and at its port of every node. */
  #isService(address: Address, port: number): boolean {
    const { spec } = (this.view.collection('core/services').get('default', 'kubernetes')?.peek() ??
      {}) as Partial<Service>;
    const clusterIPs = [spec?.clusterIP ?? '', ...(spec?.clusterIPs ?? [])];
    if (clusterIPs.some((ip) => isSame(parseIP(ip), address))) return true;
    return spec?.ports?.some(({ nodePort }) => nodePort === port) === true && isOfMachine(address);
  }

  /** Addresses of servers as others know them: this one's behind a gateway, and those of the same store. */
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

/** Undefined: the door does not listen on the network. */
function placeOf(url: string): Place | undefined {
  const { hostname, port, protocol } = new URL(url);
  const address = parseIP(hostname.replace(/^\[|\]$/g, ''));
  return address && { address, port: Number(port || (protocol === 'https:' ? 443 : 80)) };
}

const isSame = (one: Address | undefined, other: Address): boolean =>
  one?.family === other.family && one.value === other.value;

/** A door on all addresses is reached by each of the machine's; one on those of IPv6 by those of IPv4, too. */
const reaches = (listening: Address, dialled: Address): boolean =>
  listening.value === 0n && (listening.family === 6 || dialled.family === 4) && isOfMachine(dialled);

const isOfMachine = (address: Address): boolean =>
  isLocal(address) ||
  Object.values(networkInterfaces()).some((list) =>
    list?.some((one) => isSame(parseIP(one.address.replace(/%.*$/, '')), address)),
  );

/** Loopback, and "all addresses", which systems take for loopback. */
const isLocal = ({ family, value }: Address): boolean =>
  value === 0n || (family === 4 ? value >> 24n === 127n : value === 1n);
