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
 * The options a server starts with: without the list of client authorities, which is only a hint for clients with
 * several certificates. Node 20 parses all its root certificates for the first authority of a process, which takes a
 * fifth of the start.
 */
export const firstOptions = (material: TlsMaterial): SecureContextOptions => ({
  ...contextOptions(material),
  ...(optimized ? { ca: [] } : {}),
});

/** Time after the start from which handshakes contain the names of the client authorities. */
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

  /**
   * Replaces the server's own certificate. The new context has new keys for session tickets, so sessions of clients
   * whose authority was removed cannot be resumed.
   */
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
        // The first certificate that names a host counts.
        if (!into.has(plain)) into.set(plain, context);
      }
    }
  }
}
