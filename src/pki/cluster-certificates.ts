/**
 * The certificates of a cluster: its authority, the one for front proxies, the serving certificate of the secure door,
 * and the administrator's. They are made once and kept in a folder, or in memory, and renewed while the server runs,
 * long before they expire.
 */
import { X509Certificate } from 'node:crypto';
import { namesOf } from './alternative-names.ts';
import {
  Authority,
  type Certified,
  clientUsages,
  makeAuthority,
  servingUsages,
  yearMs,
} from './authority.ts';
import { keyPairOf } from './key-pair.ts';
import { type PkiFolder, readPair } from './pki-folder.ts';

/**
 * The authorities and their names. Users have certificates of `cluster`. Other API servers accept identity headers from
 * a client with a certificate of `proxies`, so it signs only this server's.
 */
export const authorityNames = { cluster: 'wherry-ca', proxies: 'wherry-front-proxy-ca' } as const;
export type AuthorityUse = keyof typeof authorityNames;
export type CertifiedAuthorities = Readonly<Record<AuthorityUse, Certified>>;

const uses = Object.keys(authorityNames) as AuthorityUse[];
/** The user of the administrator's certificate. A binding gives the group its rights, so that they can be revoked. */
export const administrator = { name: 'wherry-admin', groups: ['wherry:admins'] } as const;

const dayMs = 86_400_000;
/** A certificate with less than this left is renewed; the authority's own, with less than a year. */
const renewMs = 30 * dayMs;
const checkMs = 3_600_000;

/** Names of the files. */
const files = { cluster: 'ca', proxies: 'front-proxy-ca', serving: 'apiserver', admin: 'admin' } as const;

export interface ClusterCertificatesOptions {
  /** The folder; absent: certificates are kept in memory. */
  readonly folder?: PkiFolder | undefined;
  /** The authorities, if this server does not make its own. */
  readonly authorities?: CertifiedAuthorities | undefined;
  /** Names and addresses of the secure door. */
  readonly hosts: readonly string[];
  /** Certificates that are made when first used, because making and storing one takes some 10 ms. */
  readonly later?: readonly ('serving' | 'admin')[];
  readonly nowMs: () => number;
  /** Called when a renewal failed; it is tried again. */
  readonly onError: (error: Error) => void;
}

export class ClusterCertificates {
  readonly #authorities: Partial<Record<AuthorityUse, Authority>> = {};
  #serving: Certified | undefined;
  #admin: Certified | undefined;
  readonly #followers = new Set<() => void>();
  readonly #timer: NodeJS.Timeout;

  constructor(private readonly options: ClusterCertificatesOptions) {
    const { later = [] } = options;
    void this.authority;
    for (const name of ['serving', 'admin'] as const) if (!later.includes(name)) void this[name];
    this.#timer = setInterval(() => this.renew(), checkMs);
    this.#timer.unref();
  }

  get authority(): Authority {
    return this.#authority('cluster');
  }

  /** Signs the client certificate by which this server identifies itself to other API servers. */
  get proxyAuthority(): Authority {
    return this.#authority('proxies');
  }

  get authorities(): CertifiedAuthorities {
    return { cluster: this.authority.pem, proxies: this.proxyAuthority.pem };
  }

  get serving(): Certified {
    this.#serving ??= this.#usableServing(this.options.folder?.read(files.serving)) ?? this.#makeServing();
    return this.#serving;
  }

  /** The client certificate of the administrator. */
  get admin(): Certified {
    this.#admin ??= this.#usable(this.options.folder?.read(files.admin)) ?? this.#makeAdmin();
    return this.#admin;
  }

  /** Calls back after every renewal; returns a function that stops this. */
  follow(changed: () => void): () => void {
    this.#followers.add(changed);
    return () => this.#followers.delete(changed);
  }

