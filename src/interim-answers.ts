/**
 * Interim answers: a server may send answers with codes below 200 before the answer proper. Each costs its client work and
 * none ends the wait, so a server that sends them without end would keep the event loop busy for as long as the call may
 * take.
 */
import type { ClientRequest, IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import { optimized } from './switches.ts';

/** As many as Go's client takes. */
const interimMax = 5;
/**
 * Bytes before the answer proper that Node parses at once. It parses what it was given to the end, also when the request
 * is over: thousands of interim answers fit into one read.
 */
const parsedBytesMax = 2 * 1024;

/** Ends a request with an error, in Go's words, when its server sends too many. */
export function boundInterim(sent: ClientRequest): void {
  let count = 0;
  const counted = (): void => {
    if (++count <= interimMax) return;
    sent.off('information', counted);
    sent.destroy(
      new Error(
        'net/http: HTTP/1.x transport connection broken: net/http: too many 1xx informational responses',
      ),
    );
  };
  sent.on('information', counted).once('socket', (socket) => parseInPieces(sent, socket));
}

type Parse = (this: Socket, bytes: Buffer) => void;

/**
 * Until the answer comes, its bytes are given to Node's parser in pieces, and no more once the request is over. For that
 * Node's own listener, which has no public name, is taken off the connection; where no listener has its name, and with
 * `WHERRY_PLAIN=1`, Node reads on: 64 KB of interim answers then hold the event loop for 5 ms instead of 0.5.
 */
function parseInPieces(sent: ClientRequest, socket: Socket): void {
  const parse = socket.listeners('data').find(({ name }) => name === 'socketOnData') as Parse | undefined;
  if (!parse || !optimized) return;
  let answer: IncomingMessage | undefined;
  let isOver = false;
  // An answer that cannot be read destroys the connection, and later the request.
  const goesOn = (): boolean => !sent.destroyed && !socket.destroyed;
  const read = (bytes: Buffer): void => {
    let at = 0;
    while (at < bytes.length && !answer && !isOver && goesOn()) {
      const end = at + parsedBytesMax;
      parse.call(socket, bytes.subarray(at, end));
      at = end;
    }
    if (at >= bytes.length || !answer || !goesOn()) return;
    // As Node does with what follows a complete answer.
    if (answer.complete) socket.destroy();
    else parse.call(socket, bytes.subarray(at));
  };
  const leave = (): void => {
    isOver = true;
    socket.off('data', read);
  };
  socket.off('data', parse).on('data', read);
  sent
    .prependOnceListener('response', (came) => {
      answer = came;
      leave();
      // Node removes it by itself at the end of the answer.
      socket.on('data', parse);
    })
    .prependOnceListener('upgrade', leave)
    .once('close', leave);
}
