/**
 * HTTP for tests: one request with its complete answer, and watches read event by event. Requests contain
 * only what a test sets, so that the server's defaults are tested.
 */
import { type ClientRequest, type IncomingHttpHeaders, type IncomingMessage, request } from 'node:http';
import { afterAll, beforeAll } from 'vitest';
import { type Cluster, type StartOptions, start } from '../../src/cluster/index.ts';

/** Time limit for an expected event. */
const eventWaitMs = 60_000;

/** Answers of any shape. */
export type Json = any;
export type Headers = Record<string, string | string[]>;

export interface Reply {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  /** Texts of the Warning headers. */
  readonly warnings: string[];
  readonly bytes: Buffer;
  readonly text: string;
  /** The text parsed as JSON; undefined if it is not JSON. */
  readonly body: Json;
}

/** A body that is neither text nor bytes is sent as JSON. */
export type Body = string | Buffer | object | undefined;

export const mergePatch = 'application/merge-patch+json';
export const jsonPatch = 'application/json-patch+json';
export const strategicPatch = 'application/strategic-merge-patch+json';

export class Client {
  constructor(private readonly base: string | (() => string)) {}

  get url(): string {
    return typeof this.base === 'string' ? this.base : this.base();
  }

  get(path: string, headers?: Headers): Promise<Reply> {
    return this.request('GET', path, undefined, headers);
  }

  post(path: string, body: Body, headers?: Headers): Promise<Reply> {
    return this.request('POST', path, body, headers);
  }

  put(path: string, body: Body, headers?: Headers): Promise<Reply> {
    return this.request('PUT', path, body, headers);
  }

  patch(path: string, body: Body, type = mergePatch): Promise<Reply> {
    return this.request('PATCH', path, body, { 'Content-Type': type });
  }

  delete(path: string, body?: Body, headers?: Headers): Promise<Reply> {
    return this.request('DELETE', path, body, headers);
  }

  async request(method: string, path: string, body?: Body, headers: Headers = {}): Promise<Reply> {
    return readReply(await this.#open(method, path, body, headers));
  }

  /** Opens a watch; resolves with the response headers. A status other than 200 throws. */
  async watch(path: string, headers: Headers = {}): Promise<WatchReader> {
    return new WatchReader(await this.stream(path, headers));
  }

  /** The same for a stream of any kind. */
  async stream(path: string, headers: Headers = {}): Promise<IncomingMessage> {
    const response = await this.#open('GET', path, undefined, headers);
    if (response.statusCode === 200) return response;
    throw new Error(`GET ${path}: ${response.statusCode} ${(await readReply(response)).text}`);
  }

  #open(method: string, path: string, body: Body, headers: Headers): Promise<IncomingMessage> {
    const raw = body === undefined || typeof body === 'string' || Buffer.isBuffer(body);
    const bytes = raw ? Buffer.from((body as string | Buffer) ?? '') : Buffer.from(JSON.stringify(body));
    return new Promise((resolve, reject) => {
      const sent: ClientRequest = request(new URL(this.url).origin, {
        method,
        path,
        headers: {
          ...(raw ? {} : { 'Content-Type': 'application/json' }),
          ...(bytes.length ? { 'Content-Length': String(bytes.length) } : {}),
          ...headers,
        },
      });
      sent.on('response', resolve).on('error', reject).end(bytes);
    });
  }
}

async function readReply(response: IncomingMessage): Promise<Reply> {
  const chunks: Buffer[] = [];
  for await (const chunk of response) chunks.push(chunk as Buffer);
  const bytes = Buffer.concat(chunks);
  const text = bytes.toString('utf8');
  const warnings = (response.headersDistinct.warning ?? []).map((value) => value.replace(/^299 - /, ''));
  return {
    status: response.statusCode!,
    headers: response.headers,
    warnings,
    bytes,
    text,
    body: asJson(text),
  };
}

function asJson(text: string): Json {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

export interface WatchEvent {
  readonly type: 'ADDED' | 'MODIFIED' | 'DELETED' | 'BOOKMARK' | 'ERROR';
  readonly object: Json;
}

/** An open watch. Events are queued until a test reads them. */
export class WatchReader {
  readonly headers: IncomingHttpHeaders;
  /** Resolves when the server has ended the stream, or this side has closed it. */
  readonly ended: Promise<void>;
  /** The lines as received. */
  readonly lines: string[] = [];
  readonly #events: WatchEvent[] = [];
  #ended = false;
  #wake: (() => void) | undefined;

  constructor(private readonly response: IncomingMessage) {
    this.headers = response.headers;
    let rest = '';
    response.setEncoding('utf8').on('data', (text: string) => {
      const lines = (rest + text).split('\n');
      rest = lines.pop()!;
      this.lines.push(...lines);
      this.#events.push(...lines.map((line) => JSON.parse(line) as WatchEvent));
      this.#wake?.();
    });
    this.ended = new Promise((resolve) => {
      response.on('close', () => {
        this.#ended = true;
        this.#wake?.();
        resolve();
      });
    });
    response.on('error', () => undefined);
  }

  /** The next event; throws when the stream ends or the time is over. */
  async next(): Promise<WatchEvent> {
    const deadline = Date.now() + eventWaitMs;
    while (this.#events.length === 0) {
      if (this.#ended) throw new Error('the watch has ended');
      if (Date.now() >= deadline) throw new Error(`no event within ${eventWaitMs} ms`);
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, deadline - Date.now());
        this.#wake = () => {
          clearTimeout(timer);
          resolve();
        };
      });
      this.#wake = undefined;
    }
    return this.#events.shift()!;
  }

  async take(count: number): Promise<WatchEvent[]> {
    const events: WatchEvent[] = [];
    while (events.length < count) events.push(await this.next());
    return events;
  }

  /** Reads until an event fits; earlier ones are dropped. */
  async until(fits: (event: WatchEvent) => boolean): Promise<WatchEvent> {
    for (;;) {
      const event = await this.next();
      if (fits(event)) return event;
    }
  }

  close(): void {
    this.response.destroy();
  }
}

/** A short form such as `ADDED a`, to compare event sequences. */
export const brief = ({ type, object }: WatchEvent): string =>
  `${type} ${object.metadata?.name ?? ''}`.trim();

/** Controllers that do not act on the tests' objects: pods are neither run nor reported on. */
export const housekeeping: readonly string[] = [
  'namespace',
  'garbagecollector',
  'serviceaccount',
  'serviceaccount-token',
  'protection',
  'resourcequota',
];

/** A cluster for the tests of a file or a describe block. */
export function useCluster(options: StartOptions = {}): Client {
  let cluster: Cluster | undefined;
  beforeAll(async () => {
    cluster = await start({ store: 'memory', ...options });
  });
  afterAll(() => cluster?.close());
  return new Client(() => cluster!.url);
}
