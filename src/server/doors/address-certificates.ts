/**
 * Certificates for clients that send no server name (SNI): chosen by the address they have connected to, because the
 * names in `--tls-sni-cert-key` may be addresses. Node asks for a certificate only when a name was sent, so connections
 * to these addresses get their TLS from further TLS servers that do not listen themselves: one per address, usually
 * none.
 */
import { isIP, type Socket } from 'node:net';
import { createServer, type Server, type TlsOptions } from 'node:tls';
import type { NamedCertificate, TlsSource } from '../../pki/tls-source.ts';
import type { TlsContexts } from './tls-contexts.ts';

export class AddressCertificates {
  readonly #servers = new Map<string, Server>();
  readonly #stop: () => void;

  /** @param handshake options that all connections have in common */
  constructor(
    private readonly server: Server,
    private readonly source: TlsSource,
    private readonly handshake: TlsOptions,
    private readonly contexts: TlsContexts,
  ) {
    for (const [address, certificate] of this.#certificates())
      this.#servers.set(address, this.#serverFor(certificate));
    if (this.#servers.size) this.#takeConnections();
    this.#stop = source.follow(() => this.#replace());
  }

  close(): void {
    this.#stop();
  }

  /** Certificates by address; the first certificate that names an address counts. */
  #certificates(): Map<string, NamedCertificate> {
    const found = new Map<string, NamedCertificate>();
    for (const certificate of this.source.current.named)
      for (const name of certificate.names)
        if (isIP(name) && !found.has(plainAddress(name))) found.set(plainAddress(name), certificate);
    return found;
  }

  #serverFor(certificate: NamedCertificate): Server {
    const { server, contexts, handshake } = this;
    return createServer({
      ...handshake,
      ...this.#contextOf(certificate),
      // A name that was sent and is not known gets the usual certificate, not that of the address.
      SNICallback: (name, done) => done(null, contexts.named(name) ?? contexts.usual),
    })
      .on('secureConnection', (socket) => server.emit('secureConnection', socket))
      .on('tlsClientError', (error, socket) => server.emit('tlsClientError', error, socket));
  }

  #contextOf({ cert, key }: NamedCertificate) {
    return { cert, key, ca: this.source.current.clientAuthorities };
  }

  #takeConnections(): void {
    const { server } = this;
    const byNode = server.listeners('connection') as ((this: Server, socket: Socket) => void)[];
    server.removeAllListeners('connection').on('connection', (socket: Socket) => {
      const other = this.#servers.get(plainAddress(socket.localAddress ?? ''));
      if (other) other.emit('connection', socket);
      else for (const take of byNode) take.call(server, socket);
    });
  }

  /** Applies new certificates. The addresses were given at the start and stay. */
  #replace(): void {
    for (const [address, certificate] of this.#certificates())
      this.#servers.get(address)?.setSecureContext({ ...this.handshake, ...this.#contextOf(certificate) });
  }
}

/** Normalises an address: IPv4-mapped IPv6 as IPv4, other IPv6 as URLs write it. */
function plainAddress(text: string): string {
  const mapped = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i.exec(text)?.[1];
  if (mapped) return mapped;
  return isIP(text) === 6 && !text.includes('%') ? new URL(`http://[${text}]`).hostname.slice(1, -1) : text;
}
