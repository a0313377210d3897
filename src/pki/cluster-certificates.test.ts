/** Proves that a cluster's certificates are made once, kept safely, and renewed before they end, also from a half-written folder. */
import { X509Certificate } from 'node:crypto';
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { type Authority, yearMs } from './authority.ts';
import { ClusterCertificates } from './cluster-certificates.ts';
import { PkiFolder } from './pki-folder.ts';

const dayMs = 86_400_000;
const parent = mkdtempSync(path.join(tmpdir(), 'wherry-pki-'));
const folder = path.join(parent, 'pki');
const errors: Error[] = [];
let nowMs = Date.UTC(2026, 4, 3);
const open: ClusterCertificates[] = [];

function certificates(hosts: readonly string[] = ['localhost', '::1'], at: string | undefined = folder) {
  const made = new ClusterCertificates({
    folder: at === undefined ? undefined : new PkiFolder(at),
    hosts,
    nowMs: () => nowMs,
    onError: (error) => errors.push(error),
  });
  open.push(made);
  return made;
}

afterEach(() => {
  for (const made of open.splice(0)) made.close();
  rmSync(parent, { recursive: true, force: true });
  nowMs = Date.UTC(2026, 4, 3);
  expect(errors).toEqual([]);
});

describe('certificates', () => {
  it('are made once, in a folder and files for the owner alone', () => {
    const first = certificates();
    expect(statSync(folder).mode & 0o777).toBe(0o700);
    const files = readdirSync(folder).sort();
    expect(files).toEqual(['admin.crt', 'admin.key', 'apiserver.crt', 'apiserver.key', 'ca.crt', 'ca.key']);
    for (const file of files) expect(statSync(path.join(folder, file)).mode & 0o777, file).toBe(0o600);
    const second = certificates();
    expect([second.authority.pem, second.serving, second.admin]).toEqual([
      first.authority.pem,
      first.serving,
      first.admin,
    ]);
    expect(new X509Certificate(first.admin.cert).subject).toBe('O=wherry:admins\nCN=wherry-admin');
  });

  it('are made when they are first asked for, where they may never be', () => {
    const made = new ClusterCertificates({
      folder: new PkiFolder(folder),
      hosts: ['localhost'],
      later: ['serving', 'admin'],
      nowMs: () => nowMs,
      onError: (error) => errors.push(error),
    });
    open.push(made);
    expect(readdirSync(folder).sort()).toEqual(['ca.crt', 'ca.key']);
    made.renew();
    expect(readdirSync(folder).sort()).toEqual(['ca.crt', 'ca.key']);
    const { admin } = made;
    expect(readdirSync(folder)).toContain('admin.crt');
    expect(readdirSync(folder)).not.toContain('apiserver.crt');
    expect(made.admin).toBe(admin);
  });

  it('stay in memory without a folder', () => {
    const made = new ClusterCertificates({ hosts: ['h'], nowMs: () => nowMs, onError: () => undefined });
    made.close();
    expect(made.clientFor('bob', ['dev']).cert).toMatch(/BEGIN CERTIFICATE/);
    expect(() => readdirSync(folder)).toThrow();
  });

  it('are made anew for other hosts, by the same authority', () => {
    const first = certificates();
    const second = certificates(['localhost', '::1', 'more.example']);
    expect(second.authority.pem).toEqual(first.authority.pem);
    expect(second.admin).toEqual(first.admin);
    expect(new X509Certificate(second.serving.cert).checkHost('more.example')).toBe('more.example');
  });

  it('are renewed when less than thirty days are left, and followers are told', () => {
    const made = certificates();
    const { serving, admin, authority } = made;
    let told = 0;
    const stop = made.follow(() => told++);
    nowMs += yearMs - 31 * dayMs;
    made.renew();
    expect([made.serving, told]).toEqual([serving, 0]);
    nowMs += 2 * dayMs;
    made.renew();
    expect(told).toBe(1);
    expect(made.authority).toBe(authority);
    for (const [after, before] of [
      [made.serving, serving],
      [made.admin, admin],
    ] as const) {
      expect(after.key).not.toBe(before.key);
      expect(Date.parse(new X509Certificate(after.cert).validTo)).toBeGreaterThan(nowMs + 300 * dayMs);
    }
    expect(readFileSync(path.join(folder, 'apiserver.crt'), 'utf8')).toBe(made.serving.cert);
    stop();
    nowMs += yearMs;
    made.renew();
    expect(told).toBe(1);
  });

  it('of the server at other API servers are of an authority of their own, which is kept and renewed, too', () => {
    const made = certificates();
    const isOf = (cert: string, { certificate }: Authority): boolean =>
      new X509Certificate(cert).verify(certificate.publicKey);
    const { cert } = made.proxyClient('p');
    expect([isOf(cert, made.proxyAuthority), isOf(cert, made.authority)]).toEqual([true, false]);
    const again = certificates();
    expect(again.proxyAuthority.pem).toEqual(made.proxyAuthority.pem);
    expect(statSync(path.join(folder, 'front-proxy-ca.key')).mode & 0o777).toBe(0o600);
    nowMs += 9.5 * yearMs;
    again.renew();
    expect(isOf(cert, again.proxyAuthority)).toBe(true);
    expect(again.proxyAuthority.pem.cert).not.toBe(made.proxyAuthority.pem.cert);
  });

  it('of the authority is renewed with its key, so that old kubeconfigs go on', () => {
    const made = certificates();
    const { authority } = made;
    nowMs += 9.5 * yearMs;
    made.renew();
    expect(made.authority.pem.cert).not.toBe(authority.pem.cert);
    expect(made.authority.pem.key).toBe(authority.pem.key);
    const old = new X509Certificate(authority.pem.cert);
    expect(new X509Certificate(made.serving.cert).verify(old.publicKey)).toBe(true);
  });

  it('survive a start that was cut off: a key alone, a pair that does not fit, an empty file', () => {
    const { authority, serving } = certificates();
    rmSync(path.join(folder, 'ca.crt'));
    writeFileSync(path.join(folder, 'apiserver.key'), readFileSync(path.join(folder, 'admin.key')));
    writeFileSync(path.join(folder, 'admin.crt'), '');
    const again = certificates();
    expect(again.authority.pem.key).toBe(authority.pem.key);
    expect(again.serving.key).not.toBe(serving.key);
    expect(
      new X509Certificate(again.admin.cert).checkIssued(new X509Certificate(again.authority.pem.cert)),
    ).toBe(true);
  });

  it('of an authority whose key does not fit are not replaced: that is for people to look at', () => {
    certificates();
    writeFileSync(path.join(folder, 'ca.key'), readFileSync(path.join(folder, 'admin.key')));
    expect(() => certificates()).toThrow(/the key is not that of the certificate/);
  });
});
