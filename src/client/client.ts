/** A thin typed client of the API: one method per verb, over HTTP. Refusals are thrown as `StatusError`. */
import { Agent, type IncomingMessage, request } from 'node:http';
import type { Duplex } from 'node:stream';
import { ClientWatch, type WatchHandlers } from './client-watch.ts';
import { refusal } from './refusal.ts';
import type { Resource } from './resources.ts';

/** Maximum pooled connections for requests; each watch has its own. */
const connectionsMax = 16;
const answerMaxMs = 60_000;
/** TCP keep-alive interval, which finds dead peers: a watch may be idle for long. */
const keepAliveMs = 30_000;
/** Maximum size of an answer; a list of 100,000 pods has some 150 MB. */
const answerBytesMax = 1024 * 1024 * 1024;

export type PatchType = 'merge' | 'strategic' | 'json';

const patchTypes: Record<PatchType, string> = {
  merge: 'application/merge-patch+json',
  strategic: 'application/strategic-merge-patch+json',
  json: 'application/json-patch+json',
};

export interface Selection {
  readonly namespace?: string;
  readonly labelSelector?: string;
  readonly fieldSelector?: string;
}

export interface Listed<T> {
  readonly items: T[];
  readonly resourceVersion: string;
}

export interface DeleteOptions {
  readonly gracePeriodSeconds?: number;
  readonly preconditions?: { readonly uid?: string };
  readonly propagationPolicy?: 'Background' | 'Foreground' | 'Orphan';
}

/** How requests to a server identify themselves, and how the server is checked. */
export interface ClientOptions {
  /** The `User-Agent` header. */
  readonly userAgent?: string;
  /** Bearer token that is sent with every request. */
  readonly token?: string;
  /** Certificates, in PEM, that sign the certificate of a server over TLS. */
  readonly ca?: string;
  /** Client certificate and its key, in PEM. */
  readonly cert?: string;
  readonly key?: string;
}

/** An answer that came without a connection. */
interface HandedAnswer {
  readonly code: number;
  readonly text: string;
}

/** Ways to a server of the same process; absent: over the network. */
export interface Passage {
  /** Opens a connection in memory. */
  readonly connect?: (() => Duplex) | undefined;
  /**
   * Hands over a request; undefined when it has to be sent by a connection. The headers are frozen, with names in lower
   * case.
   */
  readonly handOver?:
    | ((
        method: string,
        path: string,
        headers: Readonly<Record<string, string>>,
        body?: Buffer,
      ) => Promise<HandedAnswer> | undefined)
    | undefined;
}

export class Client {
  readonly #base: URL;
  readonly #secure: typeof import('node:https') | undefined;
  #agent: Agent;
  #certificate: Pick<ClientOptions, 'cert' | 'key'>;
  #underWay = 0;
  /** Requests that were handed over and are not answered yet, and those that wait because there are many. */
  #handed = 0;
  readonly #waiting: (() => void)[] = [];
  /** The headers of requests, by the type of their body. */
  readonly #headers = new Map<string | undefined, Readonly<Record<string, string>>>();

  constructor(
    url: string,
    private readonly options: ClientOptions = {},
    private readonly passage: Passage = {},
  ) {
    this.#base = new URL(url);
    // Load TLS only when needed: that takes Node some milliseconds.
    this.#secure = this.#base.protocol === 'https:' ? process.getBuiltinModule('node:https') : undefined;
    this.#certificate = { cert: options.cert, key: options.key };
    this.#agent = this.#newAgent();
  }

  /** Requests that are not answered yet, watches aside. */
  get underWay(): number {
    return this.#underWay;
  }

