/**
 * The connections to webhooks. A call is bounded in time, its answer in size, and the concurrent calls to one host in
 * number; further calls wait, within their own timeout.
 */
import type { IncomingMessage } from 'node:http';
import { type Agent, request as openRequest } from 'node:https';
import type { Duplex } from 'node:stream';
import { composedKey } from '../../composed-key.ts';
import { boundInterim } from '../../interim-answers.ts';
import { Pieces } from '../../pieces.ts';
import { connectTrusted, TrustedAgent, type TrustedOptions } from '../../pki/trusted-tls.ts';
import { TurnQueue } from '../../turn-queue.ts';
import { bundleTrust } from './ca-bundle.ts';
import { callError, deadlineExceeded } from './call-error.ts';
import type { ServiceDial } from './hook-client.ts';

const answerBytesMax = 3 * 1024 * 1024;
const callsPerHostMax = 64;
const idleConnectionsMax = 25;
/** Handshakes with one host that are under way at once: it can let all of them wait, and finish them together. */
const handshakesMax = 3;
const idleMs = 60_000;
/**
 * Calls that begin, and calls that end by their time, in one turn of the event loop: thousands may do so at once. Most
 * that begin open a connection.
 */
const beginsMax = 4;
const lateMax = 8;
/** Hosts whose connections are kept; the one that was called least recently is forgotten first. */
const hostsMax = 256;

export interface HookPlace {
  /** The URL with its query. */
  readonly url: string;
  /** PEM certificates in base64; '' means those of the system. */
  readonly caBundle: string;
  /** The service to connect to, if it is not the host of the URL. */
  readonly service: { readonly namespace: string; readonly name: string; readonly port: number } | undefined;
}

export interface HookAnswer {
  readonly code: number;
  readonly contentType: string;
  readonly body: Buffer;
}

/**
 * The connections to a host, and its calls. Those that wait are not left to Node's agent: when a host closes all of its
 * connections at once, that opens as many in the same turn.
 */
class Host {
  #busy = 0;
  readonly #waiting = new Set<() => void>();

  constructor(readonly agent: Agent) {}

  /** Calls `begin` when the host has a place for one more: maybe at once. */
  enter(begin: () => void): void {
    if (this.#busy >= callsPerHostMax) return void this.#waiting.add(begin);
    this.#busy++;
    begin();
  }

  /** Forgets one that waits; returns whether it did. */
  forget(begin: () => void): boolean {
    return this.#waiting.delete(begin);
  }

  leave(): void {
    const [next] = this.#waiting;
    if (!next) return void this.#busy--;
    this.#waiting.delete(next);
    next();
  }
}

export class HookTransport {
  /** Hosts by address and certificates. */
  readonly #hosts = new Map<string, Host>();
  readonly #turns = { begin: new TurnQueue(beginsMax), late: new TurnQueue(lateMax) };

  constructor(private readonly dial: ServiceDial) {}

  /** Rejects with an error in Go's words. */
  async post(place: HookPlace, review: string, timeoutMs: number): Promise<HookAnswer> {
    if (timeoutMs <= 0) throw new Error(deadlineExceeded);
    const url = new URL(place.url);
    return new HookCall(url, this.#host(url.host, place), review, timeoutMs, this.#turns).answered();
  }

  close(): void {
    for (const { agent } of this.#hosts.values()) agent.destroy();
    this.#hosts.clear();
  }

  #host(name: string, place: HookPlace): Host {
    const key = composedKey(name, place.caBundle ?? '');
    const host = this.#hosts.get(key) ?? new Host(this.#newAgent(place));
    this.#hosts.delete(key);
    this.#hosts.set(key, host);
    if (this.#hosts.size > hostsMax) this.#hosts.delete(this.#hosts.keys().next().value!);
    return host;
  }

  #newAgent({ service, caBundle }: HookPlace): Agent {
    const options = {
      keepAlive: true,
      maxFreeSockets: idleConnectionsMax,
      timeout: idleMs,
      ALPNProtocols: ['http/1.1'],
      ...bundleTrust(caBundle),
    };
    if (!service) return new HostAgent(options);
    const { namespace, name, port } = service;
    return new HostAgent(options, () => this.dial(namespace, name, port));
  }
}

type Created = (error: Error | null, stream: Duplex) => void;

/**
 * Opens connections to a host, few at a time: otherwise one that lets many wait could have all of their handshakes
 * finished in one turn of the event loop.
 */
class HostAgent extends TrustedAgent {
  #opening = 0;
  readonly #waiting: (() => void)[] = [];

