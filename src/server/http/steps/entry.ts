/**
 * Entry: whether a request may come in at its door, no matter who sends it. Error exit: what the door says (403 at the
 * local one for other hosts and pages), or 503 while the server is being closed.
 */
import { unavailable } from '../../../api/errors.ts';
import type { RequestContext } from '../context.ts';
import type { Services } from './step.ts';

export function enter(context: RequestContext, { audit, closing }: Services): void {
  const { request } = context;
  if (audit) context.address = request.socket.remoteAddress;
  context.door.admit(request);
  if (closing) throw unavailable('the server is shutting down');
}
