/** The source addresses of a request: those that proxies name in headers, which need not be true, then the peer. */
import { isIP } from 'node:net';
import type { ApiRequest } from '../http/context.ts';

/** Maximum number of addresses read from a header, which can have a mebibyte. */
const addressesMax = 64;

/** @param peer address of the other end of the connection; undefined: it is not known */
export function sourceIPs({ headers }: ApiRequest, peer: string | undefined): string[] {
  const forwarded = headers['x-forwarded-for'];
  const real = headers['x-real-ip'];
  if (forwarded === undefined && real === undefined) return peer === undefined ? [] : [peer];
  const found = String(forwarded ?? '')
    .split(',', addressesMax)
    .map((text) => text.trim())
    .filter((text) => isIP(text) !== 0);
  const proxied = String(real ?? '').trim();
  if (isIP(proxied) !== 0 && !found.includes(proxied)) found.push(proxied);
  if (peer !== undefined && found.at(-1) !== peer) found.push(peer);
  return found;
}
