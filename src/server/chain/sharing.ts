/**
 * Sharing: on doors with flow control, a request goes on when its priority level lets it. Error exit: 429, when too many
 * wait. It comes before authorization, which may cost something, too.
 */
import type { Flow } from '../../access/fairness/flow-control.ts';
import type { RequestContext } from '../http/context.ts';
import { overloadFor } from '../http/traffic.ts';
import type { Services } from './step.ts';

export function share(context: RequestContext, { dashboard }: Services): void | Promise<void> {
  const { fairness } = context.door;
  if (!fairness) return;
  // Files from memory, several at a time: the level of users that are not known has room for few requests.
  if (context.info.page && dashboard?.isFor(context)) return;
  const { info, upgrade } = context;
  const flow = fairness.flowOf(context.user, info.action);
  context.flow = flow;
  // Connections into pods last, and cost the server little; a watch counts while it begins.
  if (upgrade || info.lasting === 'connection') return;
  const isGone = (): boolean => context.response.destroyed;
  const waiting = flow.level.enter(flow.id, isGone, () => overloadFor(flow.level.retryAfterSeconds));
  if (waiting) return waiting.then(() => hold(context, flow));
  hold(context, flow);
}

function hold(context: RequestContext, flow: Flow): void {
  if (context.info.lasting) setImmediate(() => flow.level.leave());
  else context.seat = flow.level;
}
