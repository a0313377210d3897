/**
 * A server to attack, with users of all ranks: an administrator, one without any right, the neighbour, and a tenant, who
 * may do everything in a namespace of its own, `attack`. It is started here (`start`), or runs already (`at`), and then
 * gets a service account for each of these users.
 */
import { mkdtemp, writeFile } from 'node:fs/promises';
import { Agent, request as plainRequest } from 'node:http';
import { type ClientHttp2Session, connect } from 'node:http2';
import { Agent as TlsAgent, request as tlsRequest } from 'node:https';
import { connect as connectTcp } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { connect as connectTls, type TLSSocket } from 'node:tls';
import { type Blocks, ServerProcess } from './server-process.ts';

/** For a request that should be answered at once. */
const answerMaxMs = 60_000;

const core = '/api/v1/namespaces/default';
const rbac = '/apis/rbac.authorization.k8s.io/v1';

export type Rank = 'admin' | 'nobody' | 'neighbour' | 'tenant' | 'anonymous';

export interface Asked {
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string>> | readonly string[];
  readonly body?: object | string;
}

export interface Answered {
  /** 0: there was no answer. */
  readonly status: number;
  readonly text: string;
}

type Tokens = Readonly<Record<Exclude<Rank, 'anonymous'>, string>>;

/** As its token file names them. */
const ownTokens: Tokens = {
  admin: 'admin-token',
  nobody: 'nobody-token',
  neighbour: 'neighbour-token',
  tenant: 'tenant-token',
};

export class AttackedServer {
  readonly #plain = new Agent({ keepAlive: true });
  readonly #secure = new TlsAgent({ keepAlive: true, rejectUnauthorized: false });

  private constructor(
    private readonly process: ServerProcess | undefined,
    /** The local door; undefined at a server that was not started here. */
    readonly url: string | undefined,
    readonly secureUrl: string,
    private readonly tokens: Tokens,
    private readonly hasPods: boolean,
  ) {}

  /** @param options `up` as the first starts a server with a node */
  static async start(
    options: readonly string[] = [],
    flags: readonly string[] = [],
  ): Promise<AttackedServer> {
    const folder = await mkdtemp(join(tmpdir(), 'wherry-attack-'));
    const file = join(folder, 'tokens.csv');
    await writeFile(
      file,
      'admin-token,admin,1,system:masters\nnobody-token,nobody,2\nneighbour-token,neighbour,3\ntenant-token,tenant,4\n',
    );
    const hasPods = options[0] === 'up';
    const given = hasPods ? options : ['serve', ...options];
    const ports = ['--port', '0', '--secure-port', '0', '--in-memory', '--token-auth-file', file];
    const process = await ServerProcess.start(folder, [...given, ...ports], flags);
    const found = /ready at (\S+)\n(?:.*\n)*?Secure door at (\S+)\n/.exec(process.said)!;
    const server = new AttackedServer(process, found[1]!, found[2]!, ownTokens, hasPods);
    const userOf = (name: string): object => ({ apiGroup: 'rbac.authorization.k8s.io', kind: 'User', name });
    await server.#letIn(userOf('neighbour'), userOf('tenant'));
    return server;
  }

  /** @param token of a user who may do everything */
  static async at(url: string, token: string): Promise<AttackedServer> {
    const before = new AttackedServer(undefined, undefined, url, { ...ownTokens, admin: token }, false);
    const tokenOf = async (name: string): Promise<string> => {
      const accounts = `${core}/serviceaccounts`;
      await before.ask('admin', accounts, { method: 'POST', body: { metadata: { name } } });
      const body = { spec: { expirationSeconds: 3_600 } };
      const { status, text } = await before.ask('admin', `${accounts}/${name}/token`, {
        method: 'POST',
        body,
      });
      if (status !== 200 && status !== 201)
        throw new Error(`the administrator gets no token for ${name}: ${status} ${text}`);
      return JSON.parse(text).status.token;
    };
    const tokens = {
      admin: token,
      nobody: await tokenOf('attack-nobody'),
      neighbour: await tokenOf('attack-neighbour'),
      tenant: await tokenOf('attack-tenant'),
    };
    const server = new AttackedServer(undefined, undefined, url, tokens, false);
    const accountOf = (name: string): object => ({ kind: 'ServiceAccount', name, namespace: 'default' });
    await server.#letIn(accountOf('attack-neighbour'), accountOf('attack-tenant'));
    return server;
  }

