/** The secure door of a cluster, put together: certificates, who is let in, and what they may do. */
import { X509Certificate } from 'node:crypto';
import { hostname, networkInterfaces } from 'node:os';
import path from 'node:path';
import type { Authenticator, PeerCertificate } from '../access/authentication/authenticator.ts';
import { type Authorizer, allowed } from '../api/access.ts';
import { authenticated, masters, type User } from '../api/user.ts';
import { LastMemo } from '../memo.ts';
import type { Certified } from '../pki/authority.ts';
import { subjectOf } from '../pki/certificate.ts';
import { administrator, ClusterCertificates } from '../pki/clustercertificates.ts';
import { readSubject } from '../pki/distinguishedname.ts';
import { certificatesIn } from '../pki/pem.ts';
import { PkiFolder, writePrivately } from '../pki/pkifolder.ts';
import { TlsFiles } from '../pki/tlsfiles.ts';
import type { TlsSource } from '../pki/tlssource.ts';
import type { Registry } from '../registry/registry.ts';
import { SecureDoor } from '../server/doors/securedoor.ts';
import { ensureAdministrators } from './administrators.ts';
import { kubeconfigText, secureKubeconfig } from './kubeconfig.ts';
import { machineAddress } from './node.ts';
import type { ClusterUser, SecureOptions } from './secureoptions.ts';
import { StartError } from './starterror.ts';

export interface AccessOptions {
  readonly secure: SecureOptions;
  readonly users: readonly ClusterUser[];
  /** Where keys are kept; absent: in memory. */
  readonly dataDir: string | undefined;
  /** The address of the service `kubernetes`. */
  readonly serviceIP: string;
  readonly registry: Registry;
  readonly onError: (error: Error) => void;
  readonly onWarning: (message: string) => void;
}

const defaultHost = '127.0.0.1';

/** Throws a `StartError` when files cannot be used. */
export async function openAccess(options: AccessOptions): Promise<Access> {
  let access: Access;
  try {
    access = new Access(options);
  } catch (error) {
    throw new StartError(`the secure door cannot be opened: ${(error as Error).message}`, { cause: error });
  }
  await ensureAdministrators(options.registry);
  return access;
}

export class Access {
  readonly door: SecureDoor;
  readonly certificates: ClusterCertificates;
  /** File of the administrator's kubeconfig; undefined when none is written. */
  readonly kubeconfigFile: string | undefined;
  readonly #tls: TlsFiles;
  readonly #users = new Map<string, Certified>();
  readonly #onError: (error: Error) => void;

  constructor({ secure, users, dataDir, serviceIP, registry, onError, onWarning }: AccessOptions) {
    const host = secure.host ?? defaultHost;
    const folder = dataDir === undefined ? undefined : path.resolve(dataDir);
    const { nowMs } = registry.chance;
    this.#onError = onError;
    this.kubeconfigFile = secure.kubeconfigFile ?? (folder && path.join(folder, 'kubeconfig'));
    this.certificates = new ClusterCertificates({
      folder: folder === undefined ? undefined : new PkiFolder(path.join(folder, 'pki')),
      hosts: [...servingNames(), serviceIP, ...addressesOf(host), ...(secure.sans ?? [])],
      nowMs,
      onError,
    });
    for (const { name, groups = [] } of users)
      this.#users.set(name, this.certificates.clientFor(name, groups));
    this.#tls = new TlsFiles(this.certificates, {
      serving: servingFiles(secure),
      named: secure.sniCertificates ?? [],
      clientCAFile: secure.clientCAFile,
      log: onWarning,
    });
    this.door = new SecureDoor({
      host,
      port: secure.port ?? 0,
      orAnyPort: secure.orAnyPort,
      tls: this.#tls,
      authenticator: clientCertificates(this.#tls, nowMs),
      authorizer: administrators,
      minVersion: secure.minVersion,
      ciphers: secure.ciphers,
      http2: secure.http2 === false ? false : { streamsMax: secure.http2StreamsMax },
      log: onWarning,
    });
    this.certificates.follow(() => this.#writeKubeconfig());
  }

  /** Called when the door listens, so that its port is known. */
  opened(): void {
    this.#writeKubeconfig();
  }

  get adminKubeconfig(): string {
    return this.kubeconfigFor(administrator.name);
  }

  /** Of the users that the cluster was started with, and of the administrator; throws for any other. */
  kubeconfigFor(user: string): string {
    const client = user === administrator.name ? this.certificates.admin : this.#users.get(user);
    if (!client) throw new Error(`the cluster was started without a user ${JSON.stringify(user)}`);
    const ca = this.#tls.servingAuthority;
    return kubeconfigText(secureKubeconfig({ url: reachable(this.door.url), ca, user, client }));
  }

  close(): void {
    this.#tls.close();
    this.certificates.close();
  }

  #writeKubeconfig(): void {
    if (this.kubeconfigFile === undefined) return;
    try {
      writePrivately(this.kubeconfigFile, this.adminKubeconfig);
    } catch (error) {
      this.#onError(error as Error);
    }
  }
}

