/** Ports of a node that pods on it have taken. A pod may ask for tens of thousands, so they are found by their number. */
import { composedKey } from '../../../composed-key.ts';

export interface HostPort {
  readonly protocol: string;
  readonly ip: string;
  readonly port: number;
}

/** A port of this address conflicts with that of every other. */
export const anyAddress = '0.0.0.0';

const keyOf = ({ protocol, port }: HostPort): string => composedKey(protocol, String(port));

export class TakenPorts {
  /** How many pods have each address, by protocol and number of the port. */
  readonly #addresses = new Map<string, Map<string, number>>();

  add(ports: readonly HostPort[]): void {
    for (const port of ports) {
      const key = keyOf(port);
      const taken = this.#addresses.get(key) ?? new Map<string, number>();
      taken.set(port.ip, (taken.get(port.ip) ?? 0) + 1);
      this.#addresses.set(key, taken);
    }
  }

  /** Gives back ports that were added. */
  remove(ports: readonly HostPort[]): void {
    for (const port of ports) {
      const key = keyOf(port);
      const taken = this.#addresses.get(key);
      const left = (taken?.get(port.ip) ?? 0) - 1;
      if (left > 0) taken!.set(port.ip, left);
      else if (taken?.delete(port.ip) && taken.size === 0) this.#addresses.delete(key);
    }
  }

  has(port: HostPort): boolean {
    const taken = this.#addresses.get(keyOf(port));
    return taken !== undefined && (port.ip === anyAddress || taken.has(port.ip) || taken.has(anyAddress));
  }
}
