/** Proves that the secure door stands what clients can do to TLS and HTTP/2, and serves the others meanwhile. */
import { once } from 'node:events';
import { constants } from 'node:http2';
import { connect, type Socket } from 'node:net';
import { createSecureContext } from 'node:tls';
import { afterAll, describe, expect, it } from 'vitest';
import { rounds } from '../../../test/support/tier.ts';
import { costlyCertificate, costlyCertificateKey } from '../../pki/costly-key.fixture.ts';
import { answerOf, as, http2, useSecured } from './secured.fixture.ts';

/** A thousand handshakes may take long here, where clients and server share one process. */
const secured = useSecured({ handshakeMs: 60_000 });
const heldMax = 50;
/** With a number of handshakes that a test can reach. */
const strict = useSecured({ handshakeMs: 60_000, handshakesMax: heldMax });
/** With a time that a test can reach, and a stalled machine, too. */
const hasty = useSecured({ handshakeMs: 300 });
/** With addresses that have to wait. */
const paced = useSecured();
const sockets: Socket[] = [];
afterAll(() => {
  for (const socket of sockets) socket.destroy();
  secured.close();
  strict.close();
  hasty.close();
  paced.close();
});

/** A record that begins TLS, and that is answered at once, be it by a refusal. */
const clientHello = Buffer.concat([Buffer.from([22, 3, 1, 0, 104, 1, 0, 0, 100]), Buffer.alloc(100, 7)]);

function bareConnection({ port }: { port: number } = secured): Socket {
  const socket = connect(port, '127.0.0.1');
  socket.on('error', () => undefined);
  sockets.push(socket);
  return socket;
}

const works = async (server = secured): Promise<number> =>
  (await server.http1('/version', as('admin'))).status;

const closed = (stream: { on(event: 'close' | 'error', listener: () => void): unknown }): Promise<void> =>
  new Promise((resolve) => {
    stream.on('error', () => undefined);
    stream.on('close', resolve);
  });

/** A frame of HTTP/2. */
function frame(type: number, flags: number, id: number, payload = Buffer.alloc(0)): Buffer {
  const head = Buffer.alloc(9);
  head.writeUIntBE(payload.length, 0, 3);
  head[3] = type;
  head[4] = flags;
  head.writeUInt32BE(id, 5);
  return Buffer.concat([head, payload]);
}

describe('handshakes', () => {
  it('that are slow are cut off', async () => {
    const silent = bareConnection(hasty);
    const half = bareConnection(hasty);
    half.write(Buffer.from('1603010200', 'hex'));
    await Promise.all([closed(silent.resume()), closed(half.resume())]);
    await expect.poll(() => works(hasty).catch(String)).toBe(200);
  });

  it('of hundreds of clients at once all succeed', async () => {
    const secureContext = createSecureContext({ ca: secured.certificates.authority.pem.cert });
    const clients = await Promise.all(
      Array.from({ length: rounds(1_000) }, () =>
        secured.connection({ secureContext, ALPNProtocols: ['http/1.1'] }),
      ),
    );
    expect(await works()).toBe(200);
    for (const client of clients) client.destroy();
  });

  it('beyond the bound cost the oldest', async () => {
    const held = Array.from({ length: heldMax }, () => bareConnection(strict));
    await Promise.all(held.map((socket) => once(socket, 'connect')));
    const ended = closed(held[0]!.resume());
    expect(await works(strict)).toBe(200);
    await ended;
    for (const socket of held) socket.destroy();
  });

  it('of one address never cost those of another', async () => {
    const other = bareConnection(strict);
    await once(other, 'connect');
    const cut = closed(other.resume()).then(() => 'cut');
    const held: Socket[] = [];
    const ended: Promise<void>[] = [];
    for (let i = 0; i < 3 * heldMax; i++) {
      const socket = connect({ port: strict.port, host: '127.0.0.1', localAddress: '127.0.0.2' });
      socket.on('error', () => undefined);
      held.push(socket);
      ended.push(closed(socket.resume()));
      await once(socket, 'connect');
    }
    // By now the server has taken nearly all of them, and cut off the first.
    await Promise.all(ended.slice(0, heldMax));
    expect(await works(strict)).toBe(200);
    expect(await Promise.race([cut, 'open'])).toBe('open');
    for (const socket of [other, ...held]) socket.destroy();
  });

  it('with a key that takes long make their address wait, and no other', async () => {
    // Newer versions of Node refuse to send such a key by default.
    const ciphers = 'DEFAULT:@SECLEVEL=0';
    const attacker = { ciphers, ALPNProtocols: ['http/1.1'], localAddress: '127.0.0.2' };
    const identity = { cert: costlyCertificate, key: costlyCertificateKey };
    sockets.push(await paced.connection({ ...attacker, ...identity }));
    const other = connect({ port: paced.port, host: '127.0.0.1', localAddress: '127.0.0.2' });
    const answered = once(other, 'data').then(() => 'answered');
    sockets.push(other);
    other.write(clientHello);
    for (let i = 0; i < 5; i++) expect(await works(paced)).toBe(200);
    expect(await Promise.race([answered, 'waits'])).toBe('waits');
  });

  it('that are over do not count: connections beyond the bound stay open', async () => {
    const first = await strict.connection({ ALPNProtocols: ['http/1.1'] });
    for (let i = 0; i < heldMax; i++) await strict.connection({ ALPNProtocols: ['http/1.1'] });
    expect(await works(strict)).toBe(200);
    first.write('GET /version HTTP/1.1\r\nHost: localhost\r\n\r\n');
    const [answer] = await once(first, 'data');
    expect(String(answer)).toMatch(/^HTTP\/1\.1 \d{3} /);
  });

  it('of what is not TLS, or of a protocol that is not spoken, are refused', async () => {
    const plain = bareConnection();
    plain.write('GET / HTTP/1.1\r\nHost: x\r\n\r\n');
    await closed(plain.resume());
    await expect(secured.connection({ ALPNProtocols: ['spdy/3'] })).rejects.toMatchObject({
      code: 'ERR_SSL_TLSV1_ALERT_NO_APPLICATION_PROTOCOL',
    });
    await expect(secured.connection({ maxVersion: 'TLSv1.1', minVersion: 'TLSv1' })).rejects.toThrow();
  });

  it('cannot be repeated on a connection', async () => {
    const socket = await secured.connection({ maxVersion: 'TLSv1.2', ALPNProtocols: ['http/1.1'] });
    const error = await new Promise<Error | null>((resolve) => {
      socket.on('error', resolve);
      socket.renegotiate({ rejectUnauthorized: false }, resolve);
    });
    expect(error).toMatchObject({ code: expect.stringMatching(/NO_RENEGOTIATION/) });
    socket.destroy();
    expect(await works()).toBe(200);
  });
});

