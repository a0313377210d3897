/** TLS certificates from files that the operator renews, in addition to the cluster's own. */
import { createPrivateKey, X509Certificate } from 'node:crypto';
import type { Certified } from './authority.ts';
import { subjectOf } from './certificate.ts';
import type { ClusterCertificates } from './cluster-certificates.ts';
import { readSubject } from './distinguished-name.ts';
import { certificatesIn, pem } from './pem.ts';
import type { NamedCertificate, TlsMaterial, TlsSource } from './tls-source.ts';
import { WatchedFiles } from './watched-files.ts';

interface CertificateFiles {
  readonly certFile: string;
  readonly keyFile: string;
  /** Names for which it is used. Default: those of the certificate. */
  readonly names?: readonly string[];
}

export interface TlsFilesOptions {
  /** The certificate for all clients, instead of the cluster's own. */
  readonly serving: CertificateFiles | undefined;
  readonly named: readonly CertificateFiles[];
  /** Authorities of client certificates, in addition to the cluster's own. */
  readonly clientCAFile: string | undefined;
  readonly log: (message: string) => void;
}

export class TlsFiles implements TlsSource {
  #serving: Certified | undefined;
  readonly #named: NamedCertificate[] = [];
  #clientAuthorities = '';
  readonly #files: WatchedFiles[] = [];
  readonly #followers = new Set<() => void>();
  readonly #stop: () => void;

  /** Throws when a file cannot be used. */
  constructor(
    private readonly certificates: ClusterCertificates,
    { serving, named, clientCAFile, log }: TlsFilesOptions,
  ) {
    const add = (paths: readonly string[], take: (texts: readonly string[]) => void): void => {
      const taken = (texts: readonly string[]): void => {
        take(texts);
        this.#changed();
      };
      this.#files.push(new WatchedFiles({ paths, take: taken, log }));
    };
    if (serving)
      add([serving.certFile, serving.keyFile], ([cert = '', key = '']) => {
        this.#serving = checked(cert, key);
      });
    for (const [at, { certFile, keyFile, names }] of named.entries())
      add([certFile, keyFile], ([cert = '', key = '']) => {
        this.#named[at] = { ...checked(cert, key), names: names ?? namesIn(cert) };
      });
    if (clientCAFile)
      add([clientCAFile], ([text = '']) => {
        this.#clientAuthorities = checkedAuthorities(text);
      });
    this.#stop = certificates.follow(() => this.#changed());
  }

  get current(): TlsMaterial {
    return {
      serving: this.#serving ?? this.certificates.serving,
      named: this.#named,
      clientAuthorities: `${this.certificates.authority.pem.cert}${this.#clientAuthorities}`,
    };
  }

  /**
   * PEM of all authorities that may have signed the serving certificate: the cluster's, and those in the operator's
   * file.
   */
  get rootCertificates(): string {
    const [, ...issuers] = this.#serving ? certificatesIn(this.#serving.cert) : [];
    return [this.certificates.authority.pem.cert, ...issuers.map((der) => pem('CERTIFICATE', der))].join('');
  }

  /** PEM of the authority by which clients verify the server; undefined when only the operator knows it. */
  get servingAuthority(): string | undefined {
    return this.#serving ? undefined : this.certificates.authority.pem.cert;
  }

  follow(changed: () => void): () => void {
    this.#followers.add(changed);
    return () => this.#followers.delete(changed);
  }

  close(): void {
    this.#stop();
    for (const files of this.#files) files.close();
  }

  #changed(): void {
    for (const changed of this.#followers) changed();
  }
}

function checked(cert: string, key: string): Certified {
  const [leaf] = certificatesIn(cert);
  if (!leaf) throw new Error('there is no certificate in the file');
  if (!new X509Certificate(leaf).checkPrivateKey(createPrivateKey(key)))
    throw new Error('the key is not that of the certificate');
  return { cert, key };
}

function checkedAuthorities(text: string): string {
  const found = certificatesIn(text);
  if (found.length === 0) throw new Error('there is no certificate in the file');
  for (const der of found) new X509Certificate(der);
  return text;
}

/** The DNS names of a certificate, or its common name when it has no DNS names. */
function namesIn(cert: string): readonly string[] {
  const [leaf = Buffer.alloc(0)] = certificatesIn(cert);
  const names = [...(new X509Certificate(leaf).subjectAltName ?? '').matchAll(/(?:^|, )DNS:([^,"]+)/g)];
  return names.length ? names.map(([, name]) => name!) : [readSubject(subjectOf(leaf)).commonName];
}
