/**
 * The seat of a request in its priority level: taken before the server works on it, and again after it waited for its
 * client.
 */
import type { Flow } from '../../access/fairness/flow-control.ts';
import type { RequestContext } from './context.ts';
import { overloadFor } from './traffic.ts';

/** Takes a seat; returns a promise when the request has to wait for it. */
export function takeSeat(context: RequestContext, { level, id }: Flow): undefined | Promise<void> {
  return level.enter(
    id,
    () => isOver(context),
    () => overloadFor(level.retryAfterSeconds),
  );
}

/** Takes a seat again, for a request that gave its own back while it waited for its client. */
export async function shareAgain(context: RequestContext): Promise<void> {
  const { flow } = context;
  if (!flow || context.seat) return;
  await takeSeat(context, flow);
  // The request timed out while it waited: it was answered already, so the seat is given back.
  if (isOver(context)) flow.level.leave();
  else context.seat = flow.level;
}

const isOver = ({ response }: RequestContext): boolean => response.destroyed || response.writableEnded;
