/**
 * The certificates of a cluster: its authority, what the secure door shows, and the administrator's. They are made once
 * and kept in a folder, or in memory, and renewed while the server runs, long before they end.
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
import { apiServerSubject } from './node-certificates.ts';
import { type PkiFolder, readPair } from './pki-folder.ts';

export const authorityName = 'wherry-ca';
/** Who has the administrator's certificate; a binding gives the group its rights, so that they can be taken back. */
export const administrator = { name: 'wherry-admin', groups: ['wherry:admins'] } as const;

const dayMs = 86_400_000;
/** A certificate with less than this left is renewed; the authority's own, with less than a year. */
const renewMs = 30 * dayMs;
const checkMs = 3_600_000;

/** Names of the files. */
const files = { authority: 'ca', serving: 'apiserver', admin: 'admin' } as const;

export interface ClusterCertificatesOptions {
  /** Absent: in memory. */
  readonly folder?: PkiFolder | undefined;
  /** The authority, if it is not this server's own to make. */
  readonly authority?: Certified | undefined;
  /** Names and addresses at which the door is reached. */
  readonly hosts: readonly string[];
  /** What is made when it is first asked for, and not at once: making and keeping a certificate takes some 10 ms. */
  readonly later?: readonly ('serving' | 'admin')[];
  readonly nowMs: () => number;
  /** Told when a renewal failed; it is tried again. */
  readonly onError: (error: Error) => void;
}

export class ClusterCertificates {
  #authority: Authority;
  #serving: Certified | undefined;
  #admin: Certified | undefined;
  #kubeletClient: Certified | undefined;
  #kubeletClientMs = 0;
  readonly #followers = new Set<() => void>();
  readonly #timer: NodeJS.Timeout;

  constructor(private readonly options: ClusterCertificatesOptions) {
    const { later = [] } = options;
    this.#authority = this.#openAuthority();
    for (const name of ['serving', 'admin'] as const) if (!later.includes(name)) void this[name];
    this.#timer = setInterval(() => this.renew(), checkMs);
    this.#timer.unref();
  }

  get authority(): Authority {
    return this.#authority;
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

  /** The client certificate of the API server at agents of nodes; made anew each day, and kept in memory. */
  get kubeletClient(): Certified {
    const now = this.options.nowMs();
    if (!this.#kubeletClient || now - this.#kubeletClientMs > dayMs) {
      const { commonName, organizations } = apiServerSubject;
      this.#kubeletClient = this.clientFor(commonName, organizations, renewMs);
      this.#kubeletClientMs = now;
    }
    return this.#kubeletClient;
  }

  /** Calls back after every renewal; gives how to stop that. */
  follow(changed: () => void): () => void {
    this.#followers.add(changed);
    return () => this.#followers.delete(changed);
  }

  /** Renews what ends soon. Done every hour. */
  renew(): void {
    try {
      const before = [this.#authority, this.#serving, this.#admin];
      if (this.#authority.notAfterMs - this.options.nowMs() < yearMs)
        this.#keepAuthority(this.#authority.renewed(authorityName, this.options.nowMs()));
      if (this.#serving) this.#serving = this.#usableServing(this.#serving) ?? this.#makeServing();
      if (this.#admin) this.#admin = this.#usable(this.#admin) ?? this.#makeAdmin();
      const after = [this.#authority, this.#serving, this.#admin];
      if (after.some((one, at) => one !== before[at])) for (const changed of this.#followers) changed();
    } catch (error) {
      this.options.onError(error as Error);
    }
  }

  /** A client certificate for a user. */
  clientFor(name: string, groups: readonly string[], lifeMs = yearMs): Certified {
    return issueClient(this.#authority, { name, groups, lifeMs }, this.options.nowMs());
  }

  close(): void {
    clearInterval(this.#timer);
  }

  #openAuthority(): Authority {
    const { folder, authority, nowMs } = this.options;
    const stored = folder?.read(files.authority);
    if (authority && stored?.cert !== authority.cert) return this.#keepAuthority(new Authority(authority));
    if (stored) return new Authority(stored);
    // A key without its certificate was written by a start that did not get further.
    const key = folder?.readKey(files.authority);
    const made = makeAuthority(authorityName, nowMs(), key === undefined ? undefined : keyPairOf(key));
    return this.#keepAuthority(new Authority(made));
  }

  #keepAuthority(authority: Authority): Authority {
    this.options.folder?.write(files.authority, authority.pem);
    this.#authority = authority;
    return authority;
  }

  #makeServing(): Certified {
    const { folder, hosts, nowMs } = this.options;
    const made = this.#authority.issue(
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

  /** Whether it is of this authority, belongs to its key, and lasts long enough. */
  #usable(found: Certified | undefined): Certified | undefined {
    if (!found) return undefined;
    try {
      const certificate = new X509Certificate(found.cert);
      const { privateKey } = keyPairOf(found.key);
      const authority = this.#authority.certificate;
      const leftMs = Date.parse(certificate.validTo) - this.options.nowMs();
      const good =
        certificate.checkIssued(authority) &&
        certificate.verify(authority.publicKey) &&
        certificate.checkPrivateKey(privateKey) &&
        leftMs > renewMs;
      return good ? found : undefined;
    } catch {
      // Not even a certificate: another is made.
      return undefined;
    }
  }
}

/** The authority that is kept in a folder, or undefined. */
export function readAuthority(folder: string): Authority | undefined {
  const found = readPair(folder, files.authority);
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
