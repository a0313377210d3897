/**
 * Calls webhooks: POSTs a review as JSON over HTTPS to a URL or a service of the cluster, and reads the answer.
 * Everything about a webhook may be broken or hostile, so a call is bounded in time, its answer in size, and the calls
 * to one host in number; further ones wait for their turn, within their time.
 */
import type { IncomingMessage } from 'node:http';
import { Agent, request as openRequest } from 'node:https';
import type { Duplex } from 'node:stream';
import { connect as tlsConnect } from 'node:tls';
import type { ServiceReference, WebhookClientConfig } from '../../api/generated/types.ts';
import { JsonError, readJson } from '../../api/json.ts';
import { isJsonObject, type JsonObject } from '../../api/object.ts';
import { servicePortDefault } from '../../api/rules/webhookclient.ts';
import { answerProblem } from './answerproblem.ts';
import { callError, deadlineExceeded } from './callerror.ts';

const answerBytesMax = 3 * 1024 * 1024;
const callsPerHostMax = 64;
const idleConnectionsMax = 8;
const idleMs = 60_000;
/** Hosts whose connections are kept; the one that was called least recently is forgotten first. */
const hostsMax = 256;

/** Opens a connection to a port of a service. Its errors are shown to users, so they are in Go's words. */
export type ServiceDial = (namespace: string, name: string, port: number) => Promise<Duplex>;

/** Why a webhook has no valid answer, as clients are told. */
export class HookCallError extends Error {
  override readonly name = 'HookCallError';
}

/** What asks webhooks. */
export interface HookCaller {
  call(config: WebhookClientConfig, review: string, timeoutMs: number): Promise<JsonObject>;
}

export class HookClient implements HookCaller {
  /** By address and certificates. */
  readonly #agents = new Map<string, Agent>();
  #closed = false;

  constructor(private readonly dial: ServiceDial) {}

  /** The JSON object with which a webhook answers. Throws a HookCallError when there is none in time. */
  async call(config: WebhookClientConfig, review: string, timeoutMs: number): Promise<JsonObject> {
    const place = hookPlace(config);
    const text = `${place.url}?timeout=${Math.ceil(timeoutMs / 1000)}s`;
    const url = new URL(text);
    const post = `Post ${JSON.stringify(text)}`;
    if (this.#closed) throw new HookCallError(`${post}: context canceled`);
    if (timeoutMs <= 0) throw new HookCallError(`${post}: ${deadlineExceeded}`);
    const call = new HookCall(url, this.#agent(place, config.caBundle ?? ''), review, timeoutMs);
    let answer: Answer;
    try {
      answer = await call.answered();
    } catch (error) {
      throw new HookCallError(`${post}: ${(error as Error).message}`, { cause: error });
    }
    return reviewOf(answer);
  }

  /** Ends all calls. */
  close(): void {
    this.#closed = true;
    for (const agent of this.#agents.values()) agent.destroy();
    this.#agents.clear();
  }

  #agent(place: HookPlace, caBundle: string): Agent {
    const key = `${new URL(place.url).host} ${caBundle}`;
    const agent = this.#agents.get(key) ?? this.#newAgent(place, caBundle);
    this.#agents.delete(key);
    this.#agents.set(key, agent);
    if (this.#agents.size > hostsMax) this.#agents.delete(this.#agents.keys().next().value!);
    return agent;
  }

  #newAgent({ service }: HookPlace, caBundle: string): Agent {
    const options = {
      keepAlive: true,
      maxSockets: callsPerHostMax,
      maxFreeSockets: idleConnectionsMax,
      timeout: idleMs,
      ALPNProtocols: ['http/1.1'],
      ...(caBundle ? { ca: Buffer.from(caBundle, 'base64').toString('latin1') } : {}),
    };
    if (!service) return new Agent(options);
    const { namespace = '', name = '', port = servicePortDefault } = service;
    return new ServiceAgent(options, () => this.dial(namespace, name, port));
  }
}

interface HookPlace {
  readonly url: string;
  readonly service: ServiceReference | undefined;
}

function hookPlace({ url, service }: WebhookClientConfig): HookPlace {
  if (url !== undefined) return { url, service: undefined };
  const { namespace = '', name = '', port = servicePortDefault, path = '' } = service ?? {};
  return { url: `https://${name}.${namespace}.svc:${port}/${path.replace(/^\//, '')}`, service };
}

/** Connects through the network of the cluster, and lets Node verify the certificate for the service's name. */
class ServiceAgent extends Agent {
  constructor(
    options: ConstructorParameters<typeof Agent>[0],
    private readonly dial: () => Promise<Duplex>,
  ) {
    super(options);
  }

  override createConnection(
    options: Parameters<Agent['createConnection']>[0],
    callback?: (error: Error | null, stream: Duplex) => void,
  ): null {
    this.dial().then(
      (socket) => {
        const secure = tlsConnect({ ...(options as object), socket });
        socket.on('error', (error) => secure.destroy(error));
        secure.once('close', () => socket.destroy());
        callback?.(null, secure);
      },
      (error: Error) => callback?.(error, undefined as never),
    );
    return null;
  }
}

interface Answer {
  readonly code: number;
  readonly contentType: string;
  readonly body: Buffer;
}

/** One call. A connection that was kept may have been closed meanwhile: then the call is made once more. */
class HookCall {
  #cancel: (error: Error) => void = () => undefined;
  #over = false;

  constructor(
    private readonly url: URL,
    private readonly agent: Agent,
    private readonly review: string,
    private readonly timeoutMs: number,
  ) {}

  async answered(): Promise<Answer> {
    const timer = setTimeout(() => {
      this.#over = true;
      this.#cancel(new Error(deadlineExceeded));
    }, this.timeoutMs);
    try {
      return await this.#attempt(true);
    } finally {
      clearTimeout(timer);
    }
  }

  #attempt(first: boolean): Promise<Answer> {
    return new Promise((resolve, reject) => {
      const sent = openRequest(this.url, {
        method: 'POST',
        agent: this.agent,
        headers: {
          Accept: 'application/json, */*',
          'Content-Type': 'application/json',
          'Content-Length': Buffer.byteLength(this.review),
          'User-Agent': 'kube-apiserver-admission',
        },
      });
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

async function collect(response: IncomingMessage): Promise<Answer> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of response as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    if (bytes > answerBytesMax) {
      response.destroy();
      throw new Error(`http: response body too large: the limit is ${answerBytesMax} bytes`);
    }
    chunks.push(chunk);
  }
  return {
    code: response.statusCode ?? 0,
    contentType: response.headers['content-type'] ?? '',
    body: Buffer.concat(chunks),
  };
}

function reviewOf(answer: Answer): JsonObject {
  const { code, body } = answer;
  let value: unknown;
  let problem = '';
  try {
    ({ value } = readJson(body));
  } catch (error) {
    if (!(error instanceof JsonError)) throw error;
    problem = error.message;
  }
  if (code < 200 || code > 299) throw new HookCallError(answerProblem(answer, value));
  if (isJsonObject(value)) return value;
  throw new HookCallError(
    `couldn't get version/kind; json parse error: ${problem || 'json: cannot unmarshal into Go value of type struct { APIVersion string; Kind string }'}`,
  );
}
