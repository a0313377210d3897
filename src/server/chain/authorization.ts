/** Authorization: whether the user may do this, as the authorizer of the door says. Error exits: 403, and 500 when it failed. */

import { AuthorizationFailure } from '../../api/errors/errors.ts';
import { type Attributes, allowAll, allowed, type Decision } from '../../api/kind/access.ts';
import { authenticated } from '../../api/values/user.ts';
import { refusal } from '../http/access-refusal.ts';
import type { RequestContext } from '../http/context.ts';
import {
  changesPath,
  historyPath,
  problemsPath,
  samplesPath,
  searchPath,
  watchesPath,
} from '../http/request-info.ts';
import type { Services } from './step.ts';

export function authorize(context: RequestContext, { rights, dashboard }: Services): void | Promise<void> {
  if (context.info.page && dashboard?.isFor(context)) {
    context.decision = allowed;
    return;
  }
  // A door may allow its own users everything, but not those whom they impersonate.
  const { authorizer } = context.impersonator ? rights : context.door;
  // Fast path: a door that allows everything needs no description of the action.
  if (authorizer === allowAll) {
    context.decision = allowed;
    return;
  }
  if (isOpenToKnown(context) && context.user.groups.includes(authenticated)) {
    context.decision = allowed;
    return;
  }
  const decision = authorizer.decide(attributesOf(context));
  if (decision instanceof Promise) return decided(context, decision);
  heed(context, decision);
}

/**
 * What every user that is known may ask for: a connection of watches, each of which is decided about by itself, the
 * versions of history, which every list names, problems, searches and changes, which are about objects that the user may
 * list, and samples, which the user may see who may see the newest of them.
 */
const isOpenToKnown = ({ info, upgrade }: RequestContext): boolean =>
  upgrade ? info.path === watchesPath : info.method === 'GET' && openPaths.has(info.path);

const openPaths: ReadonlySet<string> = new Set([
  historyPath,
  changesPath,
  problemsPath,
  samplesPath,
  searchPath,
]);

const attributesOf = ({ user, info }: RequestContext): Attributes => ({ user, info: info.action });

async function decided(context: RequestContext, decision: Promise<Decision>): Promise<void> {
  heed(context, await decision);
}

function heed(context: RequestContext, decision: Decision): void {
  context.decision = decision;
  if (decision.allowed) return;
  if (decision.error !== undefined && !decision.denied)
    throw new AuthorizationFailure(context.request.url!, decision.error);
  throw refusal(context.user, context.info.action, decision.reason);
}
