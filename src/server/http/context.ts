/** One request on its way through the chain: what it asks for, and how it is answered. */
import { randomUUID } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Flow } from '../../access/fairness/flow-control.ts';
import type { PriorityLevel } from '../../access/fairness/priority-level.ts';
import type { Status } from '../../api/errors/errors.ts';
import type { Decision } from '../../api/kind/access.ts';
import type { User } from '../../api/values/user.ts';
import type { RequestTrace } from '../../request-trace.ts';
import type { Upgrade } from '../../streams/dial/tunnel.ts';
import type { Http2Request } from '../wire/http2-request.ts';
import type { Outlet } from '../wire/outlet.ts';
import type { PlainRequest } from '../wire/plain-request.ts';
import type { Query } from '../wire/query.ts';
import type { WatchRequest } from '../wire/watch-request.ts';
import type { AuditedRequest } from './audited-request.ts';
import type { Door } from './door.ts';
import { type Messages, type Negotiated, negotiate, wantsPretty } from './negotiation.ts';
import type { RequestInfo, ResourceInfo } from './request-info.ts';
import type { Client, Lane } from './traffic.ts';

/**
 * A request: read by Node's server or by the express lane, from a stream of HTTP/2, or from a connection of watches.
 */
export type ApiRequest = IncomingMessage | PlainRequest | Http2Request | WatchRequest;

export type Headers = Record<string, string | string[]>;

/** An object, or a flat list of names and values, which is written several times faster. */
export type HeaderFields = string[] | Headers;

/** What handlers need of a response, whatever sends it: Node's server, the express lane or HTTP/2. */
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
  /** Where a watch writes its events, if not to the answer's own socket. */
  outlet?(onDrain: () => void): Outlet;
}

const idStart = randomUUID().slice(0, -12);
let ids = 0;

/** Unique, not secret: a random prefix per process plus a counter. */
function nextId(): string {
  ids++;
  return idStart + ids.toString(16).padStart(12, '0');
}

/** Answers a request. `info` is the request info of the context, for a path with a resource. */
export type Handler = (context: RequestContext, info: ResourceInfo) => void | Promise<void>;

export class RequestContext {
  /** Texts for Warning headers. */
  readonly warnings: string[] = [];
  /** The parsed URL; set by the first step, and empty when the URL is invalid. */
  info!: RequestInfo;
  /** The user: the door's unidentified user until authentication. */
  user: User;
  /** The authenticated user of an impersonated request, and the constraint under which impersonation was allowed. */
  impersonator: { readonly user: User; readonly constraint: string | undefined } | undefined;
  /** The decision of the authorizer; undefined when the request was refused earlier. */
  decision: Decision | undefined;
  /** The limit under which it is counted; undefined when it is not counted. */
  lane: Lane | undefined;
  /** The client it is counted for, if limits are per client. */
  client: Client | undefined;
  /** Whether this is a file of the dashboard or a probe: these have a limit of their own. */
  isAside = false;
  /**
   * Authenticates the request again, for long-running requests; throws when the credential is no longer valid. Absent
   * on doors whose users have no credentials.
   */
  identifyAgain: (() => User | Promise<User>) | undefined;
  /** The flow that the request belongs to, on doors with flow control. */
  flow: Flow | undefined;
  /** The priority level in which the request holds a seat. */
  seat: PriorityLevel | undefined;
  /** Time limit of the answer; 0 for none. */
  timeLimitMs = 0;
  /** The handler; set by routing. */
  handler: Handler | undefined;
  /** The client's address for the audit log, read early: a closed socket does not know it any more. */
  address: string | undefined;
  /** Name of the object when it is not in the path, as in a create. */
  objectName: string | undefined;
  /** What the audit policy records of the request; undefined without a policy. */
  audited: AuditedRequest | undefined;
  /** The error that was answered, if any. */
  failure: Status | undefined;
  /** The status code of an upgrade's answer; 0 before that. */
  upgradeCode = 0;
  /** Where the time of the request is counted; absent without `--trace-requests`. */
  trace: RequestTrace | undefined;
  #annotations: Record<string, string> | undefined;
  #auditId: string | undefined;

  constructor(
    readonly door: Door,
    readonly request: ApiRequest,
    /** Undefined for an upgrade. */
    readonly response: ApiResponse,
    /** Arrival time, on the monotonic clock. */
    readonly begunMs: number,
    /** The raw socket of an upgrade request, on which it is answered. */
    readonly upgrade?: Upgrade,
  ) {
    this.user = door.unidentified;
  }

  /**
   * Node's own request and response, for long-running requests, which never come by the express lane. Those of HTTP/2
   * have all methods that handlers use, and no socket of their own.
   */
  get http(): { readonly request: IncomingMessage; readonly response: ServerResponse } {
    return this as unknown as { request: IncomingMessage; response: ServerResponse };
  }

  /** Gives the seat in the priority level back: from now on the request waits for its client. */
  leaveSeat(): void {
    const { seat } = this;
    this.seat = undefined;
    seat?.leave();
  }

  /** Whether there is anything to add to the audit log. */
  get hasAnnotations(): boolean {
    return this.#annotations !== undefined && Object.keys(this.#annotations).length > 0;
  }

  /** Annotations for the audit log, from authenticators and others. */
  get annotations(): Record<string, string> {
    this.#annotations ??= {};
    return this.#annotations;
  }

  /** The id of the request in answers and logs: the client's, if it sent one. */
  get auditId(): string {
    if (this.#auditId === undefined) {
      const sent = this.request.headers['audit-id'];
      this.#auditId = typeof sent === 'string' && sent !== '' ? sent : nextId();
    }
    return this.#auditId;
  }

  get query(): Query {
    return this.info.query;
  }

  /** Negotiates the form of the answer. Throws a 406 when the client accepts none that the path has. */
  negotiate(messages: Messages = 'none', watching = false, tables = true): Negotiated {
    return negotiate(this.#accept, messages, watching, tables);
  }

  /** The Accept header. For a WebSocket, where pages cannot set headers, a query parameter may replace it. */
  get #accept(): string | undefined {
    const { upgrade, info, request } = this;
    const asked = upgrade && info.mayHave('accept') ? this.query.get('accept') : undefined;
    return asked || request.headers.accept;
  }

  /** Whether to indent the answer, for human readers. */
  pretty(negotiated: Negotiated): boolean {
    const pretty = this.info.mayHave('pretty') ? this.query.get('pretty') : undefined;
    return wantsPretty(negotiated, pretty, this.request.headers['user-agent']);
  }
}
