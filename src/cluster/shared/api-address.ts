import type { Duplex } from 'node:stream';

/** How parts of this process reach the API. */
export interface ApiAddress {
  readonly url: string;
  /** A connection in memory; absent: over the network. */
  readonly connect?: (() => Duplex) | undefined;
}
