/** Proves that certificates are kept, renewed with a new key before they end, and asked for again after failures. */
import { X509Certificate } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { Authority, clientUsages, makeAuthority } from '../../pki/authority.ts';
import type { KeyPair } from '../../pki/key-pair.ts';
import { PkiFolder } from '../../pki/pki-folder.ts';
import { makeSigningRequest, readSigningRequest } from '../../pki/signing-request.ts';
import { RotatingCertificate, type RotatingOptions } from './rotating-certificate.ts';

const authority = new Authority(makeAuthority('test-ca', Date.now()));
const hourMs = 3_600_000;
let folder: string;
let aheadMs: number;
let asked: KeyPair[];
const errors: Error[] = [];
beforeEach(() => {
  folder = mkdtempSync(path.join(tmpdir(), 'wherry-rotate-'));
  aheadMs = 0;
  asked = [];
  errors.length = 0;
});
afterEach(() => {
  vi.useRealTimers();
  rmSync(folder, { recursive: true, force: true });
});

const now = (): number => Date.now() + aheadMs;

/** Signed for an hour. */
function signed(key: KeyPair): string {
  asked.push(key);
  const request = readSigningRequest(makeSigningRequest(key, { commonName: 'system:node:n' }));
  return authority.sign({ request, usages: clientUsages, lifeMs: hourMs }, now());
}

const open = (options: Partial<RotatingOptions> = {}): RotatingCertificate =>
  new RotatingCertificate({
    folder: new PkiFolder(folder),
    name: 'kubelet-client',
    ask: async (key) => signed(key),
    now,
    changed: () => undefined,
    onError: (error) => void errors.push(error),
    random: () => 0.5,
    ...options,
  });

it('keeps what it got', async () => {
  const first = await open().first();
  const again = open();
  expect(again.current).toEqual(first);
  expect(await again.first()).toEqual(first);
  expect(asked).toHaveLength(1);
});

it('asks with the same key after a restart before the answer', async () => {
  const keys: KeyPair[] = [];
  const lost = open({
    ask: (key) => {
      keys.push(key);
      return Promise.reject(new Error('lost'));
    },
  });
  await expect(lost.first()).rejects.toThrow('lost');
  await open().first();
  expect(asked[0]!.publicKey.equals(keys[0]!.publicKey)).toBe(true);
});

it('renews between 70 and 90 % of its life, with another key, and tries again', async () => {
  vi.useFakeTimers();
  let failures = 1;
  const got: string[] = [];
  const certificate = open({
    ask: async (key) => {
      if (got.length && failures-- > 0) throw new Error('not now');
      return signed(key);
    },
    changed: ({ cert }) => void got.push(cert),
  });
  await certificate.first();
  certificate.keep();
  const { validFrom, validTo } = new X509Certificate(got[0]!);
  const lifeMs = Date.parse(validTo) - Date.parse(validFrom);
  const dueMs = Date.parse(validFrom) + 0.8 * lifeMs - Date.now();
  await vi.advanceTimersByTimeAsync(dueMs - 1_000);
  expect(got).toHaveLength(1);
  await vi.advanceTimersByTimeAsync(5_000);
  expect(errors.map(({ message }) => message)).toEqual(['not now']);
  expect(got).toHaveLength(2);
  expect(asked[1]!.publicKey.equals(asked[0]!.publicKey)).toBe(false);
  expect(certificate.current?.cert).toBe(got[1]);
  certificate.close();
});

it('says when its time is over', async () => {
  await open().first();
  aheadMs = 2 * hourMs;
  const late = open();
  expect([late.current, late.hadEnded]).toEqual([undefined, true]);
});
