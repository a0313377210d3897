/** A server to attack, with users of all ranks: an administrator, one without any right, and the neighbour. */
import { type ChildProcess, spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { Agent, request as plainRequest } from 'node:http';
import { type ClientHttp2Session, connect } from 'node:http2';
import { Agent as TlsAgent, request as tlsRequest } from 'node:https';
import { connect as connectTcp } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { connect as connectTls, type TLSSocket } from 'node:tls';

const command = join(import.meta.dirname, '..', '..', 'dist', 'cli.cjs');
/** Of a request that should be answered at once. */
const answerMaxMs = 60_000;

export type Rank = 'admin' | 'nobody' | 'neighbour' | 'anonymous';

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

export class AttackedServer {
  readonly #plain = new Agent({ keepAlive: true });
  readonly #secure = new TlsAgent({ keepAlive: true, rejectUnauthorized: false });

  private constructor(
    private readonly child: ChildProcess,
    private readonly folder: string,
    /** The local door. */
    readonly url: string,
    readonly secureUrl: string,
  ) {}

  static async start(
    options: readonly string[] = [],
    flags: readonly string[] = [],
  ): Promise<AttackedServer> {
    const folder = await mkdtemp(join(tmpdir(), 'wherry-attack-'));
    const tokens = join(folder, 'tokens.csv');
    await writeFile(
      tokens,
      'admin-token,admin,1,system:masters\nnobody-token,nobody,2\nneighbour-token,neighbour,3\n',
    );
    const ports = ['--port', '0', '--secure-port', '0', '--in-memory', '--token-auth-file', tokens];
    const child = spawn(process.execPath, [...flags, command, 'serve', ...ports, ...options], {
      cwd: folder,
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    let said = '';
    const [url, secureUrl] = await new Promise<[string, string]>((resolve, reject) => {
      child.once('exit', () => reject(new Error(`the server did not start: ${said}`)));
      child.stdout!.setEncoding('utf8').on('data', (text: string) => {
        said += text;
        const found = /ready at (\S+)\n(?:.*\n)*?Secure door at (\S+)\n/.exec(said);
        if (found) resolve([found[1]!, found[2]!]);
      });
    });
    const server = new AttackedServer(child, folder, url, secureUrl);
    await server.#letNeighbourIn();
    return server;
  }

  get pid(): number {
    return this.child.pid!;
  }

  get isAlive(): boolean {
    return this.child.exitCode === null && this.child.signalCode === null;
  }

  /** Milliseconds that its main thread has been on a processor; NaN where the system does not tell. */
  get cpuMs(): number {
    try {
      return Number(readFileSync(`/proc/${this.pid}/schedstat`, 'utf8').split(' ')[0]) / 1e6;
    } catch {
      return Number.NaN;
    }
  }

  /** A request to the secure door. */
  ask(rank: Rank, path: string, asked: Asked = {}): Promise<Answered> {
    return this.#send(this.secureUrl, this.#secure, path, asked, authorization(rank));
  }

  /** A request to the local door, which may do everything. */
  askLocally(path: string, asked: Asked = {}): Promise<Answered> {
    return this.#send(this.url, this.#plain, path, asked, {});
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
    return authorization(rank);
  }

  /** A connection over TLS, on which an attack writes what it likes. @param localAddress any of 127.0.0.0/8, on Linux */
  async connection(localAddress = '127.0.0.1'): Promise<TLSSocket> {
    const { hostname, port } = new URL(this.secureUrl);
    const raw = connectTcp({ host: hostname, port: Number(port), localAddress });
    raw.on('error', () => undefined);
    const socket = connectTls({ socket: raw, rejectUnauthorized: false });
    socket.on('error', () => undefined);
    await new Promise<void>((resolve) => socket.once('secureConnect', resolve).once('close', resolve));
    return socket;
  }

  async close(): Promise<void> {
    this.#plain.destroy();
    this.#secure.destroy();
    if (this.isAlive) {
      const gone = new Promise((resolve) => this.child.once('exit', resolve));
      this.child.kill('SIGKILL');
      await gone;
    }
    await rm(this.folder, { recursive: true, force: true });
  }

  /** With a role of its own: the usual ones are put together by a controller, after the start. */
  async #letNeighbourIn(): Promise<void> {
    const rbac = '/apis/rbac.authorization.k8s.io/v1/namespaces/default';
    const metadata = { name: 'neighbour' };
    const rules = [{ apiGroups: ['*'], resources: ['*'], verbs: ['*'] }];
    await this.askLocally(`${rbac}/roles`, { method: 'POST', body: { metadata, rules } });
    const roleRef = { apiGroup: 'rbac.authorization.k8s.io', kind: 'Role', name: 'neighbour' };
    const subjects = [{ apiGroup: 'rbac.authorization.k8s.io', kind: 'User', name: 'neighbour' }];
    await this.askLocally(`${rbac}/rolebindings`, { method: 'POST', body: { metadata, roleRef, subjects } });
  }

  #send(
    base: string,
    agent: Agent,
    path: string,
    { method = 'GET', headers = {}, body }: Asked,
    more: Record<string, string>,
  ): Promise<Answered> {
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
      sent.on('error', failed).on('timeout', () => sent.destroy(new Error('no answer')));
      sent.end(bytes);
    });
  }
}

const authorization = (rank: Rank): Record<string, string> =>
  rank === 'anonymous' ? {} : { authorization: `Bearer ${rank}-token` };
