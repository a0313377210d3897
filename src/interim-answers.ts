/**
 * Interim answers: a server may send answers with codes below 200 before the answer proper. Each costs its client work and
 * none ends the wait, so a server that sends them without end would keep the event loop busy for as long as the call may
 * take.
 */
import type { ClientRequest } from 'node:http';

/** As many as Go's client takes. */
const interimMax = 5;

/** Ends a request with an error, in Go's words, when its server sends too many. */
export function boundInterim(sent: ClientRequest): void {
  let count = 0;
  const counted = (): void => {
    if (++count <= interimMax) return;
    // Node still parses thousands more that may be in the bytes that were read already.
    sent.off('information', counted);
    sent.destroy(
      new Error(
        'net/http: HTTP/1.x transport connection broken: net/http: too many 1xx informational responses',
      ),
    );
  };
  sent.on('information', counted);
}
