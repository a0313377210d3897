/**
 * Entry: whether its door accepts a request at all, before the user is known. Error exits: the door's (the local one answers
 * 403 for foreign hosts and origins), and 503 while the server closes.
 */
import { unavailable } from '../../api/errors/errors.ts';
import type { RequestContext } from '../http/context.ts';
import type { Services } from './step.ts';

export function enter(context: RequestContext, { audit, closing }: Services): void {
  const { request } = context;
  if (audit) context.address = request.socket.remoteAddress;
  context.door.admit(request);
  if (closing) throw unavailable('the server is shutting down');
}
