/** A step of the chain, and what steps work with. */
import type { AuditLog } from '../../observe/auditlog.ts';
import type { RequestMetrics } from '../../observe/requestmetrics.ts';
import type { RequestContext } from '../context.ts';
import type { LimitKeeper } from '../limits.ts';
import type { Router } from '../router.ts';
import type { Traffic } from '../traffic.ts';

/**
 * Does its part and lets the request go on, or throws what the client is told. A step that has to wait returns a
 * promise; all others must not, so that a request that waits for nothing is answered without a promise being made.
 */
export type Step = (context: RequestContext, services: Services) => void | Promise<void>;

/** Told of every request that is over. @param code of the answer; 0 when the client left before there was one */
export type RequestObserver = (context: RequestContext, code: number, durationMs: number) => void;

export interface Services {
  readonly keeper: LimitKeeper;
  readonly traffic: Traffic;
  readonly requests: RequestMetrics;
  readonly router: Router;
  readonly audit: AuditLog | undefined;
  readonly observer: RequestObserver | undefined;
  /** Told of failures that are the server's own. */
  readonly report: (error: Error) => void;
  /** Set when the server is being closed: nobody else is let in. */
  closing: boolean;
}
