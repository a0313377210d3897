/** The source of a TLS server's certificates: the current ones, and notifications of changes. */
import type { Certified } from './authority.ts';

/** A certificate for clients that ask for one of these names. */
export interface NamedCertificate extends Certified {
  readonly names: readonly string[];
}

export interface TlsMaterial {
  readonly serving: Certified;
  readonly named: readonly NamedCertificate[];
  /** PEM of the accepted authorities of client certificates; clients choose a certificate by it. */
  readonly clientAuthorities: string;
}

export interface TlsSource {
  readonly current: TlsMaterial;
  /** Calls back after every change; returns a function that stops this. */
  follow(changed: () => void): () => void;
}
