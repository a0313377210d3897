/**
 * Certificates between the API server and node agents. A separate authority signs both sides: the serving certificates
 * of agents, and the client certificate by which the API server identifies itself to them. No door trusts this
 * authority, so these certificates give no rights there.
 */
import { X509Certificate } from 'node:crypto';
import { wallClock } from '../clock.ts';
import {
  Authority,
  type Certified,
  clientUsages,
  makeAuthority,
  servingUsages,
  yearMs,
} from './authority.ts';

/** The secret with this authority, so that all servers and agents have the same. */
export const nodeAuthoritySecret = { namespace: 'kube-system', name: 'wherry-node-ca' } as const;

const authorityName = 'wherry-node-ca';

/** The API server's identity for agents, with Kubernetes' name. It has no group: agents accept this name only. */
export const apiServerSubject = { commonName: 'kube-apiserver-kubelet-client' } as const;

/**
 * Domain of names that belong to one agent each, whatever else is named like its node; they are never looked up in DNS.
 */
export const agentDomain = 'nodes.wherry.internal';
export const agentNameOf = (node: string): string => `${node}.${agentDomain}`;

const validMs = 10 * 365 * 86_400_000;

export interface NodeAuthority {
  readonly ca: Certified;
  /** The client certificate of the API server. */
  readonly client: Certified;
}

/** What the API server needs for connections to agents. */
export interface NodeTrust {
  /** PEM of the authorities that sign certificates of agents. */
  readonly ca: string;
  /** The client certificate that it presents. */
  readonly client: Certified;
  /** Whether the common name of a certificate names its node, because the cluster itself has signed it. */
  readonly namesNodes?: boolean;
}

/** A fresh authority, with the client certificate of the API server. */
export const makeNodeAuthority = (nowMs: number): NodeAuthority =>
  withClient(makeAuthority(authorityName, nowMs), nowMs);

const withClient = (ca: Certified, nowMs: number): NodeAuthority => ({
  ca,
  client: new Authority(ca).issue(
    { subject: apiServerSubject, usages: clientUsages, lifeMs: validMs },
    nowMs,
  ),
});

/**
 * The stored authority, renewed if necessary: with a certificate for another ten years when less than a year is left,
 * and with a client certificate without groups. Version 0.2.0 made one with the group `system:masters`.
 */
export function currentAuthority(stored: NodeAuthority, nowMs: number): NodeAuthority {
  const authority = new Authority(stored.ca);
  if (authority.notAfterMs - nowMs < yearMs)
    return withClient(authority.renewed(authorityName, nowMs).pem, nowMs);
  const { subject } = new X509Certificate(stored.client.cert);
  return subject === `CN=${apiServerSubject.commonName}` ? stored : withClient(stored.ca, nowMs);
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
