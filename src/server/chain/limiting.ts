/**
 * Limiting: counts a request as under way, and sets its timeout. Error exits: 429 when there are too many, 400 for an
 * invalid `timeout`.
 */

import { badRequest } from '../../api/errors/errors.ts';
import { parseDurationMs } from '../../api/values/duration.ts';
import type { RequestContext } from '../http/context.ts';
import { overload } from '../http/traffic.ts';
import type { Services } from './step.ts';

/** Paths for monitoring, which are not limited by other requests: they must work when the server is overloaded. */
const probes = new Set(['/healthz', '/livez', '/metrics', '/readyz']);

export function limit(context: RequestContext, services: Services): void {
  const { keeper, traffic, requests } = services;
  const { info } = context;
  // An upgraded connection counts as long-running, whatever its path.
  const lasting = info.lasting ?? (context.upgrade && 'connection');
  if (lasting) {
    traffic.enterLong(context, lasting);
    requests.addLongRunning(info, 1);
    return;
  }
  if (!enters(context, services)) throw overload;
  if (!info.timed) return;
  const maxMs = keeper.limits.requestTimeoutMs;
  context.timeLimitMs = info.mayHave('timeout') ? wishedMs(context, maxMs) : maxMs;
}

function enters(context: RequestContext, { traffic, dashboard }: Services): boolean {
  const { info, door } = context;
  const isProbe = probes.has(info.path);
  if (door.fairness && (isProbe || (info.page && dashboard?.isFor(context))))
    return traffic.enterAside(context);
  return traffic.enter(context, info.readOnly ? 'readOnly' : 'mutating') || isProbe;
}

function wishedMs({ query }: RequestContext, maxMs: number): number {
  const text = query.get('timeout');
  if (!text) return maxMs;
  const wishMs = parseDurationMs(text);
  if (wishMs === undefined)
    throw badRequest(
      `invalid timeout specified in the request URL - time: invalid duration ${JSON.stringify(text)}`,
    );
  return wishMs > 0 ? Math.min(wishMs, maxMs) : maxMs;
}
