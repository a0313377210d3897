/** Requests at random, and what Node's parser reads from them: what our own reading of requests is compared with. */
import { createServer, type IncomingHttpHeaders, type Server } from 'node:http';
import { Duplex } from 'node:stream';
import fc from 'fast-check';

/** How many requests the comparisons make; `npm run check -- --requests 1000000` makes this many. */
export const requestsInAll = Number(process.env.WHERRY_REQUESTS ?? 5_000);

export interface Seen {
  readonly method: string;
  readonly url: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
  readonly complete: boolean;
}

/** What came of the bytes of a connection: requests that are complete, and whether the rest was refused. */
interface Reading {
  readonly requests: Seen[];
  readonly failed: boolean;
}

/** A connection without a network. Its client sends pieces, closes its side, and takes whatever it is sent. */
export class Wire extends Duplex {
  timeout: number | undefined;
  readonly closing: Promise<unknown>;

  constructor() {
    super({ allowHalfOpen: true, read: () => undefined, write: (_chunk, _encoding, done) => done() });
    this.closing = new Promise((resolve) => this.on('close', resolve));
  }

  setTimeout(timeoutMs: number): this {
    this.timeout = timeoutMs;
    return this;
  }

  destroySoon(): void {
    this.end(() => this.destroy());
  }

  /** Resolves when the connection is closed. */
  async send(pieces: readonly string[]): Promise<void> {
    for (const piece of pieces) this.push(Buffer.from(piece, 'latin1'));
    this.push(null);
    await this.closing;
  }
}

/** Node's server, which notes what it reads in the list of the connection. */
export class ReadingServer {
  readonly #server: Server;
  readonly #readings = new WeakMap<object, { requests: Seen[]; failed: boolean }>();

  constructor() {
    this.#server = createServer({ requireHostHeader: false }, (request, response) => {
      const chunks: Buffer[] = [];
      const keep = (): void => {
        const { method = '', url = '', headers, complete } = request;
        const body = Buffer.concat(chunks).toString('latin1');
        this.#readings.get(request.socket)!.requests.push({ method, url, headers, complete, body });
        response.end();
      };
      request
        .on('data', (chunk) => chunks.push(chunk))
        .on('end', keep)
        .on('error', keep);
    });
    this.#server.on('clientError', (_error, wire) => {
      this.#readings.get(wire)!.failed = true;
      wire.destroy();
    });
    // Handed over to the code of the other protocol.
    for (const event of ['upgrade', 'connect'])
      this.#server.on(event, (_request, wire: Duplex) => void wire.destroy());
  }

  take(wire: Wire, reading: { requests: Seen[]; failed: boolean }): void {
    this.#readings.set(wire, reading);
    this.#server.emit('connection', wire);
  }

  async read(pieces: readonly string[]): Promise<Reading> {
    const wire = new Wire();
    const reading = { requests: [], failed: false };
    this.take(wire, reading);
    await wire.send(pieces);
    return reading;
  }
}

/** A random request: mostly valid, sometimes with an oddity. */
const mostly = (good: readonly string[], odd: readonly string[]) =>
  fc.oneof(
    { weight: 15, arbitrary: fc.constantFrom(...good) },
    { weight: 1, arbitrary: fc.constantFrom(...odd) },
  );

export const requestText = fc
  .record({
    method: mostly(['POST', 'PATCH', 'DELETE', 'PUT'], ['GET', 'HEAD', 'post', 'PRI', 'M-SEARCH']),
    url: mostly(
      ['/', '/api/v1/pods', '/a?b=c%20d', '//', '/"'],
      ['/a#b', '/a b', '*', '/\x80', 'http://a/b'],
    ),
    version: mostly(['HTTP/1.1'], ['HTTP/1.0', 'HTTP/1.1 ', 'http/1.1', 'HTTP/2.0']),
    host: mostly(['Host: localhost', 'host:127.0.0.1:80 ', 'HOST:'], ['A: b', 'Host: a b', 'Host: a/b']),
    length: mostly(
      ['Content-Length: 2', 'content-length:2 ', 'Content-Length: 02'],
      [
        'Content-Length: 2\t',
        'Content-Length: 2 \t',
        'Content-Length:\t2',
        'Content-Length: 3',
        'Content-Length: +2',
        'Content-Length: 2, 2',
        'Content-Length : 2',
        'A: b',
      ],
    ),
    fields: fc.array(
      mostly(
        ['Connection: keep-alive', 'Connection:  Keep-Alive\t', 'User-Agent: \ttab\tbed ']
          .concat(['Accept: application/json;q=0.9, */*', 'X-Empty:', 'Cookie: a=b', 'constructor: x'])
          .concat(['Latin: plain', 'If-Modified-Since: x', 'Authorization: Bearer a.b']),
        ['Transfer-Encoding: chunked', 'Transfer-Encoding: identity', 'Connection: close', 'Upgrade: h2c']
          .concat(['__proto__: x', 'Bad\x0bName: x', 'Bad-Value: \x7f\x01', 'Latin: \xe9', ' folded'])
          .concat(['no colon', ': no name', 'Content-Length: 2', 'Content-Length: 0', 'Trailer: a'])
          .concat(['Host: b']),
      ),
      { maxLength: 4 },
    ),
    ending: mostly(['\r\n'], ['\n', '\r']),
    body: mostly(['{}'], ['', '{}x', '0\r\n\r\n', '{']),
    change: fc.option(fc.record({ at: fc.nat(200), byte: fc.nat(255) }), { freq: 2 }),
  })
  .map(({ method, url, version, host, length, fields, ending, body, change }) => {
    const text = [`${method} ${url} ${version}`, host, length, ...fields, '', body].join(ending);
    if (!change) return text;
    const at = change.at % text.length;
    return text.slice(0, at) + String.fromCharCode(change.byte) + text.slice(at + 1);
  });