  get pid(): number {
    return this.process!.pid;
  }

  get isAlive(): boolean {
    return this.process?.isAlive ?? true;
  }

  /** Milliseconds that its main thread has been on a processor; NaN where that cannot be known. */
  get cpuMs(): number {
    return this.process?.cpuMs ?? Number.NaN;
  }

  /** Where the system tells how long its main thread has been on a processor. */
  get schedstat(): string {
    return this.process ? `/proc/${this.process.pid}/schedstat` : '';
  }

  get megabytes(): number {
    return this.process?.megabytes ?? Number.NaN;
  }

  /** What it wrote at its start, such as the ports of other doors. */
  get said(): string {
    return this.process?.said ?? '';
  }

  /** Bytes that it has written to its log; 0 where that cannot be known. */
  get loggedBytes(): number {
    return this.process?.loggedBytes ?? 0;
  }

  /** As `cpuMs`, or what the server itself says. */
  async usedMs(): Promise<number> {
    if (this.process) return this.process.cpuMs;
    const { text } = await this.ask('admin', '/metrics');
    return Number(/^process_cpu_seconds_total (\S+)$/m.exec(text)?.[1] ?? Number.NaN) * 1_000;
  }

  /** How its event loop was held up since the last call; undefined where that cannot be known. */
  async blocks(): Promise<Blocks | undefined> {
    return this.process?.blocks();
  }

  /** Its longest turns since the last call, and what ran in them; empty unless it is profiled. */
  async turns(): Promise<string> {
    return (await this.process?.turns()) ?? '';
  }

  tokenOf(rank: Rank): string | undefined {
    return rank === 'anonymous' ? undefined : this.tokens[rank];
  }

  /** The name of a user, as the server knows it. */
  nameOf(rank: 'nobody' | 'neighbour' | 'tenant'): string {
    return this.process ? rank : `system:serviceaccount:default:attack-${rank}`;
  }

  /** A request to the secure door. */
  ask(rank: Rank, path: string, asked: Asked = {}): Promise<Answered> {
    return this.#send(this.secureUrl, this.#secure, path, asked, this.headersOf(rank));
  }

  /** A request to the secure door, on a connection of its own. */
  async askAnew(rank: Rank, path: string): Promise<Answered> {
    const agent = new TlsAgent({ rejectUnauthorized: false });
    try {
      return await this.#send(this.secureUrl, agent, path, {}, this.headersOf(rank));
    } finally {
      agent.destroy();
    }
  }

  /** A request of the administrator at the local door, or where that is not known at the secure one. */
  askLocally(path: string, asked: Asked = {}): Promise<Answered> {
    if (this.url === undefined) return this.ask('admin', path, asked);
    return this.#send(this.url, this.#plain, path, asked, {});
  }

  /** Creates an object as the administrator; throws when it is refused. */
  async create(path: string, body: object): Promise<void> {
    const { status, text } = await this.askLocally(path, { method: 'POST', body });
    if (status >= 300 || status === 0) throw new Error(`POST ${path}: ${status} ${text}`);
  }

  /** Deletes what is at a path, and does not mind when there is nothing. */
  async remove(path: string): Promise<void> {
    await this.askLocally(path, { method: 'DELETE' });
  }

  /** A session of HTTP/2. @param window bytes that the server may send on each stream before they are read */
  session(window?: number): ClientHttp2Session {
    const session = connect(this.secureUrl, {
      rejectUnauthorized: false,
      ...(window === undefined ? {} : { settings: { initialWindowSize: window } }),
    });
    session.on('error', () => undefined);
    return session;
  }