describe('HTTP/2', () => {
  it('with requests that are taken back at once is ended', async () => {
    const socket = await secured.connection({ ALPNProtocols: ['h2'] });
    const ended = closed(socket.resume());
    socket.write('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n');
    socket.write(frame(4, 0, 0));
    // GET https / of host x, and at once: never mind.
    const request = Buffer.from('8287844101' + '78', 'hex');
    const cancel = Buffer.from([0, 0, 0, constants.NGHTTP2_CANCEL]);
    for (let id = 1; id < 4_000 && socket.writable; id += 2) {
      socket.write(Buffer.concat([frame(1, 5, id, request), frame(3, 0, id, cancel)]));
      if (id % 100 === 1) await new Promise((resolve) => setImmediate(resolve));
    }
    await ended;
    expect(await works()).toBe(200);
  });

  it('with headers beyond the bound loses that request alone', async () => {
    const session = secured.session();
    const large = session.request({ ':path': '/version', ...as('admin'), 'x-large': 'x'.repeat(200_000) });
    await closed(large);
    expect(await works()).toBe(200);
    const next = secured.session();
    const many = Object.fromEntries(Array.from({ length: 500 }, (_, i) => [`x-${i}`, 'y']));
    expect((await http2(next, '/version', { ...as('admin'), ...many })).status).toBe(200);
    next.close();
    session.destroy();
  });

  it('of a client that does not read its watch holds nobody up', async () => {
    const session = secured.session();
    const configMaps = '/api/v1/namespaces/ns/configmaps';
    const watch = session.request({ ':path': `${configMaps}?watch=true`, ...as('admin') });
    await once(watch, 'response');
    watch.pause();
    const text = 'x'.repeat(100_000);
    for (let i = 0; i < 20; i++) {
      const body = JSON.stringify({ metadata: { name: `large-${i}` }, data: { text } });
      expect((await http2(session, configMaps, { ':method': 'POST', ...as('admin') }, body)).status).toBe(
        200,
      );
    }
    let seen = 0;
    watch.setEncoding('utf8').on('data', (chunk: string) => {
      seen += chunk.split('"type":"ADDED"').length - 1;
    });
    watch.resume();
    await expect.poll(() => seen).toBe(20);
    watch.close(constants.NGHTTP2_CANCEL);
    session.close();
  });

  it('with odd paths gets plain refusals', async () => {
    const session = secured.session();
    for (const path of ['/%zz', '/ü', '/api/v1/pods?labelSelector=%zz', '/api/v1/namespaces/a/b/c/d/e/f']) {
      const stream = session.request({ ':path': path, ...as('admin') });
      const { status } = await answerOf(stream);
      expect(status, path).toBeGreaterThanOrEqual(400);
      expect(status, path).toBeLessThan(500);
    }
    session.close();
  });

  it('with methods that are names of every object in JavaScript gets plain refusals', async () => {
    const session = secured.session();
    for (const method of ['constructor', '__proto__', 'toString'])
      expect((await http2(session, '/api/v1/pods', { ':method': method, ...as('admin') })).status).toBe(405);
    session.close();
  });
});
