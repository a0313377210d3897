/** The requests that a test cluster got: who asked what, with bodies and answers. The oldest go when there are too many. */
import type { Registry } from '../registry/registry.ts';
import type { RequestContext } from '../server/http/context.ts';
import { Http2Request } from '../server/wire/http2-request.ts';
import { PlainRequest } from '../server/wire/plain-request.ts';
import { checkMatch, matches, type RequestFacts, type RequestMatch } from './request-match.ts';

const requestsMax = 20_000;
/** Bytes of bodies that are kept, all together, and of one. */
const bodiesBytesMax = 64 * 1024 * 1024;
const bodyBytesMax = 4 * 1024 * 1024;

/** A request that a cluster got. `kind` is empty for paths that are not about objects. */
export interface SeenRequest extends RequestFacts {
  /** When it came, as an ISO time on the cluster's clock. */
  readonly time: string;
  readonly method: string;
  /** Path and query, as they were sent. */
  readonly url: string;
  /** What was sent: parsed when it is JSON, else text; undefined when nothing was, or too much. */
  readonly body: unknown;
  /** The HTTP code of the answer; undefined before the answer, 0 when the client left before it. */
  readonly code: number | undefined;
  /** The message of the answer, if it was an error. */
  readonly error: string | undefined;
}

type LoggedRequest = { -readonly [name in keyof SeenRequest]: SeenRequest[name] };

export class RequestLog {
  #requests: LoggedRequest[] = [];
  readonly #underWay = new WeakMap<RequestContext, { logged: LoggedRequest; body: () => Buffer }>();
  #bytes = 0;
  #unanswered = 0;

  constructor(private readonly nowMs: () => number) {}

  /** Requests that are not answered yet, watches and connections aside. */
  get unanswered(): number {
    return this.#unanswered;
  }

  /** The requests that match, oldest first. */
  matching(match: RequestMatch = {}): SeenRequest[] {
    checkMatch(match);
    return this.#requests.filter((request) => matches(match, request)).map((request) => ({ ...request }));
  }

  clear(): void {
    this.#requests = [];
    this.#bytes = 0;
  }

  begin(context: RequestContext, facts: RequestFacts): void {
    const logged: LoggedRequest = {
      time: new Date(this.nowMs()).toISOString(),
      method: context.info.method,
      url: context.request.url ?? '',
      ...facts,
      body: undefined,
      code: undefined,
      error: undefined,
    };
    this.#underWay.set(context, { logged, body: bodyOf(context) });
    this.#requests.push(logged);
    if (!context.info.lasting) this.#unanswered++;
    if (this.#requests.length > requestsMax) this.#requests.splice(0, requestsMax / 10);
  }

  end(context: RequestContext, code: number): void {
    const known = this.#underWay.get(context);
    if (!known) return;
    this.#underWay.delete(context);
    if (!context.info.lasting) this.#unanswered--;
    const { logged } = known;
    logged.code = code;
    logged.error = context.failure?.message;
    const bytes = known.body();
    if (bytes.length === 0 || this.#bytes + bytes.length > bodiesBytesMax) return;
    this.#bytes += bytes.length;
    logged.body = parsed(bytes.toString('utf8'));
  }
}

/** The facts by which requests are matched. */
export function factsOf({ info, user, request }: RequestContext, registry: Registry): RequestFacts {
  const { resource } = info;
  return {
    verb: info.verb,
    kind: (resource && registry.kinds.resource(resource.apiVersion, resource.resource)?.kind) ?? '',
    resource: resource?.resource ?? '',
    subresource: resource?.subresource ?? '',
    namespace: resource?.namespace ?? '',
    name: resource?.name ?? '',
    user: user.name,
    userAgent: request.headers['user-agent'] ?? '',
  };
}

/** A function that returns the body read so far. Bodies that arrive in pieces are copied while they are read. */
function bodyOf({ request }: RequestContext): () => Buffer {
  if (request instanceof PlainRequest) {
    // Copied, because its memory is reused for the next request.
    const body = Buffer.from(request.body);
    return () => body;
  }
  if (request instanceof Http2Request && request.body) return () => request.body!;
  const chunks: Buffer[] = [];
  let bytes = 0;
  const copy = (chunk: Buffer): void => {
    bytes += chunk.length;
    if (bytes <= bodyBytesMax) chunks.push(chunk);
  };
  // Listening for data starts the stream, so the copy begins with the handler's own listener.
  const on = request.on.bind(request) as (
    name: string,
    listener: (...values: never[]) => void,
  ) => typeof request;
  let isCopied = false;
  request.on = ((name: string, listener: (...values: never[]) => void) => {
    if (name === 'data' && !isCopied) {
      isCopied = true;
      on('data', copy);
    }
    return on(name, listener);
  }) as typeof request.on;
  return () => (bytes <= bodyBytesMax ? Buffer.concat(chunks) : Buffer.alloc(0));
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}
