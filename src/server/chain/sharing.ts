/**
 * Sharing: on doors with flow control, a request goes on when its priority level lets it. Error exit: 429, when too
 * many wait. It comes before authorization, which may be expensive, too.
 *
 * A request holds a seat (a place in its priority level) while the server works, not while it waits for the client: the
 * seat is given back while a body arrives (`arrival.ts`), and when the answer is handed to the connection or waits for
 * the client to read (`completion.ts`, `long-answer.ts`).
 */
import type { Flow } from '../../access/fairness/flow-control.ts';
import type { RequestContext } from '../http/context.ts';
import { takeSeat } from '../http/seat.ts';
import type { Services } from './step.ts';

export function share(context: RequestContext, { dashboard }: Services): void | Promise<void> {
  const { fairness } = context.door;
  if (!fairness) return;
  // Files of the dashboard take no seat: they come from memory, several at a time, and the level of unauthenticated
  // users has few seats.
  if (context.info.page && dashboard?.isFor(context)) return;
  const { info, upgrade } = context;
  const flow = fairness.flowOf(context.user, info.action);
  context.flow = flow;
  // Connections into pods take no seat: they last long and cost the server little. A watch takes one only while it
  // begins.
  if (upgrade || info.lasting === 'connection') return;
  const waiting = takeSeat(context, flow);
  if (waiting) return waiting.then(() => hold(context, flow));
  hold(context, flow);
}

function hold(context: RequestContext, flow: Flow): void {
  if (context.info.lasting) setImmediate(() => flow.level.leave());
  else context.seat = flow.level;
}
