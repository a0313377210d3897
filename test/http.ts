/**
 * HTTP for tests: one request with its answer read whole, and watches read event by event. Nothing is added to a
 * request but what a test asks for, so that defaults of the server show.
 */
import { type ClientRequest, type IncomingHttpHeaders, type IncomingMessage, request } from 'node:http';
import { afterAll, beforeAll } from 'vitest';
import { type Cluster, type StartOptions, start } from '../src/cluster/index.ts';

/** How long a test waits for an event that should come. */
const eventWaitMs = 10_000;

/** Answers of any shape, for tests to look into. */
export type Json = any;
export type Headers = Record<string, string | string[]>;

export interface Reply {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  /** Texts of the Warning headers, one by one. */
  readonly warnings: string[];
  readonly bytes: Buffer;
  readonly text: string;
  /** The text read as JSON; undefined when it is none. */
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

  /** Opens a watch; resolves when its header is there. An answer other than 200 is an error. */
  async watch(path: string, headers: Headers = {}): Promise<WatchReader> {
    const response = await this.#open('GET', path, undefined, headers);
    if (response.statusCode === 200) return new WatchReader(response);
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

/** An open watch. Events wait here until a test takes them. */
export class WatchReader {
  readonly headers: IncomingHttpHeaders;
  /** Resolves when the server has ended the stream, or this side has closed it. */
  readonly ended: Promise<void>;
  /** The lines as they came. */
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

  /** The next event; an error when the stream ends or stays silent. */
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

  /** Reads on until an event fits; what comes before it is dropped. */
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

/** `ADDED a`, as a short form to compare event sequences in. */
export const brief = ({ type, object }: WatchEvent): string =>
  `${type} ${object.metadata?.name ?? ''}`.trim();

/** Controllers that keep house, and leave what tests have made as it is: nobody runs pods or reports on them. */
export const housekeeping: readonly string[] = [
  'namespace',
  'garbagecollector',
  'serviceaccount',
  'serviceaccount-token',
  'protection',
  'resourcequota',
];

/** A cluster of its own for the tests of a file or a describe block. */
export function useCluster(options: StartOptions = {}): Client {
  let cluster: Cluster | undefined;
  beforeAll(async () => {
    cluster = await start({ store: 'memory', ...options });
  });
  afterAll(() => cluster?.close());
  return new Client(() => cluster!.url);
}
