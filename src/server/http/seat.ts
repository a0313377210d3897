/** The seat of a request at its priority level, which it takes before the server works, and again after it waited for its client. */
import type { Flow } from '../../access/fairness/flow-control.ts';
import type { RequestContext } from './context.ts';
import { overloadFor } from './traffic.ts';

/** A promise when the request has to wait for its seat. */
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
  // Its time was over while it waited: it has its answer, and is counted out already.
  if (isOver(context)) flow.level.leave();
  else context.seat = flow.level;
}

const isOver = ({ response }: RequestContext): boolean => response.destroyed || response.writableEnded;