  #newAgent(): Agent {
    const kept = { keepAlive: true, maxSockets: connectionsMax };
    const { connect } = this.passage;
    const { ca } = this.options;
    const agent = this.#secure
      ? new this.#secure.Agent({ ...kept, ca, ...this.#certificate })
      : new Agent(kept);
    // Node's agents accept any stream as a connection, although their types do not say so.
    if (connect) Object.assign(agent, { createConnection: connect });
    return agent;
  }

  /** Uses another client certificate for new connections. Requests and watches under way go on. */
  useCertificate(certificate: { readonly cert: string; readonly key: string }): void {
    const former = this.#agent;
    this.#certificate = certificate;
    this.#agent = this.#newAgent();
    former.maxFreeSockets = 0;
    for (const sockets of Object.values(former.freeSockets))
      for (const socket of sockets ?? []) socket.destroy();
  }

  async get<T>(of: Resource<T>, namespace: string | undefined, name: string): Promise<T> {
    return (await this.#call('GET', pathOf(of, namespace, name))) as T;
  }

  async list<T>(of: Resource<T>, selection: Selection = {}): Promise<Listed<T>> {
    const answer = (await this.#call('GET', pathOf(of, selection.namespace) + queryOf(selection))) as {
      items?: T[];
      metadata: { resourceVersion: string };
    };
    return { items: answer.items ?? [], resourceVersion: answer.metadata.resourceVersion };
  }

  async create<T>(of: Resource<T>, namespace: string | undefined, object: T): Promise<T> {
    return (await this.#call('POST', pathOf(of, namespace), object)) as T;
  }

  /** Replaces an object, or with `sub` a subresource. */
  async replace<T>(of: Resource<T>, namespace: string | undefined, object: T, sub?: string): Promise<T> {
    const { name } = (object as { metadata: { name?: string } }).metadata;
    return (await this.#call('PUT', pathOf(of, namespace, name, sub), object)) as T;
  }

  async patch<T>(
    of: Resource<T>,
    namespace: string | undefined,
    name: string,
    patch: unknown,
    type: PatchType = 'merge',
    sub?: string,
  ): Promise<T> {
    return (await this.#call('PATCH', pathOf(of, namespace, name, sub), patch, patchTypes[type])) as T;
  }

  async delete<T>(
    of: Resource<T>,
    namespace: string | undefined,
    name: string,
    options: DeleteOptions = {},
  ): Promise<void> {
    await this.#call('DELETE', pathOf(of, namespace, name), options);
  }

  /** Posts to a subresource: `binding`, `token`, `eviction`. */
  async post(
    of: Resource<unknown>,
    namespace: string,
    name: string,
    sub: string,
    body: unknown,
  ): Promise<unknown> {
    return this.#call('POST', pathOf(of, namespace, name, sub), body);
  }

  /** Watches from a version on. `ended` is always the last call to the handlers, whatever the reason. */
  watch<T>(
    of: Resource<T>,
    selection: Selection,
    resourceVersion: string,
    handlers: WatchHandlers<T>,
  ): { close(): void } {
    const query = queryOf(selection, { watch: 'true', resourceVersion, allowWatchBookmarks: 'true' });
    const stream = new ClientWatch<T>(handlers);
    const sent = this.#open('GET', pathOf(of, selection.namespace) + query, undefined, undefined, false);
    sent.setSocketKeepAlive(true, keepAliveMs);
    sent.on('response', (response) => stream.read(response)).on('error', (error) => stream.fail(error));
    sent.end();
    return {
      close: () => {
        stream.close();
        sent.destroy();
      },
    };
  }

  close(): void {
    this.#agent.destroy();
  }

  #open(method: string, path: string, bytes?: Buffer, type?: string, pooled = true) {
    const send = this.#secure?.request ?? request;
    const headers = this.#headersOf(bytes && type);
    return send({
      protocol: this.#base.protocol,
      hostname: this.#base.hostname.replace(/^\[|\]$/g, ''),
      port: this.#base.port,
      method,
      path,
      ...(pooled ? { agent: this.#agent } : this.#alone()),
      headers: bytes ? { ...headers, 'content-length': bytes.length } : headers,
    });
  }

  #headersOf(type: string | undefined): Readonly<Record<string, string>> {
    const known = this.#headers.get(type);
    if (known) return known;
    const { token, userAgent = 'wherry' } = this.options;
    const headers = Object.freeze({
      host: this.#base.host,
      accept: 'application/json',
      'user-agent': userAgent,
      ...(token ? { authorization: `Bearer ${token}` } : {}),
      ...(type === undefined ? {} : { 'content-type': type }),
    });
    this.#headers.set(type, headers);
    return headers;
  }

  /**
   * Options for a connection of its own, which ends with the watch. Without an agent, Node calls `createConnection`.
   */
  #alone(): object {
    const { connect } = this.passage;
    const { ca } = this.options;
    return connect ? { createConnection: connect } : { agent: false, ca, ...this.#certificate };
  }

  #call(method: string, path: string, body?: unknown, type = 'application/json'): Promise<unknown> {
    const bytes = body === undefined ? undefined : Buffer.from(JSON.stringify(body));
    this.#underWay++;
    const answer = this.passage.handOver
      ? this.#handOver(method, path, bytes, type)
      : this.#send(method, path, bytes, type);
    return answer.finally(() => {
      this.#underWay--;
    });
  }

  /** Hands a request over, as many at once as there would be connections. */
  async #handOver(method: string, path: string, bytes: Buffer | undefined, type: string): Promise<unknown> {
    if (this.#handed < connectionsMax) this.#handed++;
    else await new Promise<void>((resolve) => this.#waiting.push(resolve));
    let timer: NodeJS.Timeout | undefined;
    try {
      const handed = this.passage.handOver!(method, path, this.#headersOf(bytes && type), bytes);
      if (!handed) return await this.#send(method, path, bytes, type);
      const late = new Promise<never>((_, reject) => {
        timer = setTimeout(() => reject(new Error(`${method} ${path}: no answer`)), answerMaxMs);
      });
      const { code, text } = await Promise.race([handed, late]);
      return answered(code, text);
    } finally {
      clearTimeout(timer);
      const next = this.#waiting.shift();
      if (next) next();
      else this.#handed--;
    }
  }

  #send(method: string, path: string, bytes: Buffer | undefined, type: string): Promise<unknown> {
    return new Promise<unknown>((resolve, reject) => {
      const send = (again: boolean) => {
        const sent = this.#open(method, path, bytes, type);
        sent.setTimeout(answerMaxMs, () => sent.destroy(new Error(`${method} ${path}: no answer`)));
        sent.on('error', (error: NodeJS.ErrnoException) => {
          // The server closed a kept connection just as it was reused. Not retried for a POST, which might be
          // carried out twice.
          const stale = sent.reusedSocket && (error.code === 'ECONNRESET' || error.code === 'EPIPE');
          if (stale && again && method !== 'POST') send(false);
          else reject(error);
        });
        sent.on('response', (response) => {
          readAnswer(response).then(resolve, reject);
        });
        sent.end(bytes);
      };
      send(true);
    });
  }
}

async function readAnswer(response: IncomingMessage): Promise<unknown> {
  const chunks: Buffer[] = [];
  let length = 0;
  for await (const chunk of response) {
    length += (chunk as Buffer).length;
    if (length > answerBytesMax) throw new Error(`an answer of more than ${answerBytesMax} bytes`);
    chunks.push(chunk as Buffer);
  }
  return answered(response.statusCode!, Buffer.concat(chunks).toString('utf8'));
}

function answered(code: number, text: string): unknown {
  if (code < 400) return text ? JSON.parse(text) : undefined;
  throw refusal(code, text);
}

function pathOf(of: Resource<unknown>, namespace?: string, name?: string, sub?: string): string {
  const root = of.apiVersion.includes('/') ? `/apis/${of.apiVersion}` : `/api/${of.apiVersion}`;
  const segments = [...(namespace ? ['namespaces', namespace] : []), of.resource, name, sub];
  return `${root}/${segments
    .filter(Boolean)
    .map((segment) => encodeURIComponent(segment!))
    .join('/')}`;
}

function queryOf({ labelSelector, fieldSelector }: Selection, more: Record<string, string> = {}): string {
  const query = new URLSearchParams(more);
  if (labelSelector) query.set('labelSelector', labelSelector);
  if (fieldSelector) query.set('fieldSelector', fieldSelector);
  const text = query.toString();
  return text ? `?${text}` : '';
}
