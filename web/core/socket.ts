/** WebSockets to the API: the address, and the user's token, which a page can only send as a subprotocol. */
import { type Query, withQuery } from './api.ts';
import { token } from './credentials.ts';
import { prefix } from './prefix.ts';

const bearerProtocol = 'base64url.bearer.authorization.k8s.io.';

export function openSocket(
  path: string,
  query: Query | URLSearchParams,
  protocols: readonly string[],
): WebSocket {
  const asked = query instanceof URLSearchParams ? `${path}?${query}` : withQuery(path, query);
  const address = new URL(`${prefix}${asked}`, location.href);
  address.protocol = location.protocol === 'https:' ? 'wss:' : 'ws:';
  const credentials = token.value ? [`${bearerProtocol}${base64url(token.value)}`] : [];
  const socket = new WebSocket(address, [...protocols, ...credentials]);
  socket.binaryType = 'arraybuffer';
  return socket;
}

function base64url(text: string): string {
  const bytes = String.fromCharCode(...new TextEncoder().encode(text));
  return btoa(bytes).replaceAll('+', '-').replaceAll('/', '_').replace(/=+$/, '');
}
