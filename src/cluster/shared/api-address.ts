import type { Duplex } from 'node:stream';
import type { ApiDoor } from '../../node/network/service-proxy.ts';

/** How parts of this process reach the API. */
export interface ApiAddress {
  readonly url: string;
  /** A connection in memory; absent: over the network. */
  readonly connect?: (() => Duplex) | undefined;
}

/** A URL leaves out the port that its scheme has by default. */
export function doorAt(url: string): ApiDoor {
  const { port, protocol } = new URL(url);
  const isSecure = protocol === 'https:';
  return { port: Number(port || (isSecure ? 443 : 80)), isSecure };
}
