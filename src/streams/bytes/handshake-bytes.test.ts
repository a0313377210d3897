/** Proves that a server cannot send many certificates, and that what follows the handshake comes whole and in order. */
import { once } from 'node:events';
import { type AddressInfo, connect } from 'node:net';
import { Duplex } from 'node:stream';
import { connect as connectTls, createServer, type Server } from 'node:tls';
import { afterEach, expect, it } from 'vitest';
import { HandshakeBytes } from './handshake-bytes.ts';

/** The certificate of a server that nobody knows, valid until 2051. */
const cert = `-----BEGIN CERTIFICATE-----
MIIBejCCAR+gAwIBAgIURI86iaNdUYbJWxb3HKeGlD93md4wCgYIKoZIzj0EAwIw
ETEPMA0GA1UEAwwGdGFyZ2V0MCAXDTI2MTExOTAwMTUzNloYDzIwNTEwNzExMDAx
NTM2WjARMQ8wDQYDVQQDDAZ0YXJnZXQwWTATBgcqhkjOPQIBBggqhkjOPQMBBwNC
AASjwpSkkYv/kUqD2BRT9PasZkOGaeOiSkTgFTXgZLIA+4ORc1mQzuftv340D/Hl
Cz1/yCSkaob12SNdT2TIvcIuo1MwUTAdBgNVHQ4EFgQUq/96iLaB/g505E5+/xRO
yReTzbswHwYDVR0jBBgwFoAUq/96iLaB/g505E5+/xROyReTzbswDwYDVR0TAQH/
BAUwAwEB/zAKBggqhkjOPQQDAgNJADBGAiEAo+woCEAFFcaVuJT1BkCEyfZadKOa
Sthu4zudFq6GKRwCIQDMybyZY9bJ2RywOlVR8RKioZaAmTrtn32Q8Zlc6jVYxw==
-----END CERTIFICATE-----
`;
const key = `-----BEGIN PRIVATE KEY-----
MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgMkcS3ldMryEX6LYd
x5A5kQ4yrOoX6Gq3FXUbJbKr/BqhRANCAASjwpSkkYv/kUqD2BRT9PasZkOGaeOi
SkTgFTXgZLIA+4ORc1mQzuftv340D/HlCz1/yCSkaob12SNdT2TIvcIu
-----END PRIVATE KEY-----
`;

let server: Server | undefined;
afterEach(() => server?.close());

/** What a client gets of a server that shows its certificate so many times. */
async function gotten(times: number, text: string): Promise<string> {
  server = createServer({ cert: cert.repeat(times), key }, (socket) => socket.end(text));
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const bytes = new HandshakeBytes(connect((server.address() as AddressInfo).port, '127.0.0.1'));
  const secure = connectTls({ socket: bytes, rejectUnauthorized: false });
  secure.once('secureConnect', () => bytes.finish());
  const parts: Buffer[] = [];
  for await (const part of secure) parts.push(part as Buffer);
  return Buffer.concat(parts).toString();
}

it('answers of any length follow a usual handshake', async () => {
  const text = Array.from({ length: 300_000 }, (_, i) => i).join(' ');
  expect(await gotten(3, text)).toBe(text);
});

it('a handshake with more than 12 kB is broken off', async () => {
  await expect(gotten(60, 'hello')).rejects.toThrow('certificates of the server are too long');
});

/** Passes on what it is given at once, whether it is paused or not: as a connection that had read it already. */
class Source extends Duplex {
  override _read(): void {}

  override pause(): this {
    return this;
  }
}

it('nothing overtakes what waits for its turn', async () => {
  const sources = [new Source(), new Source(), new Source()];
  const ends = sources.map((source) => new HandshakeBytes(source));
  for (const source of sources) source.emit('data', Buffer.from('first '));
  for (const end of ends) end.finish();
  for (const source of sources) {
    source.emit('data', Buffer.from('second '));
    source.emit('data', Buffer.from('third'));
    source.emit('end');
  }
  const texts = ends.map(async (end) => {
    let text = '';
    for await (const part of end) text += part;
    return text;
  });
  expect(await Promise.all(texts)).toEqual(Array(3).fill('first second third'));
});
