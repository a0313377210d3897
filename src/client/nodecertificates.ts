/**
 * Certificates between the API server and node agents. One authority of the cluster signs both sides: the
 * serving certificates of agents, and the client certificate of the API server.
 *
 * The library that makes certificates is slow to load, so it is loaded only when one is made.
 */
import type { webcrypto } from 'node:crypto';
import { wallClock } from '../clock.ts';

/** P-256 keys. Certificates are valid from shortly before now, because clocks differ. */
const algorithm = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' };
const skewMs = 3_600_000;
const validMs = 10 * 365 * 86_400_000;

/** The secret that holds the cluster's authority, so that all servers and agents share it. */
export const nodeAuthoritySecret = { namespace: 'kube-system', name: 'wherry-node-ca' } as const;

/** The API server's identity towards agents, as in Kubernetes. */
const apiServerUser = { user: 'kube-apiserver-kubelet-client', group: 'system:masters' } as const;

/** A certificate and its key, in PEM. */
export interface Certified {
  readonly cert: string;
  readonly key: string;
}

export interface NodeAuthority {
  readonly ca: Certified;
  /** The client certificate of the API server. */
  readonly client: Certified;
}

/** Makes an authority, with the client certificate of the API server. */
export async function makeNodeAuthority(nowMs: number): Promise<NodeAuthority> {
  const x509 = await library();
  const keys = await newKeys();
  const made = await x509.X509CertificateGenerator.createSelfSigned({
    name: 'CN=wherry-node-ca',
    ...validity(nowMs),
    signingAlgorithm: algorithm,
    keys,
    extensions: [
      new x509.BasicConstraintsExtension(true, 0, true),
      new x509.KeyUsagesExtension(x509.KeyUsageFlags.keyCertSign | x509.KeyUsageFlags.cRLSign, true),
      await x509.SubjectKeyIdentifierExtension.create(keys.publicKey),
    ],
  });
  const ca = { cert: made.toString('pem'), key: await privatePem(keys.privateKey) };
  const { user, group } = apiServerUser;
  const client = await issue(ca, nowMs, [{ O: [group] }, { CN: [user] }], 'clientAuth', []);
  return { ca, client };
}

/** Issues a certificate for an agent with these names and addresses. */
export async function issueServingCertificate(
  ca: Certified,
  { names = [], ips = [], nowMs = wallClock() }: { names?: string[]; ips?: string[]; nowMs?: number },
): Promise<Certified> {
  const alternatives = [
    ...names.map((value) => ({ type: 'dns' as const, value })),
    ...ips.map((value) => ({ type: 'ip' as const, value })),
  ];
  const name = `system:node:${names[0] ?? ips[0] ?? ''}`;
  return issue(ca, nowMs, [{ O: ['system:nodes'] }, { CN: [name] }], 'serverAuth', alternatives);
}

async function issue(
  ca: Certified,
  nowMs: number,
  subject: Record<string, string[]>[],
  usage: 'clientAuth' | 'serverAuth',
  alternatives: { type: 'dns' | 'ip'; value: string }[],
): Promise<Certified> {
  const x509 = await library();
  const issuer = new x509.X509Certificate(ca.cert);
  const keys = await newKeys();
  const made = await x509.X509CertificateGenerator.create({
    subject,
    issuer: issuer.subject,
    ...validity(nowMs),
    signingAlgorithm: algorithm,
    publicKey: keys.publicKey,
    signingKey: await importPem(ca.key),
    extensions: [
      new x509.BasicConstraintsExtension(false, undefined, true),
      new x509.KeyUsagesExtension(x509.KeyUsageFlags.digitalSignature, true),
      new x509.ExtendedKeyUsageExtension([x509.ExtendedKeyUsage[usage]]),
      await x509.AuthorityKeyIdentifierExtension.create(issuer),
      ...(alternatives.length ? [new x509.SubjectAlternativeNameExtension(alternatives)] : []),
    ],
  });
  return { cert: made.toString('pem'), key: await privatePem(keys.privateKey) };
}

/** The data of the authority's secret. */
export function authorityData({ ca, client }: NodeAuthority): Record<string, string> {
  const files = { 'ca.crt': ca.cert, 'ca.key': ca.key, 'client.crt': client.cert, 'client.key': client.key };
  return Object.fromEntries(
    Object.entries(files).map(([name, text]) => [name, Buffer.from(text).toString('base64')]),
  );
}

/** Parses the data of the authority's secret; undefined when something is missing. */
export function authorityOf(data: Readonly<Record<string, string>> | undefined): NodeAuthority | undefined {
  const [caCert, caKey, cert, key] = ['ca.crt', 'ca.key', 'client.crt', 'client.key'].map((name) =>
    Buffer.from(data?.[name] ?? '', 'base64').toString('utf8'),
  );
  if (!caCert || !caKey || !cert || !key) return undefined;
  return { ca: { cert: caCert, key: caKey }, client: { cert, key } };
}

async function library() {
  await import('reflect-metadata');
  return import('@peculiar/x509');
}

const validity = (nowMs: number) => ({
  notBefore: new Date(nowMs - skewMs),
  notAfter: new Date(nowMs + validMs),
});

const newKeys = () => crypto.subtle.generateKey(algorithm, true, ['sign', 'verify']);

async function privatePem(key: webcrypto.CryptoKey): Promise<string> {
  const text = Buffer.from(await crypto.subtle.exportKey('pkcs8', key)).toString('base64');
  return `-----BEGIN PRIVATE KEY-----\n${text.match(/.{1,64}/g)!.join('\n')}\n-----END PRIVATE KEY-----\n`;
}

function importPem(pem: string): Promise<webcrypto.CryptoKey> {
  const bytes = Buffer.from(pem.replace(/-----[^-]+-----/g, ''), 'base64');
  return crypto.subtle.importKey('pkcs8', bytes, algorithm, false, ['sign']);
}
