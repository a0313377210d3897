/** Client certificates name users when they are signed by a known authority, hold now, and are meant for clients. */
import { X509Certificate } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { costlyCertificate } from '../../pki/costly-key.fixture.ts';
import { credentials } from './authentication.fixture.ts';
import type { PeerCertificate } from './authenticator.ts';
import { nowMs, TestAuthority } from './certificates.fixture.ts';
import { ClientAuthorities, ClientCertificates } from './client-certificates.ts';

const ca = new TestAuthority('clients');
const other = new TestAuthority('others');
const frank = [
  ['O', 'dev'],
  ['O', 'ops'],
  ['CN', 'frank'],
] as const;

const clock = { nowMs };
const authorities = new ClientAuthorities(ca.pem, () => clock.nowMs);
const certificates = new ClientCertificates(authorities);
const userOf = (certificate: PeerCertificate, by = certificates) =>
  by.authenticate(credentials([], { certificate }));

describe('a client certificate', () => {
  it('names the user, the groups in order, and itself', () => {
    const digest = expect.stringMatching(/^X509SHA256=[0-9a-f]{64}$/);
    const extra = { 'authentication.kubernetes.io/credential-id': [digest] };
    expect(userOf(ca.client(frank))).toEqual({ name: 'frank', groups: ['dev', 'ops'], extra });
    expect(
      userOf(
        ca.client([
          ['CN', 'frank'],
          ['UID', '4711'],
        ]),
      ),
    ).toEqual({
      name: 'frank',
      uid: '4711',
      groups: [],
      extra,
    });
  });

  it('does not count for a page of another site, for which a browser shows it by itself', () => {
    const shown = credentials([], { certificate: ca.client(frank), isForeignPage: true });
    expect(certificates.authenticate(shown)).toBeUndefined();
  });

  it('is read once per connection', () => {
    const peer = ca.client(frank);
    expect(userOf(peer)).toBe(userOf(peer));
  });

  it('without a common name has no opinion', () => {
    expect(userOf(ca.client([['O', 'dev']]))).toBeUndefined();
    expect(certificates.authenticate(credentials())).toBeUndefined();
  });

  it('with two uids or an empty one is refused', () => {
    const uids = (...values: string[]) =>
      ca.client([['CN', 'frank'], ...values.map((value) => ['UID', value] as const)]);
    expect(() => userOf(uids('1', '2'))).toThrow('one uid');
    expect(() => userOf(uids(''))).toThrow('one uid');
  });

  it('with a key that takes long to check with is refused, also where it is trusted', () => {
    const leaf = new X509Certificate(costlyCertificate);
    const trusting = new ClientCertificates(new ClientAuthorities(costlyCertificate, () => nowMs));
    expect(() => userOf({ leaf, intermediates: [] }, trusting)).toThrow('exponent');
  });

  it('cannot smuggle groups through the text of its name', () => {
    const names = [
      'frank/O=system:masters',
      'frank\nO=system:masters',
      'frank,O=system:masters',
      'O=system:masters',
    ];
    for (const name of names) expect(userOf(ca.client([['CN', name]]))).toMatchObject({ name, groups: [] });
    const group = userOf(
      ca.client([
        ['O', 'dev\nCN=root'],
        ['CN', 'frank'],
      ]),
    );
    expect(group).toMatchObject({ name: 'frank', groups: ['dev\nCN=root'] });
  });

  it('of a foreign authority is refused, also when that has the same name', () => {
    expect(() => userOf(other.client(frank))).toThrow('unknown authority');
    expect(() => userOf(new TestAuthority('clients').client(frank))).toThrow('unknown authority');
  });

  it('that another client signed is refused', () => {
    const leaf = new TestAuthority('frank', ca, { isAuthority: false });
    const signed = leaf.client(frank, { intermediates: [leaf.certificate] });
    expect(() => userOf(signed)).toThrow();
  });

  it('for servers is refused', () => {
    expect(() => userOf(ca.client(frank, { usages: ['server auth'] }))).toThrow('not meant for this use');
    expect(userOf(ca.client(frank, { usages: ['server auth', 'client auth'] }))?.name).toBe('frank');
  });

  it('is good by way of authorities that the client sends', () => {
    const below = new TestAuthority('below', ca);
    const intermediates = [other.certificate, below.certificate];
    expect(userOf(below.client(frank, { intermediates }))?.name).toBe('frank');
    expect(() => userOf(below.client(frank))).toThrow('unknown authority');
    expect(() => userOf(other.client(frank, { intermediates: [other.certificate] }))).toThrow();
  });

  it('before its time or after it is refused, with every request', () => {
    const peer = ca.client(frank, { fromMs: nowMs - 60_000, untilMs: nowMs + 60_000 });
    try {
      expect(userOf(peer)?.name).toBe('frank');
      clock.nowMs = nowMs + 62_000;
      expect(() => userOf(peer)).toThrow('expired');
      clock.nowMs = nowMs - 62_000;
      expect(() => userOf(peer)).toThrow('not valid yet');
      clock.nowMs = nowMs;
      expect(userOf(peer)?.name).toBe('frank');
    } finally {
      clock.nowMs = nowMs;
    }
  });

  it('of an authority that is over is refused', () => {
    const past = new TestAuthority('past', undefined, { untilMs: nowMs - 1_000 });
    const by = new ClientCertificates(new ClientAuthorities(past.pem, () => nowMs));
    expect(() => userOf(past.client(frank), by)).toThrow('expired');
  });

  it('stops being good when its authority is taken away, on connections that are open too', () => {
    const changing = new ClientAuthorities(`${ca.pem}${other.pem}`, () => nowMs);
    const by = new ClientCertificates(changing);
    const peer = other.client(frank);
    expect(userOf(peer, by)?.name).toBe('frank');
    changing.replace(ca.pem);
    expect(() => userOf(peer, by)).toThrow('unknown authority');
    expect(() => changing.replace('nothing')).toThrow('no certificate');
  });

  it('with more possible issuers than anybody needs is given up', () => {
    const many = Array.from({ length: 20 }, () => new TestAuthority('loop', other).certificate);
    expect(() => userOf(other.client(frank, { intermediates: many }))).toThrow();
  });
});
