/** Where a TLS server gets its certificates from: what it shows now, and when that changes. */
import type { Certified } from './authority.ts';

/** A certificate that is shown to clients that ask for one of these names. */
export interface NamedCertificate extends Certified {
  readonly names: readonly string[];
}

export interface TlsMaterial {
  readonly serving: Certified;
  readonly named: readonly NamedCertificate[];
  /** PEM of the authorities whose client certificates are welcome; clients choose one by it. */
  readonly clientAuthorities: string;
}

export interface TlsSource {
  readonly current: TlsMaterial;
  /** Calls back after every change; gives how to stop that. */
  follow(changed: () => void): () => void;
}
