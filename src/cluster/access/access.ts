/** Builds the secure door of a cluster: certificates, authentication and authorization. */

import { X509Certificate } from 'node:crypto';
import { hostname, networkInterfaces } from 'node:os';
import path from 'node:path';
import type { Authentication } from '../../access/authentication/authentication.ts';
import { makeAuthenticator } from '../../access/authentication/make-authenticator.ts';
import type { StaticUser } from '../../access/authentication/static-tokens.ts';
import type { Authorization } from '../../access/authorization/make-authorizer.ts';
import type { Tokens } from '../../access/tokens/tokens.ts';
import type { ClusterTrust } from '../../controllers/shared/controller.ts';
import { isEveryAddress, machineAddress } from '../../node/machine/machine-address.ts';
import type { Authority, Certified } from '../../pki/authority.ts';
import {
  type AuthorityUse,
  administrator,
  type CertifiedAuthorities,
  ClusterCertificates,
  readAuthority,
} from '../../pki/cluster-certificates.ts';
import { keepPrivately, PkiFolder } from '../../pki/pki-folder.ts';
import { TlsFiles } from '../../pki/tls-files.ts';
import type { Registry } from '../../registry/registry.ts';
import { plantClusterInfo } from '../../registry/system/cluster-info.ts';
import type { Writing } from '../../registry/writing.ts';
import { SecureDoor } from '../../server/doors/secure-door.ts';
import type { Limits } from '../../server/http/limits.ts';
import type { SecureOptions } from '../options/start-options.ts';
import { StartError } from '../shared/start-error.ts';
import { ensureAdministrators } from './administrators.ts';
import type { DefaultPolicy } from './default-policy.ts';
import { type OpenFairness, openFairness } from './fairness.ts';
import { ensureJoining } from './joining.ts';
import { kubeconfigText, secureKubeconfig } from './kubeconfig.ts';
import { sharedAuthority, storeAuthority } from './shared-authority.ts';

export interface AccessOptions {
  readonly secure: SecureOptions;
  readonly users: readonly StaticUser[];
  /** The folder for keys; absent: they are kept in memory. */
  readonly dataDir: string | undefined;
  /** Whether writes do not wait for the disk. */
  readonly unsafeNoFsync: boolean | undefined;
  /** The address of the service `kubernetes`. */
  readonly serviceIP: string;
  readonly registry: Registry;
  readonly writing: Writing;
  readonly tokens: Tokens;
  /** Authorization; the registry uses the same. */
  readonly authorization: Authorization;
  readonly policy: DefaultPolicy;
  readonly limits: Limits;
  readonly onError: (error: Error) => void;
  readonly onWarning: (message: string) => void;
}

const defaultHost = '127.0.0.1';
/** The common name by which aggregated API servers know this server. */
const proxyClientName = 'front-proxy-client';

/** Throws a `StartError` when files cannot be used. */
export async function openAccess(options: AccessOptions): Promise<Access> {
  const { secure, users, registry, writing, tokens, authorization, onError, onWarning } = options;
  if (authorization.modes.includes('RBAC')) await options.policy.plant();
  let opened: OpenedCertificates | undefined;
  let authentication: Authentication;
  try {
    opened = openCertificates(options, await sharedAuthorities(options));
    const { tls } = opened;
    authentication = await makeAuthenticator(secure, {
      registry,
      writing,
      tokens,
      users,
      clients: { pem: () => tls.current.clientAuthorities, follow: (changed) => tls.follow(changed) },
      allowsAll: () => authorization.modes.includes('AlwaysAllow'),
      publish: true,
      ownProxy: { names: [proxyClientName], ca: () => opened!.certificates.proxyAuthority.pem.cert },
      onError,
      onWarning,
    });
  } catch (error) {
    opened?.close();
    throw new StartError(`the secure door cannot be opened: ${(error as Error).message}`, { cause: error });
  }
  const [fairness] = await Promise.all([
    openFairness(writing, options.limits, onError),
    ensureAdministrators(registry),
    ensureJoining(writing),
  ]);
  return new Access(options, opened, authentication, fairness);
}

interface OpenedCertificates {
  readonly certificates: ClusterCertificates;
  readonly tls: TlsFiles;
  close(): void;
}

/**
 * The authorities that all servers of the store share; undefined when the store, and so its authorities, are this
 * server's own.
 */
async function sharedAuthorities({
  registry,
  dataDir,
}: AccessOptions): Promise<CertifiedAuthorities | undefined> {
  if (!registry.store.locks) return undefined;
  const shared = (use: AuthorityUse): Promise<Certified> =>
    sharedAuthority(registry, use, ownAuthority(dataDir, use));
  const [cluster, proxies] = await Promise.all([shared('cluster'), shared('proxies')]);
  return { cluster, proxies };
}

/** An authority that this server made when it had a store of its own. */
const ownAuthority = (dataDir: string | undefined, use: AuthorityUse): Certified | undefined =>
  dataDir === undefined ? undefined : readAuthority(pkiFolderOf(dataDir), use)?.pem;

const pkiFolderOf = (dataDir: string): string => path.join(path.resolve(dataDir), 'pki');

