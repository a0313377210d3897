/** For tests of the secure door: an API server behind one, with certificates of its own and users known by tokens. */
import { once } from 'node:events';
import {
  type ClientHttp2Session,
  type ClientHttp2Stream,
  connect,
  type OutgoingHttpHeaders,
} from 'node:http2';
import { request } from 'node:https';
import { text } from 'node:stream/consumers';
import { type ConnectionOptions, connect as connectTls, type TLSSocket } from 'node:tls';
import { beforeAll } from 'vitest';
import type { Authenticator } from '../../access/authentication/authenticator.ts';
import { allowAll } from '../../api/kind/access.ts';
import { ClusterCertificates } from '../../pki/cluster-certificates.ts';
import { TlsFiles } from '../../pki/tls-files.ts';
import { type Proxied, useProxied } from '../pods/proxying.fixture.ts';
import { SecureDoor, type SecureDoorOptions } from './secure-door.ts';

export interface Answer {
  readonly status: number;
  readonly headers: Record<string, string | string[] | undefined>;
  readonly text: string;
}

/** `Bearer NAME` is the user of that name; without credentials a request is anonymous if it asks for a path. */
const byToken: Authenticator = {
  authenticate: ({ headers, path, certificate }) => {
    const token = /^Bearer (.+)$/.exec(headers.authorization ?? '')?.[1];
    if (token === 'later')
      return new Promise((resolve) => setImmediate(() => resolve({ name: token, groups: [] })));
    if (token === 'broken') throw new Error('the list of users is lost');
    if (token) return { name: token, groups: [] };
    if (certificate) return { name: certificate.leaf.subject, groups: [] };
    return path === '/version' ? { name: 'system:anonymous', groups: [] } : undefined;
  },
};

export class Secured {
  /** Long enough ago that certificates made now are to be renewed today. */
  nowMs = Date.now() - 340 * 86_400_000;
  readonly logged: string[] = [];
  readonly certificates = new ClusterCertificates({
    hosts: ['localhost', '127.0.0.1', '::1'],
    nowMs: () => this.nowMs,
    onError: (error) => this.logged.push(error.message),
  });
  readonly tls: TlsFiles;
  readonly door: SecureDoor;
  readonly #sessions = new Set<ClientHttp2Session>();

  constructor(options: Partial<SecureDoorOptions> = {}) {
    const log = (message: string): void => void this.logged.push(message);
    this.tls = new TlsFiles(this.certificates, {
      serving: undefined,
      named: [],
      clientCAFile: undefined,
      log,
    });
    this.door = new SecureDoor({
      host: '127.0.0.1',
      port: 0,
      tls: this.tls,
      authenticator: byToken,
      authorizer: allowAll,
      log,
      ...options,
    });
  }

  get port(): number {
    return Number(new URL(this.door.url).port);
  }

  /** What a client needs to trust this server. */
  get trust(): ConnectionOptions {
    return { host: '127.0.0.1', port: this.port, ca: this.certificates.authority.pem.cert };
  }

  async connection(options: ConnectionOptions = {}): Promise<TLSSocket> {
    const socket = connectTls({ ...this.trust, ...options });
    await once(socket, 'secureConnect');
    socket.on('error', () => undefined);
    return socket;
  }

  session(options: ConnectionOptions = {}): ClientHttp2Session {
    const session = connect(this.door.url, { ...this.trust, ...options } as never);
    this.#sessions.add(session);
    session.on('error', () => undefined).on('close', () => this.#sessions.delete(session));
    return session;
  }

  /** One request over HTTP/1.1. */
  async http1(
    path: string,
    headers: OutgoingHttpHeaders = {},
    options: ConnectionOptions = {},
  ): Promise<Answer> {
    const sent = request({ ...this.trust, agent: false, ...options, path, headers });
    sent.end();
    const [response] = await once(sent, 'response');
    return { status: response.statusCode, headers: response.headers, text: await text(response) };
  }

  close(): void {
    for (const session of this.#sessions) session.destroy();
    this.tls.close();
    this.certificates.close();
  }
}

export const as = (token: string) => ({ authorization: `Bearer ${token}` });

/** One request over HTTP/2. */
export async function http2(
  session: ClientHttp2Session,
  path: string,
  headers: OutgoingHttpHeaders = as('admin'),
  body?: string,
): Promise<Answer> {
  const stream = session.request({ ':path': path, ...headers }, { endStream: body === undefined });
  if (body !== undefined) stream.end(body);
  return answerOf(stream);
}

export async function answerOf(stream: ClientHttp2Stream): Promise<Answer> {
  const [headers] = await once(stream, 'response');
  return { status: headers[':status'], headers, text: await text(stream) };
}

/** A server behind the door, for the tests of a file. */
export function useSecured(options: Partial<SecureDoorOptions> = {}): Secured & { api: Proxied } {
  const secured = new Secured(options);
  const api = useProxied({}, () => ({ doors: [secured.door] }));
  beforeAll(() => api.seed('namespaces', '', { metadata: { name: 'ns' }, status: { phase: 'Active' } }));
  return Object.assign(secured, { api });
}
