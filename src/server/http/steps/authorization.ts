/** Authorization: asks the door's authorizer whether the user may do this. Error exit: 403. */
import type { Action, Decision } from '../../../api/access.ts';
import { forbidden, forbiddenRequest, type StatusError } from '../../../api/errors.ts';
import type { User } from '../../../api/user.ts';
import type { RequestContext } from '../context.ts';

export function authorize(context: RequestContext): void | Promise<void> {
  const decision = context.door.authorizer.decide(context);
  if (decision instanceof Promise) return decided(context, decision);
  heed(context, decision);
}

async function decided(context: RequestContext, decision: Promise<Decision>): Promise<void> {
  heed(context, await decision);
}

function heed(context: RequestContext, decision: Decision): void {
  context.decision = decision;
  if (!decision.allowed) throw refusal(context.user, context.info, decision.reason);
}

/** What a user is told who may not do something, in Kubernetes' words. */
export function refusal(user: User, { verb, path, resource }: Action, reason: string): StatusError {
  const who = `User ${JSON.stringify(user.name)} cannot ${verb}`;
  const because = reason && `: ${reason}`;
  if (!resource) return forbiddenRequest(`${who} path ${JSON.stringify(path)}${because}`);
  const { group, namespace, subresource } = resource;
  const what = JSON.stringify(subresource ? `${resource.resource}/${subresource}` : resource.resource);
  const where = namespace ? `in the namespace ${JSON.stringify(namespace)}` : 'at the cluster scope';
  return forbidden(
    { kind: '', resource: resource.resource, group },
    resource.name ?? '',
    `${who} resource ${what} in API group ${JSON.stringify(group)} ${where}${because}`,
  );
}
