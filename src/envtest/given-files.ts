/** Checks files that flags name, before anything starts, so that a wrong one is reported in kube-apiserver's words. */
import { createPublicKey } from 'node:crypto';
import { readFileSync } from 'node:fs';
import type { FlagValues } from './flag.ts';

const fileFlags: readonly string[] = [
  'client-ca-file',
  'requestheader-client-ca-file',
  'oidc-ca-file',
  'token-auth-file',
  'authentication-config',
  'authentication-token-webhook-config-file',
  'authorization-config',
  'authorization-policy-file',
  'authorization-webhook-config-file',
  'admission-control-config-file',
  'encryption-provider-config',
  'audit-policy-file',
  'audit-webhook-config-file',
  'tls-cert-file',
  'tls-private-key-file',
  'service-account-signing-key-file',
  'kubelet-certificate-authority',
  'kubelet-client-certificate',
  'kubelet-client-key',
  'proxy-client-cert-file',
  'proxy-client-key-file',
];

/** The problem of the first file that cannot be used; undefined when all can. */
export function fileProblem(values: FlagValues): string | undefined {
  for (const flag of fileFlags) {
    const problem = openProblem(values.get(flag)?.at(-1));
    if (problem) return problem;
  }
  for (const file of values.get('service-account-key-file') ?? []) {
    const problem = openProblem(file) ?? keyProblem(file);
    if (problem) return problem;
  }
  return undefined;
}

function openProblem(file: string | undefined): string | undefined {
  if (!file) return undefined;
  try {
    readFileSync(file);
    return undefined;
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    const words =
      code === 'ENOENT' ? 'no such file or directory' : code === 'EACCES' ? 'permission denied' : code;
    return `open ${file}: ${words}`;
  }
}

/**
 * Checks a key file. Kubernetes accepts certificates, public keys and private keys there; ECDSA private keys only in
 * their own format.
 */
function keyProblem(file: string): string | undefined {
  if (!file) return undefined;
  const blocks =
    readFileSync(file, 'utf8').match(/-----BEGIN ([A-Z0-9 ]+)-----[\s\S]+?-----END \1-----/g) ?? [];
  if (blocks.some(isUsable)) return undefined;
  return `error reading public key file ${file}: data does not contain any valid RSA or ECDSA public keys`;
}

function isUsable(pem: string): boolean {
  try {
    const { asymmetricKeyType: type } = createPublicKey(pem);
    return type === 'rsa' || (type === 'ec' && !pem.startsWith('-----BEGIN PRIVATE KEY-----'));
  } catch {
    return false;
  }
}
