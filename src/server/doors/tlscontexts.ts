/** The certificates of a TLS server: replaced while it runs, and chosen by the name that a client asks for. */
import { createSecureContext, type SecureContext, type SecureContextOptions, type Server } from 'node:tls';
import type { TlsMaterial, TlsSource } from '../../pki/tlssource.ts';

export const contextOptions = ({ serving, clientAuthorities }: TlsMaterial): SecureContextOptions => ({
  cert: serving.cert,
  key: serving.key,
  ca: clientAuthorities,
});

export class TlsContexts {
  readonly #exact = new Map<string, SecureContext>();
  /** `*.example.com` stands here as `example.com`. */
  readonly #wildcards = new Map<string, SecureContext>();
  #usual: SecureContext | undefined;
  readonly #stop: () => void;

  /** @param shared what all contexts have in common */
  constructor(
    private readonly server: Server,
    private readonly source: TlsSource,
    private readonly shared: SecureContextOptions,
  ) {
    this.#readNamed();
    this.#stop = source.follow(() => this.#replace());
  }

  /** The certificate for a name; undefined: the server's own. Exact names come before wildcards. */
  named(name: string): SecureContext | undefined {
    const lower = name.toLowerCase();
    return this.#exact.get(lower) ?? this.#wildcards.get(lower.replace(/^[^.]*\./, ''));
  }

  /** The server's own certificate. */
  get usual(): SecureContext {
    this.#usual ??= createSecureContext({ ...this.shared, ...contextOptions(this.source.current) });
    return this.#usual;
  }

  close(): void {
    this.#stop();
  }

  /** The new context has new keys for session tickets: sessions that an authority taken away vouched for are over. */
  #replace(): void {
    this.server.setSecureContext({ ...this.shared, ...contextOptions(this.source.current) });
    this.#usual = undefined;
    this.#readNamed();
  }

  #readNamed(): void {
    this.#exact.clear();
    this.#wildcards.clear();
    const { named, clientAuthorities } = this.source.current;
    for (const { cert, key, names } of named) {
      const context = createSecureContext({ ...this.shared, cert, key, ca: clientAuthorities });
      for (const name of names) {
        const lower = name.toLowerCase();
        const into = lower.startsWith('*.') ? this.#wildcards : this.#exact;
        const plain = lower.replace(/^\*\./, '');
        // The first that names it counts.
        if (!into.has(plain)) into.set(plain, context);
      }
    }
  }
}
