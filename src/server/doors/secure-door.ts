/**
 * The secure door: HTTPS, for this machine or any other. One TLS server speaks HTTP/2 and HTTP/1.1, as the client
 * chooses by ALPN. HTTP/1.1 is served as at the local door: express lane, then Node's server. Every request is
 * authenticated; the reason of a failure is logged, and never sent to the client.
 *
 * Client certificates are requested but not verified in the handshake: authenticators verify them, so that a bad one is
 * answered with a 401 that the client can read.
 */
import { constants } from 'node:crypto';
import { createServer, type Server } from 'node:https';
import type { Socket } from 'node:net';
import type { TLSSocket, TlsOptions } from 'node:tls';
import type { Authenticator } from '../../access/authentication/authenticator.ts';
import { FairShare } from '../../access/fairness/fair-share.ts';
import type { FlowControl } from '../../access/fairness/flow-control.ts';
import { StatusError, unauthorized } from '../../api/errors/errors.ts';
import type { Authorizer } from '../../api/kind/access.ts';
import type { User } from '../../api/values/user.ts';
import { defaultCiphers } from '../../pki/cipher-suites.ts';
import { paced } from '../../pki/first-flights.ts';
import { Handshakes, handshakeMaxMs } from '../../pki/handshakes.ts';
import type { TlsSource } from '../../pki/tls-source.ts';
import { optimized } from '../../switches.ts';
import type { RequestContext } from '../http/context.ts';
import type { Door, Reception } from '../http/door.ts';
import { Http2Lane } from '../http2/http2-lane.ts';
import type { Http2Options } from '../http2/session-settings.ts';
import { Arrivals } from '../lane/arrivals.ts';
import type { ExpressLane } from '../lane/express-lane.ts';
import { Http2Request } from '../wire/http2-request.ts';
import { AddressCertificates } from './address-certificates.ts';
import { doorLane } from './door-lane.ts';
import { HttpListener, listenerOptions } from './http-listener.ts';
import { Http2Sessions } from './http2-sessions.ts';
import { PeerCertificates } from './peer-certificates.ts';
import { RefusalLog } from './refusal-log.ts';
import { RequestCredentials } from './request-credentials.ts';
import { firstOptions, TlsContexts } from './tls-contexts.ts';

/** Maximum number of open connections. One address may have half of what the others leave. */
const connectionsMax = 10_000;
/** Interval of TCP keep-alive probes, which find dead peers: a watch may be silent for long. */
const tcpProbeMs = 30_000;
/** Timeout of authenticators that ask other servers. */
const identifyMaxMs = 15_000;

/** The user of requests without credentials, where these are allowed. */
const anonymous = 'system:anonymous';

export interface SecureDoorOptions {
  readonly host: string;
  /** The port; 0 is any free one. */
  readonly port: number;
  /** Whether to take any free port when this one is in use. */
  readonly orAnyPort?: boolean;
  /** Certificates, which may change while the door is open. */
  readonly tls: TlsSource;
  readonly authenticator: Authenticator;
  readonly authorizer: Authorizer;
  readonly fairness?: FlowControl | undefined;
  /** Minimum TLS version. Default TLS 1.2. */
  readonly minVersion?: 'TLSv1.2' | 'TLSv1.3';
  /** Cipher list in OpenSSL's format. Default: that of kube-apiserver. */
  readonly ciphers?: string;
  /** false: HTTP/1.1 only. */
  readonly http2?: Http2Options | false;
  /** Timeout of a handshake, and maximum number of handshakes under way. */
  readonly handshakeMs?: number;
  readonly handshakesMax?: number;
  /** Called now and then with reasons why credentials were refused. */
  readonly log: (message: string) => void;
}

export class SecureDoor implements Door {
  readonly unidentified: User = { name: '', groups: [] };
  readonly authorizer: Authorizer;
  readonly fairness: FlowControl | undefined;
  readonly #peers = new PeerCertificates();
  /** Open connections, by address. */
  readonly #connections = new FairShare(connectionsMax);
  readonly #refusals: RefusalLog;
  #listener: HttpListener | undefined;
  #express: ExpressLane | undefined;
  #sessions: Http2Lane | Http2Sessions | undefined;
  #contexts: TlsContexts | undefined;
  #addresses: AddressCertificates | undefined;

  constructor(private readonly options: SecureDoorOptions) {
    this.authorizer = options.authorizer;
    this.fairness = options.fairness;
    this.#refusals = new RefusalLog(options.log);
  }

  get url(): string {
    return `https://${this.#listener!.authority}`;
  }

  async listen(reception: Reception): Promise<void> {
    const { host, port, orAnyPort } = this.options;
    const server = this.#server(reception);
    const arrivals = new Arrivals();
    this.#listener = new HttpListener(server, this, reception, arrivals, 'secureConnection');
    this.#serve(server, reception, arrivals);
    try {
      await this.#listener.listen(host, port);
    } catch (error) {
      if (!orAnyPort || (error as NodeJS.ErrnoException).code !== 'EADDRINUSE') throw error;
      await this.#listener.listen(host, 0);
    }
  }

