/**
 * Auditing: requests that last are written down when their answer begins, not only when they are over. It has no error
 * exit, and comes before routing because a request that is refused there has been answered, too.
 */
import type { RequestContext } from '../context.ts';
import { onSocketStarted, onStarted } from '../statusline.ts';
import type { Services } from './step.ts';

export function auditStart(context: RequestContext, { audit }: Services): void {
  if (audit && context.info.lasting && !context.upgrade)
    onStarted(context.http.response, (code) => audit.tell(context, 'ResponseStarted', code));
}

/** An upgrade is answered by many parts of the server, as bytes on its socket. Metrics need the code as well. */
export function noteUpgradeCode(context: RequestContext, { audit }: Services): void {
  onSocketStarted(context.upgrade!.socket, (code) => {
    context.upgradeCode = code;
    if (code === 101) audit?.tell(context, 'ResponseStarted', code);
  });
}
