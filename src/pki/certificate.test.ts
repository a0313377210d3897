/** Proves that certificates say what was asked for, as OpenSSL reads and verifies them, and never more than their authority. */
import { X509Certificate } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { Authority, clientUsages, makeAuthority, servingUsages, yearMs } from './authority.ts';
import { subjectOf } from './certificate.ts';
import { readSubject } from './distinguished-name.ts';
import { certificatesIn } from './pem.ts';

const nowMs = Date.UTC(2026, 4, 3, 12, 0, 0);
const authority = new Authority(makeAuthority('test-ca', nowMs));
const root = new X509Certificate(authority.pem.cert);

const read = (pem: string) => new X509Certificate(pem);
const subject = (pem: string) => readSubject(subjectOf(certificatesIn(pem)[0]!));

describe('an authority', () => {
  it('signs itself, is one, and lasts ten years', () => {
    expect(root.ca).toBe(true);
    expect(root.verify(root.publicKey)).toBe(true);
    expect(Date.parse(root.validFrom)).toBe(nowMs - 300_000);
    expect(Date.parse(root.validTo)).toBe(nowMs + 10 * yearMs);
    expect(root.publicKey.asymmetricKeyDetails).toEqual({ namedCurve: 'prime256v1' });
  });

  it('that is renewed keeps its key, so that what it signed stays good', () => {
    const { cert } = authority.issue(
      { subject: { commonName: 'x' }, usages: clientUsages, lifeMs: yearMs },
      nowMs,
    );
    const renewed = authority.renewed('test-ca', nowMs + 5 * yearMs);
    const later = read(renewed.pem.cert);
    expect(renewed.keyHash).toBe(authority.keyHash);
    expect(read(cert).checkIssued(later) && read(cert).verify(later.publicKey)).toBe(true);
    expect(Date.parse(later.validTo)).toBe(nowMs + 15 * yearMs);
  });

  it('must have the key of its certificate', () => {
    const other = makeAuthority('other', nowMs);
    expect(() => new Authority({ cert: authority.pem.cert, key: other.key })).toThrow(/not that of the cert/);
    expect(() => new Authority({ cert: 'no', key: other.key })).toThrow(/no certificate/);
  });
});

describe('a certificate', () => {
  it('has names and addresses of hosts, each once', () => {
    const hosts = [
      'a.example',
      '*.b.example',
      '127.0.0.1',
      '::1',
      'fe80::1:2',
      '::ffff:10.0.0.1',
      'a.example',
    ];
    const { cert, key } = authority.issue(
      { subject: { commonName: 's' }, usages: servingUsages, hosts, lifeMs: yearMs },
      nowMs,
    );
    const made = read(cert);
    expect(made.subjectAltName?.match(/a\.example/g)).toHaveLength(1);
    for (const host of ['a.example', 'x.b.example']) expect(made.checkHost(host), host).toBeDefined();
    for (const ip of ['127.0.0.1', '::1', 'fe80::1:2']) expect(made.checkIP(ip), ip).toBe(ip);
    expect(made.checkIP('127.0.0.2')).toBeUndefined();
    expect(made.checkIssued(root) && made.verify(root.publicKey)).toBe(true);
    expect(made.ca).toBe(false);
    expect(made.keyUsage).toEqual(['1.3.6.1.5.5.7.3.1']);
    expect(key).toMatch(/BEGIN PRIVATE KEY/);
  });

  it('of a user has the groups in their order, whatever characters they have', () => {
    const names = { commonName: 'zoë, CN=root\n/x', organizations: ['b', 'a', 'O=c+CN=d', '中'] };
    const { cert } = authority.issue({ subject: names, usages: clientUsages, lifeMs: yearMs }, nowMs);
    expect(subject(cert)).toEqual({ ...names, uids: [] });
    expect(read(cert).keyUsage).toEqual(['1.3.6.1.5.5.7.3.2']);
  });

  it('lasts as long as asked, from a little before now, but not beyond its authority', () => {
    const lasting = (lifeMs: number, atMs = nowMs) => {
      const { validFrom, validTo } = read(
        authority.issue({ subject: { commonName: 'x' }, usages: clientUsages, lifeMs }, atMs).cert,
      );
      return [Date.parse(validFrom) - atMs, Date.parse(validTo) - atMs];
    };
    expect(lasting(600_000)).toEqual([-300_000, 600_000]);
    expect(lasting(yearMs)).toEqual([-300_000, yearMs - 300_000]);
    expect(lasting(yearMs, nowMs + 9.5 * yearMs)).toEqual([-300_000, 0.5 * yearMs]);
    // From 2050 on years have four digits in certificates.
    expect(Date.parse(read(makeAuthority('x', Date.UTC(2045, 0)).cert).validTo)).toBe(
      Date.UTC(2045, 0) + 10 * yearMs,
    );
  });

  it('has another serial each time', () => {
    const serials = Array.from(
      { length: 50 },
      () => read(authority.issue({ subject: {}, usages: clientUsages, lifeMs: 1 }, nowMs).cert).serialNumber,
    );
    expect(new Set(serials).size).toBe(50);
  });
});
