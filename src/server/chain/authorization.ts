/** Authorization: whether the user may do this, as the authorizer of the door says. Error exits: 403, and 500 when it failed. */

import {
  AuthorizationFailure,
  forbidden,
  forbiddenRequest,
  type StatusError,
} from '../../api/errors/errors.ts';
import { type Action, type Attributes, allowAll, allowed, type Decision } from '../../api/kind/access.ts';
import { authenticated, type User } from '../../api/values/user.ts';
import type { RequestContext } from '../http/context.ts';
import { watchesPath } from '../http/request-info.ts';
import type { Services } from './step.ts';

export function authorize(context: RequestContext, { rights, dashboard }: Services): void | Promise<void> {
  if (context.info.page && dashboard?.isFor(context)) {
    context.decision = allowed;
    return;
  }
  // A door may allow its own users everything, but not those whom they impersonate.
  const { authorizer } = context.impersonator ? rights : context.door;
  // Nothing is made for a door that allows everything.
  if (authorizer === allowAll) {
    context.decision = allowed;
    return;
  }
  // Every user that is known may open a connection of watches: each of its watches is decided about by itself.
  if (context.upgrade && context.info.path === watchesPath && context.user.groups.includes(authenticated)) {
    context.decision = allowed;
    return;
  }
  const decision = authorizer.decide(attributesOf(context));
  if (decision instanceof Promise) return decided(context, decision);
  heed(context, decision);
}

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

/** What a user is told who may not do something, in Kubernetes' words. */
export function refusal(user: User, { verb, path, resource }: Action, reason: string): StatusError {
  const who = `User ${JSON.stringify(user.name)} cannot ${verb}`;
  const because = reason && `: ${reason}`;
  if (!resource) return forbiddenRequest(escaped(`${who} path ${JSON.stringify(path)}${because}`));
  const { group, namespace, subresource } = resource;
  const what = JSON.stringify(subresource ? `${resource.resource}/${subresource}` : resource.resource);
  const where = namespace ? `in the namespace ${JSON.stringify(namespace)}` : 'at the cluster scope';
  return forbidden(
    { kind: '', resource: resource.resource, group },
    resource.name ?? '',
    escaped(`${who} resource ${what} in API group ${JSON.stringify(group)} ${where}${because}`),
  );
}

const entities: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;' };

/** For clients that show the message as a page: it repeats what was sent. */
const escaped = (text: string): string => text.replace(/[&<>]/g, (character) => entities[character]!);