  #server(reception: Reception): Server {
    const { tls, minVersion = 'TLSv1.2', ciphers = defaultCiphers, http2 } = this.options;
    const shared = {
      minVersion,
      ciphers,
      // No renegotiation: clients could make the server compute new keys again and again.
      secureOptions: constants.SSL_OP_NO_RENEGOTIATION,
    };
    const handshake: TlsOptions = {
      ...shared,
      ALPNProtocols: http2 === false ? ['http/1.1'] : ['h2', 'http/1.1'],
      requestCert: true,
      rejectUnauthorized: false,
      handshakeTimeout: this.options.handshakeMs ?? handshakeMaxMs,
      SNICallback: (name, done) => done(null, this.#contexts!.named(name)),
    };
    const server = createServer({
      ...listenerOptions(reception.keeper.limits),
      ...handshake,
      ...firstOptions(tls.current),
      keepAlive: true,
      keepAliveInitialDelay: tcpProbeMs,
    });
    this.#contexts = new TlsContexts(server, tls, shared);
    this.#addresses = new AddressCertificates(server, tls, handshake, this.#contexts);
    return server;
  }

  admit(): void {
    // No check: clients with credentials may come from any address and origin.
  }

  identify(context: RequestContext, token: string | undefined): User | Promise<User> {
    const { request } = context;
    const peer = this.#peers.of(request.socket as TLSSocket);
    try {
      const credentials = new RequestCredentials(context, token, peer);
      if (context.info.lasting || context.upgrade) {
        const kept = credentials.kept();
        context.identifyAgain = () => this.options.authenticator.authenticate(kept) as User | Promise<User>;
      }
      const user = this.options.authenticator.authenticate(credentials);
      if (!(user instanceof Promise)) return this.#identified(context, user);
      return inTime(user).then(
        (found) => this.#identified(context, found),
        (error: unknown) => this.#refused(context, error),
      );
    } catch (error) {
      return this.#refused(context, error);
    }
  }

  #identified(context: RequestContext, user: User | undefined): User {
    if (!user || user.name === anonymous) endConnectionAfter(context);
    if (!user) throw unauthorized();
    return user;
  }

  /** Logs why credentials were refused; requests without credentials are not logged. */
  #refused(context: RequestContext, error: unknown): never {
    if (error instanceof StatusError && error.code === 401) throw error;
    endConnectionAfter(context);
    this.#refusals.add(context.request.socket.remoteAddress, error as Error);
    throw unauthorized();
  }

  shut(): void {
    this.#contexts?.close();
    this.#addresses?.close();
    this.#listener?.shut();
    this.#express?.closeIdle();
    this.#sessions?.shut();
  }

  async close(): Promise<void> {
    this.#express?.closeIdle();
    await this.#listener?.close(() => {
      this.#express!.closeAll();
      this.#sessions?.closeAll();
    });
    this.#sessions?.closeAll();
  }

  /** Counts a connection, and closes it when its address has too many: one address alone cannot take all. */
  #count(socket: Socket): void {
    const { remoteAddress = '' } = socket;
    if (!this.#connections.take(remoteAddress)) return void socket.destroy();
    socket.once('close', () => this.#connections.give(remoteAddress));
  }

  #http2(options: Http2Options, reception: Reception, arrivals: Arrivals): Http2Lane | Http2Sessions {
    if (!optimized) return new Http2Sessions(this, reception, arrivals, options);
    return new Http2Lane(this, reception, arrivals, options, this.options.handshakeMs ?? handshakeMaxMs);
  }

  #serve(server: Server, reception: Reception, arrivals: Arrivals): void {
    const lane = doorLane(this, server, 'secureConnection', reception, arrivals);
    const { http2 } = this.options;
    const sessions = http2 === false ? undefined : this.#http2(http2 ?? {}, reception, arrivals);
    this.#express = lane;
    this.#sessions = sessions;
    const flights = paced(server, this.options.handshakeMs ?? handshakeMaxMs);
    new Handshakes(server, this.options.handshakesMax);
    server.prependListener('connection', (socket: Socket) => this.#count(socket));
    server.on('secureConnection', (socket: TLSSocket) => {
      this.#peers.add(socket);
      flights.finish(socket, this.#peers.of(socket)?.leaf);
      if (sessions && socket.alpnProtocol === 'h2') sessions.take(socket);
      else lane.take(socket);
    });
  }
}

/** Ends an HTTP/2 connection after a failed authentication, as Kubernetes does; HTTP/1.1 connections stay open. */
function endConnectionAfter({ request }: RequestContext): void {
  if (request instanceof Http2Request) request.endConnectionAfter();
}

async function inTime<T>(work: Promise<T>): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error('authentication took too long')), identifyMaxMs);
  });
  return Promise.race([work, late]).finally(() => clearTimeout(timer));
}
