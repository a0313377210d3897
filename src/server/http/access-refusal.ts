/** The 403 error for a user who may not do something. */
import { forbidden, forbiddenRequest, type StatusError } from '../../api/errors/errors.ts';
import type { Action } from '../../api/kind/access.ts';
import type { User } from '../../api/values/user.ts';

/** The error, in Kubernetes' words. */
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

/** Escapes HTML: the message repeats what the client sent, and some clients show it as a page. */
const escaped = (text: string): string => text.replace(/[&<>]/g, (character) => entities[character]!);