  /** Renews certificates that expire soon. Called every hour. */
  renew(): void {
    try {
      const before = [...Object.values(this.#authorities), this.#serving, this.#admin];
      const now = this.options.nowMs();
      for (const use of uses) {
        const authority = this.#authorities[use];
        if (authority && authority.notAfterMs - now < yearMs)
          this.#authorities[use] = this.#kept(use, authority.renewed(authorityNames[use], now));
      }
      if (this.#serving) this.#serving = this.#usableServing(this.#serving) ?? this.#makeServing();
      if (this.#admin) this.#admin = this.#usable(this.#admin) ?? this.#makeAdmin();
      const after = [...Object.values(this.#authorities), this.#serving, this.#admin];
      if (after.some((one, at) => one !== before[at])) for (const changed of this.#followers) changed();
    } catch (error) {
      this.options.onError(error as Error);
    }
  }

  /** A client certificate for a user. */
  clientFor(name: string, groups: readonly string[], lifeMs = yearMs): Certified {
    return issueClient(this.authority, { name, groups, lifeMs }, this.options.nowMs());
  }

  /** A client certificate by which other API servers recognise this one. */
  proxyClient(name: string): Certified {
    return issueClient(this.proxyAuthority, { name, groups: [], lifeMs: yearMs }, this.options.nowMs());
  }

  close(): void {
    clearInterval(this.#timer);
  }

  #authority(use: AuthorityUse): Authority {
    this.#authorities[use] ??= this.#openAuthority(use);
    return this.#authorities[use];
  }

  #openAuthority(use: AuthorityUse): Authority {
    const { folder, authorities, nowMs } = this.options;
    const stored = folder?.read(files[use]);
    const given = authorities?.[use];
    if (given && stored?.cert !== given.cert) return this.#kept(use, new Authority(given));
    if (stored) return new Authority(stored);
    // A key without its certificate was left by an interrupted start.
    const key = folder?.readKey(files[use]);
    const made = makeAuthority(authorityNames[use], nowMs(), key === undefined ? undefined : keyPairOf(key));
    return this.#kept(use, new Authority(made));
  }

  #kept(use: AuthorityUse, authority: Authority): Authority {
    this.options.folder?.write(files[use], authority.pem);
    return authority;
  }

  #makeServing(): Certified {
    const { folder, hosts, nowMs } = this.options;
    const made = this.authority.issue(
      { subject: { commonName: 'kube-apiserver' }, usages: servingUsages, hosts, lifeMs: yearMs },
      nowMs(),
    );
    folder?.write(files.serving, made);
    return made;
  }

  #makeAdmin(): Certified {
    const made = this.clientFor(administrator.name, administrator.groups);
    this.options.folder?.write(files.admin, made);
    return made;
  }

  #usableServing(found: Certified | undefined): Certified | undefined {
    const usable = this.#usable(found);
    return usable && isFor(new X509Certificate(usable.cert), this.options.hosts) ? usable : undefined;
  }

  /**
   * The certificate, if it was signed by this authority, belongs to its key, and is valid long enough; else undefined.
   */
  #usable(found: Certified | undefined): Certified | undefined {
    if (!found) return undefined;
    try {
      const certificate = new X509Certificate(found.cert);
      const { privateKey } = keyPairOf(found.key);
      const authority = this.authority.certificate;
      const leftMs = Date.parse(certificate.validTo) - this.options.nowMs();
      const good =
        certificate.checkIssued(authority) &&
        certificate.verify(authority.publicKey) &&
        certificate.checkPrivateKey(privateKey) &&
        leftMs > renewMs;
      return good ? found : undefined;
    } catch {
      // It cannot be parsed: another one is made.
      return undefined;
    }
  }
}

/** The authority that is kept in a folder, or undefined. */
export function readAuthority(folder: string, use: AuthorityUse = 'cluster'): Authority | undefined {
  const found = readPair(folder, files[use]);
  return found && new Authority(found);
}

export interface ClientIssue {
  readonly name: string;
  readonly groups: readonly string[];
  readonly lifeMs: number;
}

/** A client certificate: the user is its common name, the groups are its organizations. */
export const issueClient = (
  authority: Authority,
  { name, groups, lifeMs }: ClientIssue,
  nowMs: number,
): Certified =>
  authority.issue(
    { subject: { commonName: name, organizations: groups }, usages: clientUsages, lifeMs },
    nowMs,
  );

/** Whether a certificate has all of these names and addresses. */
function isFor(certificate: X509Certificate, hosts: readonly string[]): boolean {
  const written = new Set((certificate.subjectAltName ?? '').split(', '));
  const { dns, ips } = namesOf(hosts);
  return dns.every((name) => written.has(`DNS:${name}`)) && ips.every((ip) => certificate.checkIP(ip));
}
