/**
 * Certificates between the API server and the agents of nodes. One authority of the cluster signs both sides: the
 * serving certificates of agents, and the client certificate with which the API server shows them who it is.
 */
import { wallClock } from '../clock.ts';
import { Authority, type Certified, clientUsages, makeAuthority, servingUsages } from './authority.ts';

/** Where the cluster keeps this authority: a secret, so that all servers and agents have the same. */
export const nodeAuthoritySecret = { namespace: 'kube-system', name: 'wherry-node-ca' } as const;

/** Who the API server is to agents, as in Kubernetes. */
export const apiServerSubject = {
  commonName: 'kube-apiserver-kubelet-client',
  organizations: ['system:masters'],
} as const;
const validMs = 10 * 365 * 86_400_000;

export interface NodeAuthority {
  readonly ca: Certified;
  /** The API server's. */
  readonly client: Certified;
}

/** What the API server needs for connections to agents. */
export interface NodeTrust {
  /** PEM of the authorities that sign certificates of agents. */
  readonly ca: string;
  /** What it shows them. */
  readonly client: Certified;
}

/** A fresh authority, with the client certificate of the API server. */
export function makeNodeAuthority(nowMs: number): NodeAuthority {
  const ca = makeAuthority('wherry-node-ca', nowMs);
  const client = new Authority(ca).issue(
    { subject: apiServerSubject, usages: clientUsages, lifeMs: validMs },
    nowMs,
  );
  return { ca, client };
}

/** A certificate for an agent that is reached by these names and addresses. */
export function issueServingCertificate(
  ca: Certified,
  { names = [], ips = [], nowMs = wallClock() }: { names?: string[]; ips?: string[]; nowMs?: number },
): Certified {
  const commonName = `system:node:${names[0] ?? ips[0] ?? ''}`;
  const subject = { commonName, organizations: ['system:nodes'] };
  const hosts = [...names, ...ips];
  return new Authority(ca).issue({ subject, usages: servingUsages, hosts, lifeMs: validMs }, nowMs);
}

/** The authority as the data of its secret. */
export function authorityData({ ca, client }: NodeAuthority): Record<string, string> {
  const files = { 'ca.crt': ca.cert, 'ca.key': ca.key, 'client.crt': client.cert, 'client.key': client.key };
  return Object.fromEntries(
    Object.entries(files).map(([name, text]) => [name, Buffer.from(text).toString('base64')]),
  );
}

/** The authority in the data of its secret; undefined when something is missing. */
export function authorityOf(data: Readonly<Record<string, string>> | undefined): NodeAuthority | undefined {
  const [caCert, caKey, cert, key] = ['ca.crt', 'ca.key', 'client.crt', 'client.key'].map((name) =>
    Buffer.from(data?.[name] ?? '', 'base64').toString('utf8'),
  );
  if (!caCert || !caKey || !cert || !key) return undefined;
  return { ca: { cert: caCert, key: caKey }, client: { cert, key } };
}