  headersOf(rank: Rank): Record<string, string> {
    const token = this.tokenOf(rank);
    return token === undefined ? {} : { authorization: `Bearer ${token}` };
  }

  /** A connection over TLS, on which an attack writes what it likes. @param localAddress any of 127.0.0.0/8, on Linux */
  async connection(localAddress?: string): Promise<TLSSocket> {
    const { hostname, port } = new URL(this.secureUrl);
    const raw = connectTcp({
      host: hostname,
      port: Number(port),
      ...(localAddress === undefined || !hostname.startsWith('127.') ? {} : { localAddress }),
    });
    raw.on('error', () => undefined);
    const socket = connectTls({ socket: raw, rejectUnauthorized: false });
    socket.on('error', () => undefined);
    await new Promise<void>((resolve) => socket.once('secureConnect', resolve).once('close', resolve));
    return socket;
  }

  async close(): Promise<void> {
    if (!this.process) {
      await this.remove(`${rbac}/namespaces/default/rolebindings/attack-user`);
      await this.remove(`${rbac}/namespaces/default/roles/attack-user`);
      await this.remove('/api/v1/namespaces/attack');
      for (const name of ['nobody', 'neighbour', 'tenant'])
        await this.remove(`${core}/serviceaccounts/attack-${name}`);
    }
    this.#plain.destroy();
    this.#secure.destroy();
    await this.process?.close(this.hasPods);
  }

  /** With roles of their own: the usual ones are put together by a controller, after the start. */
  async #letIn(neighbour: object, tenant: object): Promise<void> {
    await this.askLocally('/api/v1/namespaces', { method: 'POST', body: { metadata: { name: 'attack' } } });
    const metadata = { name: 'attack-user' };
    const rules = [{ apiGroups: ['*'], resources: ['*'], verbs: ['*'] }];
    const roleRef = { apiGroup: 'rbac.authorization.k8s.io', kind: 'Role', name: 'attack-user' };
    for (const [namespace, subject] of [
      ['default', neighbour],
      ['attack', tenant],
    ] as const) {
      const place = `${rbac}/namespaces/${namespace}`;
      await this.askLocally(`${place}/roles`, { method: 'POST', body: { metadata, rules } });
      const body = { metadata, roleRef, subjects: [subject] };
      await this.askLocally(`${place}/rolebindings`, { method: 'POST', body });
    }
  }

  #send(
    base: string,
    agent: Agent,
    path: string,
    asked: Asked,
    more: Record<string, string>,
    isFirst = true,
  ): Promise<Answered> {
    const { method = 'GET', headers = {}, body } = asked;
    const bytes = body === undefined ? undefined : typeof body === 'string' ? body : JSON.stringify(body);
    const given = Array.isArray(headers)
      ? [
          ...(headers.includes('host') ? [] : ['host', 'localhost']),
          ...Object.entries(more).flat(),
          ...headers,
        ]
      : { ...(bytes === undefined ? {} : { 'content-type': 'application/json' }), ...more, ...headers };
    return new Promise((resolve) => {
      const failed = (error: Error): void => resolve({ status: 0, text: error.message });
      const send = base.startsWith('https:') ? tlsRequest : plainRequest;
      const { origin } = new URL(base);
      const options = { method, path, agent, headers: given as never, timeout: answerMaxMs };
      const sent = send(origin, options, (response) => {
        const chunks: Buffer[] = [];
        response.on('data', (chunk: Buffer) => chunks.push(chunk)).on('error', failed);
        response.on('end', () =>
          resolve({ status: response.statusCode!, text: Buffer.concat(chunks).toString('utf8') }),
        );
      });
      sent.on('timeout', () => sent.destroy(new Error('no answer')));
      sent.on('error', (error: NodeJS.ErrnoException) => {
        // The server has closed a connection that was idle, in the moment in which it was used again.
        const isStale = sent.reusedSocket && error.code === 'ECONNRESET' && isFirst;
        if (isStale) void this.#send(base, agent, path, asked, more, false).then(resolve);
        else failed(error);
      });
      sent.end(bytes);
    });
  }
}
