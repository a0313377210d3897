/**
 * Impersonation: replaces the user of a request by the one named in its `Impersonate-*` headers, if the sender is allowed to
 * act as that user. Error exits: 400 when no user is named, 403 when it is not allowed. Afterwards, requests that are
 * forwarded to pods, services or nodes carry no headers about identity.
 */
import type { IncomingHttpHeaders } from 'node:http';
import { extraOf, headerValues } from '../../access/authentication/identity-headers.ts';
import { nameProblem } from '../../access/authentication/user-names.ts';
import { ImpersonationRefused, type WantedUser } from '../../access/impersonation.ts';
import { badRequest } from '../../api/errors/errors.ts';
import type { User } from '../../api/values/user.ts';
import { refusal } from '../http/access-refusal.ts';
import type { ApiRequest, RequestContext } from '../http/context.ts';
import { Http2Request } from '../wire/http2-request.ts';
import { removeIdentity } from '../wire/identity-removal.ts';
import { PlainRequest } from '../wire/plain-request.ts';
import type { Services } from './step.ts';

/** Maximum number of groups and extra values that a request may ask for: each is checked with the authorizers. */
const valuesMax = 1_000;

/** Maximum number of headers that an error message repeats. */
const repeatedMax = 20;

const prefix = 'impersonate-';
const extraPrefix = 'impersonate-extra-';
const nameHeader = 'impersonate-user';
const uidHeader = 'impersonate-uid';
const groupHeader = 'impersonate-group';
const prefixStart = prefix.charCodeAt(0);

export function impersonate(context: RequestContext, services: Services): void | Promise<void> {
  if (asksFor(context.request)) {
    const wanted = wantedUser(context);
    if (wanted) return become(context, wanted, services);
  }
  forget(context, services);
}

/** Whether a request has impersonation headers. Runs for every request, so it must not allocate. */
function asksFor(request: ApiRequest): boolean {
  if (request instanceof Http2Request) return request.hasName(prefix);
  for (const name in request.headers)
    if (name.charCodeAt(0) === prefixStart && name.startsWith(prefix)) return true;
  return false;
}

/** The number of impersonation headers, without reading their values. */
function countAsked({ headers, rawHeaders }: Sent): number {
  let count = 0;
  for (const name in headers) if (name.startsWith(prefix)) count++;
  // Node joins headers that are repeated, such as groups.
  let sent = 0;
  for (let i = 0; i < rawHeaders.length; i += 2)
    if (rawHeaders[i]!.slice(0, prefix.length).toLowerCase() === prefix) sent++;
  return Math.max(count, sent);
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

/** Removes the impersonation headers of requests that are forwarded; the server's own handlers do not read them. */
function forget({ upgrade, info, http, request }: RequestContext, services: Services): void {
  const isForwarded =
    upgrade ||
    info.lasting === 'connection' ||
    // Requests of the express lane are never forwarded.
    (!(request instanceof PlainRequest) && services.router.isForwarded(request.url!));
  if (isForwarded) removeIdentity(http.request, services.isIdentityHeader);
}

/** The user that the headers name; undefined without such headers. */
function wantedUser({ http: { request } }: RequestContext): WantedUser | undefined {
  // Requests of the express lane have each header once, and no list of raw headers.
  const sent = { headers: request.headers, rawHeaders: request.rawHeaders ?? [] };
  const wanted = new HeaderUser(sent);
  if (wanted.name) return wanted;
  // Anybody can send this, so only a few values are read for the message.
  if (countAsked(sent) > repeatedMax)
    throw badRequest('requested groups or extra values without impersonating a user name');
  const { uid, groups, extra } = wanted;
  if (uid || groups.length || Object.keys(extra).length)
    throw badRequest(`requested ${goText(wanted)} without impersonating a user name`);
  return undefined;
}

type Sent = Parameters<typeof headerValues>[0];

/**
 * The user that the headers name. Only the name is read at once; groups and extra values are read when the sender is
 * allowed to use that name, so that other senders cannot make the server parse them.
 */
class HeaderUser implements WantedUser {
  readonly name: string;
  readonly isAlone: boolean;
  #rest: Pick<WantedUser, 'uid' | 'groups' | 'extra'> | undefined;

  constructor(private readonly sent: Sent) {
    const named = headerValues(sent, (header) => header === nameHeader).get(nameHeader) ?? [];
    this.name = named[0] ?? '';
    this.isAlone = !isMoreSaid(sent.headers);
    checkNames({ name: this.name, groups: [] });
  }

  get uid(): string {
    return this.#all.uid;
  }

  get groups(): readonly string[] {
    return this.#all.groups;
  }

  get extra(): WantedUser['extra'] {
    return this.#all.extra;
  }

  get #all(): Pick<WantedUser, 'uid' | 'groups' | 'extra'> {
    this.#rest ??= this.#read();
    return this.#rest;
  }

  #read(): Pick<WantedUser, 'uid' | 'groups' | 'extra'> {
    const found = headerValues(this.sent, isRead);
    let values = 0;
    for (const list of found.values()) values += list.length;
    if (values > valuesMax)
      throw badRequest(`a request may impersonate at most ${valuesMax} groups and extra values`);
    const rest = {
      uid: found.get(uidHeader)?.[0] ?? '',
      groups: found.get(groupHeader) ?? [],
      extra: extraOf(found, [extraPrefix]) ?? {},
    };
    checkNames({ name: '', ...rest });
    return rest;
  }
}

function checkNames(user: User): void {
  const problem = nameProblem(user);
  if (problem !== undefined) throw badRequest(`impersonation is not possible: ${problem}`);
}

/** Whether there are impersonation headers besides the user's name. */
function isMoreSaid(headers: IncomingHttpHeaders): boolean {
  if (headers[uidHeader] || headers[groupHeader] !== undefined) return true;
  for (const name in headers) if (name.startsWith(extraPrefix)) return true;
  return false;
}

const isRead = (name: string): boolean => name.startsWith(prefix);

/** The user as Go formats it, for the message that Kubernetes sends. */
function goText({ name, uid, groups, extra }: WantedUser): string {
  const keys = Object.keys(extra).sort();
  const list = (texts: readonly string[]): string =>
    texts.length ? `[]string{${texts.map((text) => JSON.stringify(text)).join(', ')}}` : '[]string(nil)';
  const extraText = keys.length
    ? `map[string][]string{${keys.map((key) => `${JSON.stringify(key)}:${list(extra[key]!)}`).join(', ')}}`
    : 'map[string][]string(nil)';
  return `&user.DefaultInfo{Name:${JSON.stringify(name)}, UID:${JSON.stringify(uid)}, Groups:${list(groups)}, Extra:${extraText}}`;
}