  /** @param dial through the network of the cluster; the certificate is that of the service's name */
  constructor(
    options: ConstructorParameters<typeof TrustedAgent>[0],
    private readonly dial?: () => Promise<Duplex>,
  ) {
    super(options);
  }

  override createConnection(options: Parameters<Agent['createConnection']>[0], callback?: Created): null {
    const fail = (error: Error): void => callback?.(error, undefined as never);
    if (!this.dial) this.#open(() => super.createConnection(options) as Duplex, callback);
    else
      this.dial().then((socket) => {
        socket.on('error', () => undefined);
        this.#open(() => {
          const secure = connectTrusted({ ...(options as TrustedOptions), socket });
          socket.on('error', (error) => secure.destroy(error));
          secure.once('close', () => socket.destroy());
          return secure;
        }, callback);
      }, fail);
    return null;
  }

  #open(connect: () => Duplex, callback: Created | undefined): void {
    if (this.#opening >= handshakesMax) return void this.#waiting.push(() => this.#open(connect, callback));
    this.#opening++;
    let isOpening = true;
    const opened = (): void => {
      if (!isOpening) return;
      isOpening = false;
      this.#opening--;
      this.#waiting.shift()?.();
    };
    try {
      callback?.(null, connect().once('secureConnect', opened).once('close', opened));
    } catch (error) {
      opened();
      callback?.(error as Error, undefined as never);
    }
  }
}

/** One call. A connection that was kept may have been closed meanwhile: then the call is made once more. */
class HookCall {
  #cancel: (error: Error) => void = () => undefined;
  #over = false;

  constructor(
    private readonly url: URL,
    private readonly host: Host,
    private readonly review: string,
    private readonly timeoutMs: number,
    private readonly turns: { readonly begin: TurnQueue; readonly late: TurnQueue },
  ) {}

  async answered(): Promise<HookAnswer> {
    const end = (): void => {
      this.#over = true;
      this.#cancel(new Error(deadlineExceeded));
    };
    const timer = setTimeout(() => this.turns.late.add(end), this.timeoutMs);
    try {
      await this.#entered();
      try {
        await this.turns.begin.next();
        if (this.#over) throw new Error(deadlineExceeded);
        return await this.#attempt(true);
      } finally {
        this.host.leave();
      }
    } finally {
      clearTimeout(timer);
    }
  }

  /** Resolves when the host has a place for it. */
  #entered(): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#cancel = (error) => {
        if (this.host.forget(resolve)) reject(error);
      };
      this.host.enter(resolve);
    });
  }

  #attempt(first: boolean): Promise<HookAnswer> {
    return new Promise((resolve, reject) => {
      const sent = openRequest(this.url, {
        method: 'POST',
        agent: this.host.agent,
        headers: {
          Accept: 'application/json, */*',
          'Content-Type': 'application/json',
          'Content-Length': Buffer.byteLength(this.review),
          'User-Agent': 'kube-apiserver-admission',
        },
      });
      boundInterim(sent);
      let answer: IncomingMessage | undefined;
      let failed = false;
      const fail = (error: Error): void => {
        if (failed) return;
        failed = true;
        sent.destroy();
        const stale = (error as NodeJS.ErrnoException).code === 'ECONNRESET' && sent.reusedSocket && !answer;
        if (stale && first && !this.#over) this.#attempt(false).then(resolve, reject);
        else reject(callError(error, this.url.hostname));
      };
      this.#cancel = fail;
      sent.on('error', fail);
      sent.on('response', (response) => {
        answer = response;
        collect(response).then(resolve, fail);
      });
      sent.on('upgrade', (_answer, socket) => {
        socket.destroy();
        fail(new Error('net/http: HTTP/1.x transport connection broken: unasked upgrade'));
      });
      sent.end(this.review);
    });
  }
}

async function collect(response: IncomingMessage): Promise<HookAnswer> {
  const pieces = new Pieces();
  for await (const chunk of response as AsyncIterable<Buffer>) {
    if (pieces.add(chunk) <= answerBytesMax) continue;
    response.destroy();
    throw new Error(`http: response body too large: the limit is ${answerBytesMax} bytes`);
  }
  return {
    code: response.statusCode ?? 0,
    contentType: response.headers['content-type'] ?? '',
    body: pieces.whole(),
  };
}