/** What every serving certificate is for: the API's names in the cluster, and this machine's own. */
const servingNames = (): readonly string[] => [
  'kubernetes',
  'kubernetes.default',
  'kubernetes.default.svc',
  'kubernetes.default.svc.cluster.local',
  hostname(),
  'localhost',
  '127.0.0.1',
  '::1',
];

const isEveryAddress = (host: string): boolean => host === '0.0.0.0' || host === '::';

/** A door on all addresses is reached by each of them. */
function addressesOf(host: string): string[] {
  if (!isEveryAddress(host)) return [host];
  return Object.values(networkInterfaces()).flatMap((list) =>
    (list ?? []).map(({ address }) => address.replace(/%.*$/, '')),
  );
}

/** Nobody can dial "all addresses". */
function reachable(url: string): string {
  const { hostname: host, port } = new URL(url);
  return isEveryAddress(host.replace(/^\[|\]$/g, '')) ? `https://${machineAddress()}:${port || 443}` : url;
}

function servingFiles({ certFile, keyFile }: SecureOptions) {
  if (certFile === undefined && keyFile === undefined) return undefined;
  if (certFile === undefined || keyFile === undefined)
    throw new Error('a certificate file and its key file must be named together');
  return { certFile, keyFile };
}

/** Users known by certificates of the authorities that the door names; what was verified is kept for the connection. */
function clientCertificates(tls: TlsSource, nowMs: () => number): Authenticator {
  const authorities = new LastMemo((pem: string) =>
    certificatesIn(pem).map((der) => new X509Certificate(der)),
  );
  const known = new WeakMap<PeerCertificate, { of: string; user: User | undefined; untilMs: number }>();
  return {
    authenticate: ({ certificate }) => {
      if (!certificate) return undefined;
      const { leaf } = certificate;
      const { clientAuthorities } = tls.current;
      const now = nowMs();
      const before = known.get(certificate);
      if (before?.of === clientAuthorities && now < before.untilMs) return before.user;
      const isOf = (authority: X509Certificate) =>
        leaf.checkIssued(authority) && leaf.verify(authority.publicKey);
      if (!authorities.of(clientAuthorities).some(isOf))
        throw new Error('the client certificate is of an unknown authority');
      const untilMs = Date.parse(leaf.validTo);
      if (Date.parse(leaf.validFrom) > now || untilMs <= now)
        throw new Error('the client certificate has ended or not begun');
      if (!leaf.keyUsage?.includes(clientAuthOid)) throw new Error('the certificate is not for clients');
      const { commonName: name, organizations } = readSubject(subjectOf(leaf.raw));
      const user = name ? { name, groups: [...organizations, authenticated], extra: {} } : undefined;
      known.set(certificate, { of: clientAuthorities, user, untilMs });
      return user;
    },
  };
}

const clientAuthOid = '1.3.6.1.5.5.7.3.2';

const administrators: Authorizer = {
  decide: ({ user: { groups } }) =>
    groups.includes(masters) || groups.includes(administrator.groups[0])
      ? allowed
      : { allowed: false, reason: '' },
};
