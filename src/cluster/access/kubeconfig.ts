/**
 * Builds kubeconfigs, from which clients learn the address of a cluster and their credentials. Written as JSON, which
 * is valid YAML.
 */
import type { Certified } from '../../pki/authority.ts';

export interface Kubeconfig {
  readonly apiVersion: 'v1';
  readonly kind: 'Config';
  readonly clusters: readonly { name: string; cluster: object }[];
  readonly users: readonly { name: string; user: object }[];
  readonly contexts: readonly { name: string; context: object }[];
  readonly 'current-context': string;
}

const clusterName = 'wherry';

/** A kubeconfig for plain HTTP. Clients that insist on TLS accept it only with verification switched off. */
export const kubeconfigFor = (url: string): string =>
  kubeconfigText(assembled(clusterName, { server: url, 'insecure-skip-tls-verify': true }, {}));

export interface SecureAccess {
  readonly url: string;
  /** PEM of the authority that signed the server's certificate; undefined: one that clients trust anyway. */
  readonly ca: string | undefined;
  readonly user: string;
  readonly client: Certified;
}

/** A kubeconfig for a user with a client certificate. */
export const secureKubeconfig = ({ url, ca, user, client }: SecureAccess): Kubeconfig =>
  assembled(
    user,
    { server: url, ...(ca === undefined ? {} : { 'certificate-authority-data': base64(ca) }) },
    { 'client-certificate-data': base64(client.cert), 'client-key-data': base64(client.key) },
  );

export const kubeconfigText = (config: object): string => `${JSON.stringify(config, null, 2)}\n`;

function assembled(user: string, cluster: object, credentials: object): Kubeconfig {
  const context = user === clusterName ? clusterName : `${user}@${clusterName}`;
  return {
    apiVersion: 'v1',
    kind: 'Config',
    clusters: [{ name: clusterName, cluster }],
    users: [{ name: user, user: credentials }],
    contexts: [{ name: context, context: { cluster: clusterName, user } }],
    'current-context': context,
  };
}

const base64 = (text: string): string => Buffer.from(text).toString('base64');
