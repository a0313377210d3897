/**
 * Completion, after the last step and after every error exit: releases the request's limits and records metrics and
 * audit.
 */
import type { RequestContext } from '../http/context.ts';
import { isLong } from '../http/traffic.ts';
import type { Services } from './step.ts';

/**
 * Records a request when the client has read its answer, at the latest after the request timeout. It gives its seat
 * (its place in its priority level) back before that: waiting for the client must not keep others from being served.
 */
export function complete(context: RequestContext, services: Services): void {
  if (context.upgrade) return record(context, context.upgradeCode, services);
  const { response } = context;
  context.leaveSeat();
  // Doors without flow control keep counting the request until the answer is read: nothing else bounds unread answers
  // there.
  if (context.door.fairness && !isLong(context.lane)) services.traffic.leave(context);
  // A client that left gets no answer; what it would have been counts.
  const code = response.headersSent ? response.statusCode : (context.failure?.code ?? 0);
  if (response.writableLength === 0 || response.writableFinished || response.destroyed)
    return record(context, code, services);
  awaitTaken(context, services);
}

function awaitTaken(context: RequestContext, services: Services): void {
  const { response } = context;
  const { keeper, traffic } = services;
  const giveBack = traffic.holdUnread(context, response.writableLength);
  if (!giveBack) {
    keeper.reached('requestTimeoutMs');
    response.destroy();
    return record(context, response.statusCode, services);
  }
  const done = (): void => {
    clearTimeout(timer);
    giveBack();
    response.off('close', done);
    record(context, response.statusCode, services);
  };
  const timer = setTimeout(() => {
    keeper.reached('requestTimeoutMs');
    response.destroy();
    done();
  }, keeper.limits.requestTimeoutMs).unref();
  response.on('close', done);
}

/** @param code of the answer, also of one that a client would have got who left; 0 when there was none */
export function record(context: RequestContext, code: number, services: Services): void {
  const { info } = context;
  const { requests, traffic, audit, observer, traces } = services;
  if (isLong(context.lane)) requests.addLongRunning(info, -1);
  traffic.leave(context);
  context.leaveSeat();
  const durationMs = performance.now() - context.begunMs;
  requests.record(info, code, durationMs);
  audit?.tell(context, 'ResponseComplete', code);
  observer?.(context, code, durationMs);
  traces?.observe(context);
}
