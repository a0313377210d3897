/**
 * Impersonation: from here on the request is of the user that its sender wants to be, if the sender may be that user. Error
 * exits: 400 when no user is named, 403 when the sender may not. After it, requests that leave the server hold nothing of who
 * sent them.
 */
import type { IncomingHttpHeaders } from 'node:http';
import { extraOf, headerValues } from '../../../access/authentication/identityheaders.ts';
import { ImpersonationRefused, type WantedUser } from '../../../access/impersonation.ts';
import { badRequest } from '../../../api/errors.ts';
import type { RequestContext } from '../context.ts';
import { removeIdentity } from '../identityremoval.ts';
import { refusal } from './authorization.ts';
import type { Services } from './step.ts';

const prefix = 'impersonate-';
const prefixStart = prefix.charCodeAt(0);

export function impersonate(context: RequestContext, services: Services): void | Promise<void> {
  if (asksFor(context.request.headers)) {
    const wanted = wantedUser(context);
    if (wanted) return become(context, wanted, services);
  }
  forget(context, services);
}

/** Nearly no request does: looked at without making anything. */
function asksFor(headers: IncomingHttpHeaders): boolean {
  for (const name in headers) if (name.charCodeAt(0) === prefixStart && name.startsWith(prefix)) return true;
  return false;
}

async function become(context: RequestContext, wanted: WantedUser, services: Services): Promise<void> {
  const { user, info, door } = context;
  try {
    const { user: impersonated, constraint } = await services.impersonation.become(
      wanted,
      { user, info: info.action },
      door.authorizer,
    );
    context.user = impersonated;
    context.impersonator = { user, constraint };
  } catch (error) {
    if (error instanceof ImpersonationRefused) throw refusal(user, error.action, error.reason);
    throw error;
  }
  forget(context, services);
}

/** What stays on this server keeps its headers: nobody reads them. */
function forget({ upgrade, info, http }: RequestContext, { isIdentityHeader }: Services): void {
  if (upgrade || info.lasting === 'connection') removeIdentity(http.request, isIdentityHeader);
}

/** Whom the headers ask for; undefined: nobody. */
function wantedUser({ http: { request } }: RequestContext): WantedUser | undefined {
  // Requests of the express lane have no header twice, and no list of them as they were sent.
  const sent = { headers: request.headers, rawHeaders: request.rawHeaders ?? [] };
  const first = (name: string): string => headerValues(sent, name)[0] ?? '';
  const groups = headerValues(sent, 'impersonate-group');
  const extra = extraOf(sent, ['impersonate-extra-']);
  const wanted = {
    name: first('impersonate-user'),
    uid: first('impersonate-uid'),
    groups,
    extra: extra ?? {},
  };
  if (wanted.name) return wanted;
  if (wanted.uid || groups.length || extra)
    throw badRequest(`requested ${goText(wanted)} without impersonating a user name`);
  return undefined;
}

/** As Go writes a value: the words of Kubernetes' own message. */
function goText({ name, uid, groups, extra }: WantedUser): string {
  const keys = Object.keys(extra).sort();
  const list = (texts: readonly string[]): string =>
    texts.length ? `[]string{${texts.map((text) => JSON.stringify(text)).join(', ')}}` : '[]string(nil)';
  const extraText = keys.length
    ? `map[string][]string{${keys.map((key) => `${JSON.stringify(key)}:${list(extra[key]!)}`).join(', ')}}`
    : 'map[string][]string(nil)';
  return `&user.DefaultInfo{Name:${JSON.stringify(name)}, UID:${JSON.stringify(uid)}, Groups:${list(groups)}, Extra:${extraText}}`;
}
