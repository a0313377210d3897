/** The client certificates of connections: read once per connection, and not verified here. */
import type { X509Certificate } from 'node:crypto';
import type { TLSSocket } from 'node:tls';
import type { PeerCertificate } from '../../access/authentication/authenticator.ts';

/** Maximum number of intermediate certificates read from a client; further ones are ignored. */
const intermediatesMax = 8;
/** Clients whose intermediates are remembered for connections that resume a session. */
const rememberedMax = 1_000;

export class PeerCertificates {
  readonly #peers = new WeakMap<TLSSocket, PeerCertificate>();
  /**
   * Intermediates by the fingerprint of the client's own certificate. A resumed TLS session brings back only the
   * client's own, so the others are kept from the full handshake.
   */
  readonly #intermediates = new Map<string, readonly X509Certificate[]>();

  add(socket: TLSSocket): void {
    const leaf = socket.getPeerX509Certificate();
    if (leaf) this.#peers.set(socket, { leaf, intermediates: this.#beside(leaf, socket.isSessionReused()) });
  }

  of(socket: TLSSocket): PeerCertificate | undefined {
    return this.#peers.get(socket);
  }

  #beside(leaf: X509Certificate, resumed: boolean): readonly X509Certificate[] {
    const sent: X509Certificate[] = [];
    for (
      let next = leaf.issuerCertificate;
      next && sent.length < intermediatesMax;
      next = next.issuerCertificate
    )
      sent.push(next);
    if (sent.length === 0) return resumed ? (this.#intermediates.get(leaf.fingerprint256) ?? []) : [];
    if (!resumed) this.#remember(leaf.fingerprint256, sent);
    return sent;
  }

  #remember(fingerprint: string, sent: readonly X509Certificate[]): void {
    this.#intermediates.delete(fingerprint);
    this.#intermediates.set(fingerprint, sent);
    if (this.#intermediates.size > rememberedMax)
      this.#intermediates.delete(this.#intermediates.keys().next().value!);
  }
}
