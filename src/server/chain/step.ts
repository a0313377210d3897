/** A step of the chain, and the parts of the server that steps use. */
import type { Impersonation } from '../../access/impersonation.ts';
import type { Writing } from '../../registry/writing.ts';
import type { Dashboard } from '../dashboard/dashboard.ts';
import type { Handler, RequestContext } from '../http/context.ts';
import type { PrefetchRevision } from '../http/door.ts';
import type { LimitKeeper } from '../http/limits.ts';
import type { Traffic } from '../http/traffic.ts';
import type { AuditLog } from '../observe/audit-log.ts';
import type { RequestMetrics } from '../observe/request-metrics.ts';
import type { RequestTraces } from '../observe/request-traces.ts';

/**
 * Lets the request go on, or throws the error for the client. Only a step that has to wait returns a promise; without
 * one, a request is answered synchronously, and no promise is allocated.
 */
export type Step = (context: RequestContext, services: Services) => void | Promise<void>;

/** Called for every request that is over. @param code of the answer; 0 when the client left before there was one */
export type RequestObserver = (context: RequestContext, code: number, durationMs: number) => void;

/** Finds the handler of a request; implemented by the server's router. */
interface Routing {
  find(context: RequestContext): Handler;
  /** Whether a path belongs to another server, to which requests are forwarded as they come. */
  isForwarded(url: string): boolean;
}

export interface Services {
  readonly keeper: LimitKeeper;
  readonly traffic: Traffic;
  readonly requests: RequestMetrics;
  readonly router: Routing;
  readonly audit: AuditLog | undefined;
  readonly observer: RequestObserver | undefined;
  /** Keeps how long the phases of requests took; absent without `--trace-requests`. */
  readonly traces?: RequestTraces | undefined;
  /** A step of the test kit, before routing. */
  readonly instrument?: Step | undefined;
  readonly impersonation: Impersonation;
  /** The registry's authorizer, for decisions that do not depend on the door. */
  readonly rights: Pick<Writing, 'authorizer'>;
  /** Asks for the newest revision ahead of requests; see `Reception`. */
  readonly prefetchRevision?: PrefetchRevision | undefined;
  /** The dashboard, whose files need no credentials; absent when it is not served. */
  readonly dashboard: Dashboard | undefined;
  /** Whether a lower-case header name carries identity, beside the usual ones. */
  readonly isIdentityHeader: (name: string) => boolean;
  /** Called for internal errors of the server. */
  readonly report: (error: Error) => void;
  /** Set when the server is closing: new requests are refused. */
  closing: boolean;
}
