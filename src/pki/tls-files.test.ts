/** Proves that certificate files are taken over when they change, and that bad ones leave the old in place with one line in the log. */
import { mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { Authority, type Certified, makeAuthority, servingUsages, yearMs } from './authority.ts';
import { ClusterCertificates } from './cluster-certificates.ts';
import { TlsFiles } from './tls-files.ts';

let folder: string;
let certificates: ClusterCertificates;
let files: TlsFiles | undefined;
const logged: string[] = [];
const authority = new Authority(makeAuthority('operator', Date.now()));

const file = (name: string): string => path.join(folder, name);
const issued = (...hosts: string[]): Certified =>
  authority.issue(
    { subject: { commonName: 'cn.example' }, usages: servingUsages, hosts, lifeMs: yearMs },
    Date.now(),
  );

function put(name: string, { cert, key }: Certified): void {
  for (const [end, text] of [
    ['crt', cert],
    ['key', key],
  ] as const) {
    writeFileSync(file(`${name}.${end}.new`), text);
    renameSync(file(`${name}.${end}.new`), file(`${name}.${end}`));
  }
}

const pair = (name: string) => ({ certFile: file(`${name}.crt`), keyFile: file(`${name}.key`) });

function openFiles(options: Partial<ConstructorParameters<typeof TlsFiles>[1]> = {}): TlsFiles {
  files = new TlsFiles(certificates, {
    serving: undefined,
    named: [],
    clientCAFile: undefined,
    log: (message) => logged.push(message),
    ...options,
  });
  return files;
}

const changed = (source: TlsFiles): Promise<void> =>
  new Promise((resolve) => {
    const stop = source.follow(() => {
      stop();
      resolve();
    });
  });

beforeEach(() => {
  folder = mkdtempSync(path.join(tmpdir(), 'wherry-tls-'));
  logged.length = 0;
  certificates = new ClusterCertificates({ hosts: ['h'], nowMs: Date.now, onError: () => undefined });
});
afterEach(() => {
  files?.close();
  certificates.close();
  rmSync(folder, { recursive: true, force: true });
});

describe('files', () => {
  it('are shown in place of the own certificate, and anew when they change', async () => {
    const [first, second] = [issued('a'), issued('b')];
    put('s', first);
    const source = openFiles({ serving: pair('s') });
    expect(source.current.serving).toEqual(first);
    expect(source.servingAuthority).toBeUndefined();
    const told = changed(source);
    put('s', second);
    await told;
    expect(source.current.serving).toEqual(second);
    expect(logged).toEqual([]);
  });

  it('that are bad leave the old ones in place, and are named in the log', async () => {
    const [first, second] = [issued('a'), issued('b')];
    put('s', first);
    const source = openFiles({ serving: pair('s') });
    writeFileSync(file('s.crt'), 'nonsense');
    await expect
      .poll(() => logged)
      .toEqual([expect.stringMatching(/s\.crt, .*s\.key cannot be used.*no certificate/)]);
    writeFileSync(file('s.crt'), second.cert);
    await expect.poll(() => logged.length).toBe(2);
    expect(logged[1]).toMatch(/the key is not that of the certificate/);
    expect(source.current.serving).toEqual(first);
    const told = changed(source);
    writeFileSync(file('s.key'), second.key);
    await told;
    expect(source.current.serving).toEqual(second);
  });

  it('for single names have those of the certificate, or those that are given', () => {
    put('a', issued('a.example', '*.b.example', '10.0.0.1'));
    put('c', issued());
    const source = openFiles({ named: [pair('a'), pair('c'), { ...pair('c'), names: ['d.example'] }] });
    expect(source.current.named.map(({ names }) => names)).toEqual([
      ['a.example', '*.b.example'],
      ['cn.example'],
      ['d.example'],
    ]);
  });

  it('of client authorities come beside the own one', () => {
    writeFileSync(file('ca.crt'), authority.pem.cert);
    const { clientAuthorities } = openFiles({ clientCAFile: file('ca.crt') }).current;
    expect(clientAuthorities).toBe(certificates.authority.pem.cert + authority.pem.cert);
  });

  it('that cannot be used at the start are refused', () => {
    expect(() => openFiles({ clientCAFile: file('none') })).toThrow(/ENOENT/);
    writeFileSync(file('ca.crt'), '');
    expect(() => openFiles({ clientCAFile: file('ca.crt') })).toThrow(/no certificate/);
  });
});
