/**
 * The arrival of request bodies. Most bodies arrive together with their request. While the server waits for one that
 * does not, the request holds no seat of its priority level, so that clients who send slowly, or never, do not keep
 * others from being served. Bodies that are still arriving are bounded in number and bytes, per user.
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
    // Too many: do not keep even the first bytes.
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
