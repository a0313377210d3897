/** Authentication: asks the door for the user of a request; the dashboard needs none. Error exit: 401. */
import type { User } from '../../api/values/user.ts';
import type { RequestContext } from '../http/context.ts';
import { takeBearerProtocol } from '../wire/bearer-protocol.ts';
import type { Services } from './step.ts';

export function authenticate(context: RequestContext, { dashboard }: Services): void | Promise<void> {
  if (context.info.page && dashboard?.isFor(context)) return;
  // Removed from the request at every door, so that a token is never passed on.
  const token = context.upgrade && takeBearerProtocol(context.http.request);
  const user = context.door.identify(context, token);
  if (user instanceof Promise) return identified(context, user);
  context.user = user;
}

async function identified(context: RequestContext, user: Promise<User>): Promise<void> {
  context.user = await user;
}
