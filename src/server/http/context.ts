/** One request on its way through the server: what it asks for, and how its answer is to look. */
import { randomUUID } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Decision } from '../../api/access.ts';
import type { Status } from '../../api/errors.ts';
import type { User } from '../../api/user.ts';
import type { Upgrade } from '../../streams/tunnel.ts';
import type { Door } from '../doors/door.ts';
import { type Negotiated, negotiate, wantsPretty } from './negotiation.ts';
import type { PlainRequest } from './plainrequest.ts';
import type { Query } from './query.ts';
import type { RequestInfo } from './requestinfo.ts';
import type { Handler } from './routes.ts';
import type { Lane } from './traffic.ts';

/** A request as Node's server reads it, or as the express lane does. */
export type ApiRequest = IncomingMessage | PlainRequest;

export type Headers = Record<string, string | string[]>;

/** By name, or as a list of names and values, which is written several times faster. */
export type HeaderFields = string[] | Headers;

/** What handlers need of a response, whether Node's server or the express lane sends it. */
export interface ApiResponse {
  readonly statusCode: number;
  readonly headersSent: boolean;
  readonly destroyed: boolean;
  readonly writableEnded: boolean;
  readonly writableFinished: boolean;
  readonly writableLength: number;
  setHeader(name: string, value: string): unknown;
  writeHead(code: number, headers: HeaderFields): unknown;
  cork(): void;
  write(bytes: Buffer | string): boolean;
  end(bytes?: Buffer | string): unknown;
  destroy(): unknown;
  on(event: 'close' | 'drain', listener: () => void): unknown;
  off(event: 'close' | 'drain', listener: () => void): unknown;
}

const idStart = randomUUID().slice(0, -12);
let ids = 0;

/** Unique, not secret: a random prefix per process plus a counter. */
function nextId(): string {
  ids++;
  return idStart + ids.toString(16).padStart(12, '0');
}

export class RequestContext {
  /** Texts for Warning headers. */
  readonly warnings: string[] = [];
  /** What is asked for; set by the first step, and empty when the URL cannot be read. */
  info!: RequestInfo;
  /** Who sends it: the unidentified user of its door until the door has identified it. */
  user: User;
  /** Whether the user may do this; undefined when it was refused before that was asked. */
  decision: Decision | undefined;
  /** As what it is counted among the requests under way; undefined when it is not. */
  lane: Lane | undefined;
  /** Whose it is, where that is counted. */
  client: string | undefined;
  /** How long its answer may take; 0 when that is not limited. */
  timeLimitMs = 0;
  /** What answers it, once it is routed. */
  handler: Handler | undefined;
  /** The address it came from, when that is to be written down: a socket that is closed does not know it any more. */
  address: string | undefined;
  /** Of an object whose name is not in the path. */
  objectName: string | undefined;
  /** What went wrong, when the answer says so. */
  failure: Status | undefined;
  /** The code with which an upgrade was answered; 0 when it was not. */
  upgradeCode = 0;
  #auditId: string | undefined;

  constructor(
    readonly door: Door,
    readonly request: ApiRequest,
    /** There is none for an upgrade. */
    readonly response: ApiResponse,
    /** When it arrived, on the monotonic clock. */
    readonly begunMs: number,
    /** The bare socket of a request for another protocol, which is answered there. */
    readonly upgrade?: Upgrade,
  ) {
    this.user = door.unidentified;
  }

  /** Node's own request and response, for what lasts: that never comes by the express lane. */
  get http(): { readonly request: IncomingMessage; readonly response: ServerResponse } {
    return this as unknown as { request: IncomingMessage; response: ServerResponse };
  }

  /** What the request is known by in answers and logs: the client's own choice, if it made one. */
  get auditId(): string {
    if (this.#auditId === undefined) {
      const sent = this.request.headers['audit-id'];
      this.#auditId = typeof sent === 'string' && /^[\w-]{1,64}$/.test(sent) ? sent : nextId();
    }
    return this.#auditId;
  }

  get query(): Query {
    return this.info.query;
  }

  negotiate(watching = false): Negotiated {
    return negotiate(this.request.headers.accept, watching);
  }

  /** Whether the answer is for people's eyes. */
  pretty(negotiated: Negotiated): boolean {
    const pretty = this.info.queryText.includes('pretty') ? this.query.get('pretty') : undefined;
    return wantsPretty(negotiated, pretty, this.request.headers['user-agent']);
  }
}
