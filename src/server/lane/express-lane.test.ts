import { once } from 'node:events';
import { createServer as createHttpServer, type Server as HttpServer } from 'node:http';
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';
import { Duplex } from 'node:stream';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { guardLines } from '../wire/guard-headers.ts';
import type { PlainRequest } from '../wire/plain-request.ts';
import { ExpressLane } from './express-lane.ts';
import type { PlainResponse } from './plain-response.ts';

type Serve = (request: PlainRequest, response: PlainResponse, isNew: boolean) => void;

let server: Server;
let node: HttpServer;
let lane: ExpressLane;
let client: Socket;
let serve: Serve;
/** Which server answered which request, in order. */
let answered: string[];
let cut: number;
let socketThere: Socket;

const answer = (request: PlainRequest, response: PlainResponse): void => {
  answered.push(`lane ${request.url}`);
  response.writeHead(200, ['Content-Length', String(request.body.length + 2)]);
  response.end(`[${request.body.toString()}]`);
};

beforeEach(async () => {
  serve = answer;
  answered = [];
  cut = 0;
  node = createHttpServer((request, response) => {
    answered.push(`node ${request.url}`);
    request.resume().on('end', () => response.end('node'));
  });
  lane = new ExpressLane(
    {
      headerBytesMax: 10_000,
      firstMaxMs: 60_000,
      keepAliveMs: 120_000,
      standingLines: guardLines,
      accepts: (_method, url) => !url.includes('watch'),
      serve: (request, response, isNew) => serve(request, response, isNew),
      handOver: (socket) => node.emit('connection', socket),
      refuseCut: (socket) => {
        cut++;
        socket.end();
      },
    },
    true,
  );
  server = createServer({ allowHalfOpen: true }, (socket) => {
    socketThere = socket;
    lane.take(socket);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  client = connect({ port: (server.address() as AddressInfo).port, host: '127.0.0.1', allowHalfOpen: true });
  await once(client, 'connect');
});

afterEach(async () => {
  client.destroy();
  lane.closeAll();
  await new Promise((resolve) => server.close(resolve));
});

const get = (path: string): string => `GET ${path} HTTP/1.1\r\nHost: a\r\n\r\n`;
const post = (path: string, body: string): string =>
  `POST ${path} HTTP/1.1\r\nHost: a\r\nContent-Length: ${body.length}\r\n\r\n${body}`;

/** Reads until the text received matches. */
async function receive(pattern: RegExp): Promise<string> {
  let text = '';
  while (!pattern.test(text)) {
    const [chunk] = (await once(client, 'data')) as [Buffer];
    text += chunk.toString('latin1');
  }
  return text;
}

const ended = (): Promise<unknown> => once(client.resume(), 'end');

describe('the express lane', () => {
  it('answers one request after the other, and keeps the connection', async () => {
    client.write(get('/a'));
    expect(await receive(/\[\]$/)).toMatch(
      /^HTTP\/1\.1 200 OK\r\nContent-Length: 2\r\nX-Content-Type-Options: nosniff\r\nCross-Origin-Resource-Policy: same-origin\r\nDate: \w{3}, \d\d \w{3} \d{4} [\d:]{8} GMT\r\nConnection: keep-alive\r\nKeep-Alive: timeout=120\r\n\r\n\[\]$/,
    );
    client.write(post('/b', 'body'));
    await receive(/\[body\]$/);
    expect(answered).toEqual(['lane /a', 'lane /b']);
  });

  it('hands a connection over with the first request that is not for it', async () => {
    client.write(get('/a'));
    await receive(/\[\]$/);
    client.write(get('/watch'));
    await receive(/node/);
    client.write(get('/c'));
    await receive(/node/);
    expect(answered).toEqual(['lane /a', 'node /watch', 'node /c']);
  });

  it('leaves requests that come together to Node, which answers all of them', async () => {
    client.write(get('/a') + post('/b', 'x') + get('/c'));
    await receive(/node[\s\S]*node[\s\S]*node/);
    expect(answered).toEqual(['node /a', 'node /b', 'node /c']);
  });

  it('waits for the rest of a body', async () => {
    const text = post('/a', 'x'.repeat(10));
    client.write(text.slice(0, -6));
    await once(socketThere, 'data');
    client.write(text.slice(-6, -3));
    await once(socketThere, 'data');
    client.write(text.slice(-3));
    await receive(/\[x{10}\]$/);
    expect(answered).toEqual(['lane /a']);
  });

  it('leaves a body that does not come to Node', async () => {
    const text = post('/a', 'body');
    client.write(text.slice(0, -2));
    await once(node, 'connection');
    client.write(text.slice(-2));
    await receive(/node/);
    expect(answered).toEqual(['node /a']);
  });

  it('answers a request that came early when the one before is answered', async () => {
    let finish: () => void = () => undefined;
    const begun = new Promise<void>((resolve) => {
      serve = (request, response) => {
        serve = answer;
        finish = () => answer(request, response);
        resolve();
      };
    });
    client.write(get('/slow'));
    await begun;
    client.write(get('/early'));
    await once(socketThere, 'data');
    expect(answered).toEqual([]);
    finish();
    await receive(/\[\][\s\S]*\[\]$/);
    expect(answered).toEqual(['lane /slow', 'lane /early']);
  });

  it('tells which requests were sent after the answer to the one before', async () => {
    const sent: [string, boolean][] = [];
    let finish: () => void = () => undefined;
    serve = (request, response, isNew) => {
      sent.push([request.url, isNew]);
      if (request.url === '/slow') finish = () => answer(request, response);
      else answer(request, response);
    };
    client.write(get('/first'));
    await receive(/\[\]$/);
    client.write(get('/slow'));
    await once(socketThere, 'data');
    client.write(get('/early'));
    await once(socketThere, 'data');
    finish();
    await receive(/\[\][\s\S]*\[\]$/);
    // From now on it cannot be told: parts of requests may have come with others.
    client.write(get('/last'));
    await receive(/\[\]$/);
    expect(sent).toEqual([
      ['/first', true],
      ['/slow', true],
      ['/early', false],
      ['/last', false],
    ]);
  });

  it('stops reading while its answers are not taken', async () => {
    const long = Buffer.alloc(4 * 1024 * 1024, 'x');
    serve = (request, response) => {
      answered.push(request.url);
      response.writeHead(200, ['Content-Length', String(long.length)]).end(long);
    };
    client.pause();
    client.write(get('/1'));
    await once(socketThere, 'data');
    client.write(get('/2'));
    await once(socketThere, 'data');
    await new Promise((resolve) => client.write(get('/3'), resolve));
    // The bytes have been sent: a server that was still reading would get them within one tick.
    for (let turns = 0; turns < 10; turns++) await new Promise((resolve) => setImmediate(resolve));
    expect(answered).toEqual(['/1']);
    expect(socketThere.isPaused()).toBe(true);
    const closed = once(client, 'close');
    let bytes = 0;
    client.on('data', (chunk) => {
      bytes += chunk.length;
      if (bytes > 3 * long.length) client.destroy();
    });
    client.resume();
    await closed;
    expect(answered).toEqual(['/1', '/2', '/3']);
  });

  it('ends connections that are closed all at once a few in a turn, also where Node would end them itself', async () => {
    let ended = 0;
    const final = (done: () => void): void => {
      ended++;
      done();
    };
    const sockets = Array.from({ length: 100 }, () => {
      // As a connection over TLS.
      const socket = new Duplex({ allowHalfOpen: false, read: () => undefined, final });
      return Object.assign(socket, { setTimeout: () => undefined }) as unknown as Socket & Duplex;
    });
    for (const socket of sockets) lane.take(socket);
    for (const socket of sockets) socket.push(null);
    const counts = [0];
    while (ended < sockets.length) {
      await new Promise((resolve) => setImmediate(resolve));
      counts.push(ended);
    }
    expect(Math.max(...counts.slice(1).map((count, i) => count - counts[i]!))).toBeLessThanOrEqual(32);
  });

  it('answers a client that has closed its side, and then closes its own', async () => {
    client.end(get('/a'));
    const text = receive(/\[\]$/);
    await text;
    await ended();
    expect(answered).toEqual(['lane /a']);
  });

  it('answers also what came early, when its client has closed its side', async () => {
    const begun = new Promise<() => void>((resolve) => {
      serve = (request, response) => {
        serve = answer;
        resolve(() => answer(request, response));
      };
    });
    client.write(get('/slow'));
    const finish = await begun;
    client.end(get('/early'));
    await once(socketThere, 'end');
    finish();
    await receive(/\[\][\s\S]*\[\]$/);
    await ended();
    expect(answered).toEqual(['lane /slow', 'lane /early']);
  });

  it('refuses what came early and cannot be whole any more', async () => {
    const begun = new Promise<() => void>((resolve) => {
      serve = (request, response) => resolve(() => answer(request, response));
    });
    client.write(get('/slow'));
    const finish = await begun;
    client.end(post('/early', 'body').slice(0, -1));
    await once(socketThere, 'end');
    finish();
    await ended();
    expect([answered, cut]).toEqual([['lane /slow'], 1]);
  });

  it('closes when the client does', async () => {
    client.end();
    await ended();
    expect([answered, cut]).toEqual([[], 0]);
  });

  it('tells of a request that was cut off', async () => {
    client.end(post('/a', 'body').slice(0, -1));
    await ended();
    expect([answered, cut]).toEqual([[], 1]);
  });

  it('lets an answer know that its client has gone', async () => {
    const gone = new Promise<boolean>((resolve) => {
      serve = (_request, response) => {
        response.on('close', () => resolve(response.destroyed));
        client.resetAndDestroy();
      };
    });
    client.write(get('/a'));
    expect(await gone).toBe(true);
  });

  it('closes connections between two requests, and others when it must', async () => {
    client.write(get('/a'));
    await receive(/\[\]$/);
    lane.closeIdle();
    await ended();
  });

  it('does not close a connection that is being answered before it must', async () => {
    const begun = new Promise<() => void>((resolve) => {
      serve = (request, response) => resolve(() => answer(request, response));
    });
    client.write(get('/a'));
    const finish = await begun;
    lane.closeIdle();
    finish();
    await receive(/\[\]$/);
    lane.closeAll();
    await ended();
  });
});

describe('an answer in the express lane', () => {
  it('of unknown length comes in chunks', async () => {
    serve = (_request, response) => {
      response.setHeader('Vary', 'Accept');
      response.writeHead(200, { Warning: ['one', 'two'] });
      response.write('abc');
      response.write('');
      response.end(Buffer.from('0123456789abcdef'));
    };
    client.write(get('/a'));
    const text = await receive(/\r\n0\r\n\r\n$/);
    expect(text).toContain('Vary: Accept\r\nWarning: one\r\nWarning: two\r\nTransfer-Encoding: chunked\r\n');
    expect(text.slice(text.indexOf('\r\n\r\n'))).toBe(
      '\r\n\r\n3\r\nabc\r\n10\r\n0123456789abcdef\r\n0\r\n\r\n',
    );
  });

  it('without a body has none', async () => {
    serve = (_request, response) => response.writeHead(304, {}).end();
    client.write(get('/a'));
    expect(await receive(/\r\n\r\n$/)).toMatch(
      /^HTTP\/1\.1 304 Not Modified\r\nX-Content-Type-Options: nosniff\r\nCross-Origin-Resource-Policy: same-origin\r\nDate: [^\r]*\r\nConnection: /,
    );
  });

  it('has not begun when its header was refused', async () => {
    const begun = new Promise<boolean>((resolve) => {
      serve = (request, response) => {
        try {
          response.writeHead(200, ['A', '\n']);
        } catch {
          resolve(response.headersSent);
        }
        answer(request, response);
      };
    });
    client.write(get('/a'));
    expect(await begun).toBe(false);
  });

  it('does not take a line end in a header', async () => {
    const refused = new Promise<unknown>((resolve) => {
      serve = (request, response) => {
        try {
          response.writeHead(200, ['A', 'b\r\nC: d']);
        } catch (error) {
          resolve(error);
        }
        answer(request, response);
      };
    });
    client.write(get('/a'));
    expect(await refused).toBeInstanceOf(TypeError);
    expect(await receive(/\[\]$/)).not.toContain('C: d');
  });
});
