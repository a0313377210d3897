/** The certificates of a TLS server: replaced while it runs, and chosen by the name that a client asks for. */
import { createSecureContext, type SecureContext, type SecureContextOptions, type Server } from 'node:tls';
import type { TlsMaterial, TlsSource } from '../../pki/tls-source.ts';
import { optimized } from '../../switches.ts';

const contextOptions = ({ serving, clientAuthorities }: TlsMaterial): SecureContextOptions => ({
  cert: serving.cert,
  key: serving.key,
  ca: clientAuthorities,
});

/**
 * What a server starts with: it does not tell clients yet which authorities their certificates may be of, which is a
 * hint for those that have several. Node 20 parses all its root certificates for the first authority of a process,
 * which is a fifth of a start.
 */
export const firstOptions = (material: TlsMaterial): SecureContextOptions => ({
  ...contextOptions(material),
  ...(optimized ? { ca: [] } : {}),
});

/** From this time after the start on, clients get the names of the authorities in their handshakes. */
const hintAfterMs = 1_000;

export class TlsContexts {
  readonly #exact = new Map<string, SecureContext>();
  /** `*.example.com` stands here as `example.com`. */
  readonly #wildcards = new Map<string, SecureContext>();
  #usual: SecureContext | undefined;
  readonly #stop: () => void;
  readonly #hint: NodeJS.Timeout;

  /** @param shared what all contexts have in common */
  constructor(
    private readonly server: Server,
    private readonly source: TlsSource,
    private readonly shared: SecureContextOptions,
  ) {
    this.#readNamed();
    this.#stop = source.follow(() => this.#replace());
    this.#hint = setTimeout(() => this.#replaceUsual(), hintAfterMs).unref();
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
    clearTimeout(this.#hint);
  }

  #replace(): void {
    this.#replaceUsual();
    this.#readNamed();
  }

  /** The new context has new keys for session tickets: sessions that an authority taken away vouched for are over. */
  #replaceUsual(): void {
    clearTimeout(this.#hint);
    this.server.setSecureContext({ ...this.shared, ...contextOptions(this.source.current) });
    this.#usual = undefined;
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
