import type { Passage } from '../../client/client.ts';
import type { ApiDoor } from '../../node/network/service-proxy.ts';

/** How parts of this process reach the API. */
export interface ApiAddress extends Passage {
  readonly url: string;
}

/** The door at a URL, which may leave out the default port of its scheme. */
export function doorAt(url: string): ApiDoor {
  const { port, protocol } = new URL(url);
  const isSecure = protocol === 'https:';
  return { port: Number(port || (isSecure ? 443 : 80)), isSecure };
}
