/**
 * The arrival of a body. Most bodies are there with their request. One that is not there yet is the client's work: while
 * it arrives, its request holds no seat of its priority level, so that clients who send slowly, or never, keep nobody
 * else from being served. What is on its way is bounded in number and bytes, per user.
 */
import { type BodyTaker, crowded, readBody } from './body.ts';
import type { RequestContext } from './context.ts';
import type { LimitKeeper } from './limits.ts';
import { shareAgain } from './seat.ts';
import type { Traffic } from './traffic.ts';

export interface ArrivalServices {
  readonly keeper: LimitKeeper;
  readonly traffic: Traffic;
}

export function arrivedBody(
  context: RequestContext,
  { keeper, traffic }: ArrivalServices,
): Buffer | Promise<Buffer> {
  const { request } = context;
  if (!context.flow) return readBody(request, keeper);
  let take: BodyTaker = () => true;
  const body = readBody(request, keeper, (bytes) => take(bytes));
  if (!(body instanceof Promise)) return body;
  const room = traffic.holdBody(context);
  if (!room) {
    // Not even its first bytes are kept.
    take = () => false;
    body.catch(() => undefined);
    throw crowded();
  }
  take = (bytes) => room.add(bytes);
  context.leaveSeat();
  return body
    .finally(() => room.leave())
    .then(async (bytes) => {
      await shareAgain(context);
      return bytes;
    });
}
