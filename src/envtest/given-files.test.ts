/** Proves how files that flags name are checked. */
import { generateKeyPairSync } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, expect, it } from 'vitest';
import { readApiServerFlags } from './apiserver-flags.ts';
import { fileProblem } from './given-files.ts';

const folder = mkdtempSync(path.join(tmpdir(), 'wherry-files-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));
const written = (name: string, text: string | Buffer): string => {
  const file = path.join(folder, name);
  writeFileSync(file, text);
  return file;
};
const problem = (...flags: string[]): string | undefined => fileProblem(readApiServerFlags(flags));
const rsa = generateKeyPairSync('rsa', { modulusLength: 2048 });
const ec = generateKeyPairSync('ec', { namedCurve: 'P-256' });

it('names a file that is not there', () => {
  for (const flag of ['client-ca-file', 'token-auth-file', 'service-account-key-file'])
    expect(problem(`--${flag}=/no/such`)).toBe('open /no/such: no such file or directory');
  expect(problem('--client-ca-file=')).toBeUndefined();
});

it('wants keys of service accounts in the forms that Kubernetes reads', () => {
  const good = [
    written('rsa8.key', rsa.privateKey.export({ type: 'pkcs8', format: 'pem' })),
    written('rsa.pub', rsa.publicKey.export({ type: 'spki', format: 'pem' })),
    written('ec.key', ec.privateKey.export({ type: 'sec1', format: 'pem' })),
    written('ec.pub', ec.publicKey.export({ type: 'spki', format: 'pem' })),
  ];
  expect(problem(...good.map((file) => `--service-account-key-file=${file}`))).toBeUndefined();
  const bad = [
    written('junk', 'junk'),
    written('ec8.key', ec.privateKey.export({ type: 'pkcs8', format: 'pem' })),
  ];
  for (const file of bad)
    expect(problem(`--service-account-key-file=${file}`)).toBe(
      `error reading public key file ${file}: data does not contain any valid RSA or ECDSA public keys`,
    );
});
