/**
 * Records of TLS connections that carry WebSocket frames. Node puts all pieces that wait in a socket into one record. The
 * Python client polls its socket and then reads one frame; further frames of the same record are in the memory of its TLS
 * library by then, where no poll sees them, and it waits for ever. So each piece leaves in a record of its own, as from a
 * server in Go.
 */
import type { Duplex } from 'node:stream';
import type { TLSSocket } from 'node:tls';

/** No effect on sockets without TLS. Pieces must not hold several frames. */
export function writeRecordPerPiece(socket: Duplex): void {
  // A stream without this method writes its pieces one by one, also those that were corked.
  if ((socket as TLSSocket).encrypted) Object.defineProperty(socket, '_writev', { value: undefined });
}