function openCertificates(
  { secure, dataDir, unsafeNoFsync, serviceIP, registry, writing, onError, onWarning }: AccessOptions,
  authorities: CertifiedAuthorities | undefined,
): OpenedCertificates {
  const certificates = new ClusterCertificates({
    folder: dataDir === undefined ? undefined : new PkiFolder(pkiFolderOf(dataDir), !unsafeNoFsync),
    authorities,
    later: [
      ...(secure.certFile === undefined ? [] : (['serving'] as const)),
      ...(secure.kubeconfigFile === false ? (['admin'] as const) : []),
    ],
    hosts: [...servingNames(), serviceIP, ...addressesOf(secure.host ?? defaultHost), ...(secure.sans ?? [])],
    nowMs: registry.sources.nowMs,
    onError,
  });
  if (authorities)
    certificates.follow(() => {
      for (const [use, pem] of Object.entries(certificates.authorities))
        storeAuthority(writing, use as AuthorityUse, pem).catch(onError);
    });
  const tls = new TlsFiles(certificates, {
    serving: servingFiles(secure),
    named: secure.sniCertificates ?? [],
    clientCAFile: secure.clientCAFile,
    log: onWarning,
  });
  const close = (): void => {
    tls.close();
    certificates.close();
  };
  return { certificates, tls, close };
}

export class Access {
  readonly door: SecureDoor;
  readonly certificates: ClusterCertificates;
  /** File of the administrator's kubeconfig; undefined when none is written. */
  readonly kubeconfigFile: string | undefined;
  readonly #users = new Map<string, Certified>();
  #proxyClient: Certified | undefined;
  readonly #writing: Writing;
  readonly #onError: (error: Error) => void;

  constructor(
    { secure, users, dataDir, writing, authorization, onError, onWarning }: AccessOptions,
    private readonly opened: OpenedCertificates,
    readonly authentication: Authentication,
    private readonly fairness: OpenFairness,
  ) {
    const folder = dataDir === undefined ? undefined : path.resolve(dataDir);
    this.#writing = writing;
    this.#onError = onError;
    const { kubeconfigFile = folder && path.join(folder, 'kubeconfig') } = secure;
    this.kubeconfigFile = kubeconfigFile || undefined;
    this.certificates = opened.certificates;
    for (const { name, groups = [] } of users)
      this.#users.set(name, this.certificates.clientFor(name, groups));
    this.door = new SecureDoor({
      host: secure.host ?? defaultHost,
      port: secure.port ?? 0,
      orAnyPort: secure.orAnyPort,
      tls: opened.tls,
      authenticator: authentication,
      authorizer: authorization.authorizer,
      fairness: fairness.control,
      minVersion: secure.minVersion,
      ciphers: secure.ciphers,
      http2: secure.http2 === false ? false : { streamsMax: secure.http2StreamsMax },
      log: onWarning,
    });
    this.certificates.follow(() => {
      this.#proxyClient = undefined;
      this.#writeKubeconfig();
    });
  }

  /** The client certificate by which this server identifies itself to aggregated API servers. */
  get proxyClient(): Certified {
    this.#proxyClient ??= this.certificates.proxyClient(proxyClientName);
    return this.#proxyClient;
  }

  /**
   * What controllers need to sign and publish certificates. @param nodeAuthority signs serving certificates of agents
   */
  trust(nodeAuthority: () => Promise<Authority>): ClusterTrust {
    const { certificates, tls } = this.opened;
    return {
      nodeAuthority,
      get authority() {
        return certificates.authority;
      },
      get shown() {
        const { serving, named } = tls.current;
        return [serving, ...named].map(({ cert }) => new X509Certificate(cert));
      },
      get rootCertificates() {
        return tls.rootCertificates;
      },
      follow: (changed) => tls.follow(changed),
    };
  }

  /** Called when the door listens, so that its port is known. */
  async announce(): Promise<void> {
    this.#writeKubeconfig();
    const certificateAuthority = this.opened.tls.servingAuthority;
    // With an operator's own certificate, only the operator knows which authority clients should trust.
    if (certificateAuthority === undefined) return;
    await plantClusterInfo(this.#writing, { server: reachable(this.door.url), certificateAuthority });
  }

  get adminKubeconfig(): string {
    return this.kubeconfigFor(administrator.name);
  }

  /** The kubeconfig of the administrator, or of a user that the cluster was started with; throws for any other. */
  kubeconfigFor(user: string): string {
    const client = user === administrator.name ? this.certificates.admin : this.#users.get(user);
    if (!client) throw new Error(`the cluster was started without a user ${JSON.stringify(user)}`);
    const ca = this.opened.tls.servingAuthority;
    return kubeconfigText(secureKubeconfig({ url: reachable(this.door.url), ca, user, client }));
  }

  async close(): Promise<void> {
    await this.authentication.close();
    await this.fairness.close();
    this.opened.close();
  }

  #writeKubeconfig(): void {
    if (this.kubeconfigFile === undefined) return;
    try {
      keepPrivately(this.kubeconfigFile, this.adminKubeconfig);
    } catch (error) {
      this.#onError(error as Error);
    }
  }
}

/** Names in every serving certificate: those of the API in the cluster, and the machine's own. */
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

/** The addresses at which a door is reached: those of the machine, if it listens at all addresses. */
function addressesOf(host: string): string[] {
  if (!isEveryAddress(host)) return [host];
  return Object.values(networkInterfaces()).flatMap((list) =>
    (list ?? []).map(({ address }) => address.replace(/%.*$/, '')),
  );
}

/** The URL for clients: "all addresses" cannot be dialled, so they are replaced by an address of the machine. */
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
