/**
 * Auditing: records requests when they are received, if a policy wants that, and long-running ones when their answer
 * starts, not only at their end. Error exit: 500, when a request must not go on because its receipt cannot be stored.
 * The start is recorded before routing, because a request that routing refuses is also answered.
 */
import type { RequestContext } from '../http/context.ts';
import { onSocketStarted, onStarted } from '../wire/status-line.ts';
import type { Services } from './step.ts';

/**
 * Records the receipt of a request. It comes right after authentication, because what is recorded depends on the user,
 * before any impersonation.
 */
export function auditReceipt(context: RequestContext, { audit }: Services): void | Promise<void> {
  return audit?.receive(context);
}

export function auditStart(context: RequestContext, { audit }: Services): void {
  if (audit && context.info.lasting && !context.upgrade)
    onStarted(context.http.response, (code) => audit.tell(context, 'ResponseStarted', code));
}

/**
 * Records the status code of an upgrade from the bytes on its socket, as many parts of the server answer upgrades.
 * Metrics need the code as well.
 */
export function noteUpgradeCode(context: RequestContext, { audit }: Services): void {
  onSocketStarted(context.upgrade!.socket, (code) => {
    context.upgradeCode = code;
    if (code === 101) audit?.tell(context, 'ResponseStarted', code);
  });
}
