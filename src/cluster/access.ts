/** The secure door of a cluster, put together: certificates, who is let in, and what they may do. */
import { X509Certificate } from 'node:crypto';
import { hostname, networkInterfaces } from 'node:os';
import path from 'node:path';
import type { Authenticator } from '../access/authentication/authenticator.ts';
import { type Authorizer, allowed } from '../api/access.ts';
import { authenticated, masters } from '../api/user.ts';
import { subjectOf } from '../pki/certificate.ts';
import { administrator, ClusterCertificates } from '../pki/clustercertificates.ts';
import { readSubject } from '../pki/distinguishedname.ts';
import { PkiFolder } from '../pki/pkifolder.ts';
import type { TlsSource } from '../pki/tlssource.ts';
import type { Registry } from '../registry/registry.ts';
import { SecureDoor } from '../server/doors/securedoor.ts';
import type { SecureOptions } from './secureoptions.ts';

export interface AccessOptions {
  readonly secure: SecureOptions;
  /** Where keys are kept; absent: in memory. */
  readonly dataDir: string | undefined;
  /** The address of the service `kubernetes`. */
  readonly serviceIP: string;
  readonly registry: Registry;
  readonly onError: (error: Error) => void;
  readonly onWarning: (message: string) => void;
}

export interface Access {
  readonly door: SecureDoor;
  readonly certificates: ClusterCertificates;
  close(): void;
}

const defaultHost = '127.0.0.1';

export function openAccess({
  secure,
  dataDir,
  serviceIP,
  registry,
  onError,
  onWarning,
}: AccessOptions): Access {
  const host = secure.host ?? defaultHost;
  const certificates = new ClusterCertificates({
    folder: dataDir === undefined ? undefined : new PkiFolder(path.join(path.resolve(dataDir), 'pki')),
    hosts: [...servingNames, serviceIP, ...addressesOf(host), ...(secure.sans ?? [])],
    nowMs: registry.chance.nowMs,
    onError,
  });
  const door = new SecureDoor({
    host,
    port: secure.port ?? 0,
    orAnyPort: secure.orAnyPort,
    tls: tlsSource(certificates),
    authenticator: clientCertificates(certificates, registry.chance.nowMs),
    authorizer: administrators,
    minVersion: secure.minVersion,
    ciphers: secure.ciphers,
    http2: secure.http2 === false ? false : { streamsMax: secure.http2StreamsMax },
    log: onWarning,
  });
  return { door, certificates, close: () => certificates.close() };
}

/** What every serving certificate is for: the API's names in the cluster, and this machine's own. */
const servingNames: readonly string[] = [
  'kubernetes',
  'kubernetes.default',
  'kubernetes.default.svc',
  'kubernetes.default.svc.cluster.local',
  hostname(),
  'localhost',
  '127.0.0.1',
  '::1',
];

/** A door on all addresses is reached by each of them. */
function addressesOf(host: string): string[] {
  if (host !== '0.0.0.0' && host !== '::') return [host];
  return Object.values(networkInterfaces()).flatMap((list) =>
    (list ?? []).map(({ address }) => address.replace(/%.*$/, '')),
  );
}

const tlsSource = (certificates: ClusterCertificates): TlsSource => ({
  get current() {
    const { serving, authority } = certificates;
    return { serving, named: [], clientAuthorities: authority.pem.cert };
  },
  follow: (changed) => certificates.follow(changed),
});

function clientCertificates(certificates: ClusterCertificates, nowMs: () => number): Authenticator {
  return {
    authenticate: ({ certificate }) => {
      if (!certificate) return undefined;
      const { leaf } = certificate;
      const authority = new X509Certificate(certificates.authority.pem.cert);
      const now = nowMs();
      if (!leaf.checkIssued(authority) || !leaf.verify(authority.publicKey))
        throw new Error('the client certificate is of an unknown authority');
      if (Date.parse(leaf.validFrom) > now || Date.parse(leaf.validTo) < now)
        throw new Error('the client certificate has ended or not begun');
      const { commonName: name, organizations } = readSubject(subjectOf(leaf.raw));
      return name ? { name, groups: [...organizations, authenticated], extra: {} } : undefined;
    },
  };
}

const administrators: Authorizer = {
  decide: ({ user: { groups } }) =>
    groups.includes(masters) || groups.includes(administrator.groups[0])
      ? allowed
      : { allowed: false, reason: '' },
};
