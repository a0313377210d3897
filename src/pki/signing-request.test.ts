/** Proves that requests of all usual tools are read, that a certificate for one says what it asked, and that nothing hostile gets through. */
import { execFileSync } from 'node:child_process';
import { generateKeyPairSync, X509Certificate } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { Authority, makeAuthority, yearMs } from './authority.ts';
import { costlyCertificateKey } from './costly-key.fixture.ts';
import { readSubject } from './distinguished-name.ts';
import { keyPairOf, newKeyPair } from './key-pair.ts';
import { pem, pemBlocks } from './pem.ts';
import { makeSigningRequest, readSigningRequest, SigningRequestError } from './signing-request.ts';

const folder = mkdtempSync(path.join(tmpdir(), 'wherry-csr-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

function openssl(keyArgs: readonly string[], ...args: string[]): string {
  return execFileSync(
    'openssl',
    ['req', '-new', '-nodes', '-newkey', ...keyArgs, '-keyout', path.join(folder, 'key'), ...args],
    { stdio: ['ignore', 'pipe', 'ignore'], encoding: 'utf8' },
  );
}

const nowMs = Date.UTC(2026, 4, 3);
const authority = new Authority(makeAuthority('test-ca', nowMs));

describe('a request', () => {
  it.each([
    ['P-256', ['ec', '-pkeyopt', 'ec_paramgen_curve:P-256']],
    ['P-384', ['ec', '-pkeyopt', 'ec_paramgen_curve:P-384']],
    ['RSA', ['rsa:2048']],
    ['Ed25519', ['ed25519']],
  ])('of OpenSSL with a key on %s is read and signed', (_kind, key) => {
    const text = openssl(
      key,
      '-subj',
      '/O=system:nodes/O=second/CN=system:node:a',
      '-addext',
      'subjectAltName=DNS:a.example,IP:10.1.2.3,IP:fe80::1,email:a@b.c,URI:spiffe://x/y',
    );
    const request = readSigningRequest(text);
    expect(request.read).toEqual({
      commonName: 'system:node:a',
      organizations: ['system:nodes', 'second'],
      uids: [],
    });
    expect(request.names).toEqual({
      dns: ['a.example'],
      ips: ['10.1.2.3', 'fe80::1'],
      emails: ['a@b.c'],
      uris: ['spiffe://x/y'],
    });
    const usages = ['digital signature', 'server auth'];
    const made = new X509Certificate(authority.sign({ request, usages, lifeMs: yearMs }, nowMs));
    expect(made.publicKey.export({ type: 'spki', format: 'der' })).toEqual(request.publicKey);
    expect(made.verify(new X509Certificate(authority.pem.cert).publicKey)).toBe(true);
    expect(made.subjectAltName).toContain('URI:spiffe://x/y');
    expect(made.subject.split('\n')).toEqual(['O=system:nodes', 'O=second', 'CN=system:node:a']);
    expect(() => authority.sign({ request, usages: ['cooking'], lifeMs: 1 }, nowMs)).toThrow(
      /no usage "cooking"/,
    );
  });

  it('of ours is verified by OpenSSL, with and without names', () => {
    for (const hosts of [[], ['h.example', '10.0.0.9']]) {
      const text = makeSigningRequest(newKeyPair(), { commonName: 'c', organizations: ['o'] }, hosts);
      execFileSync('openssl', ['req', '-verify', '-noout'], {
        input: text,
        stdio: ['pipe', 'ignore', 'ignore'],
      });
      const { read, names } = readSigningRequest(text);
      expect([read.commonName, ...names.dns, ...names.ips]).toEqual(['c', ...hosts]);
    }
  });
});

describe('hostile requests', () => {
  const good = makeSigningRequest(newKeyPair(), { commonName: 'c', organizations: ['o'] }, ['h']);
  const bytes = pemBlocks(good)[0]!.bytes;

  it('are refused: no request, another block, too large, a weak key', () => {
    for (const [text, why] of [
      ['', /PEM block type must be CERTIFICATE REQUEST/],
      [authority.pem.cert, /PEM block type must be CERTIFICATE REQUEST/],
      [pem('CERTIFICATE REQUEST', Buffer.alloc(100_000)), /too large/],
      [pem('CERTIFICATE REQUEST', Buffer.from('3080', 'hex')), /length cannot be read/],
      [makeSigningRequest(generateKeyPairSync('rsa', { modulusLength: 512 }), {}), /RSA key must have/],
    ] as const)
      expect(() => readSigningRequest(text)).toThrow(why);
  });

  it('with a key that takes long to check are refused before it is checked', () => {
    const text = makeSigningRequest(keyPairOf(costlyCertificateKey), { commonName: 'a', organizations: [] });
    expect(() => readSigningRequest(text)).toThrow('the exponent of the key of the certificate is too large');
  });

  it('with any byte changed are refused, and with the key of somebody else', () => {
    for (let at = 0; at < bytes.length; at++) {
      const changed = Buffer.from(bytes);
      changed[at]! ^= 0x01;
      expect(() => readSigningRequest(pem('CERTIFICATE REQUEST', changed)), `byte ${at}`).toThrow(
        SigningRequestError,
      );
    }
  });

  it('cut off or made of noise never throw anything else', () => {
    for (let length = 0; length < bytes.length; length++)
      expect(() => readSigningRequest(pem('CERTIFICATE REQUEST', bytes.subarray(0, length)))).toThrow(
        SigningRequestError,
      );
    expect(() => readSubject(Buffer.from('3003310130', 'hex'))).toThrow();
  });
});
