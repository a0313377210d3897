/**
 * Port-forwards over HTTP: `GET /wherry/port-forwards`,
 * `POST /wherry/port-forwards?namespace=…&pod=…&port=80[&localPort=8080]` (or `service=…`), and
 * `DELETE /wherry/port-forwards/ID`. Only at the local door: others are not on this machine, and it is nobody's business
 * there which ports it opens.
 */
import { badRequest, forbiddenRequest, methodNotAllowed, notFound } from '../../api/errors/errors.ts';
import type { Action, Authorizer } from '../../api/kind/access.ts';
import { formatTime } from '../../api/values/time.ts';
import { refusal } from '../http/access-refusal.ts';
import { answerValue } from '../http/answer.ts';
import type { RequestContext } from '../http/context.ts';
import { forwardsPath } from '../http/request-info.ts';
import { admitConnection } from '../pods/connect-admission.ts';
import type { Connecting } from '../pods/connecting.ts';
import { type ForwardTarget, type PortForward, PortForwards } from './port-forwards.ts';

const forwardsOf = new WeakMap<Connecting, PortForwards>();

/** Answers a request for the path or one below it; false for unknown ones. `rights` decides about users who are impersonated. */
export async function answerForwards(
  context: RequestContext,
  connecting: Connecting,
  rights: Authorizer,
): Promise<boolean> {
  const { info, door } = context;
  if (!door.opensPorts) throw forbiddenRequest('ports of the machine are opened at its local address alone');
  const [, id, more] = info.path.slice(forwardsPath.length).split('/', 3);
  if (more !== undefined) return false;
  const forwards = forwardsOf.get(connecting) ?? new PortForwards(connecting);
  forwardsOf.set(connecting, forwards);
  const answer = (code: number, value: object): Promise<void> =>
    answerValue(context, code, value, { ...context.negotiate('none'), transform: undefined });
  if (id) {
    if (info.method !== 'DELETE') throw methodNotAllowed();
    const closed = await closeAllowed(context, forwards, id, rights);
    await answer(200, typed(closed));
  } else if (info.method === 'POST') {
    const target = targetOf(context);
    await allow(context, target, rights);
    await find(context, connecting, target);
    await answer(201, typed(await forwards.open(target, portOf(context, 'localPort', 0))));
  } else if (info.method === 'GET') {
    const items = [];
    for (const forward of forwards.list())
      if ((await decide(context, actionOf(forward), rights)).allowed) items.push(described(forward));
    await answer(200, { kind: 'PortForwardList', apiVersion: 'wherry.dev/v1', metadata: {}, items });
  } else throw methodNotAllowed();
  return true;
}

const typed = (forward: PortForward): object => ({
  kind: 'PortForward',
  apiVersion: 'wherry.dev/v1',
  ...described(forward),
});

const described = ({ openedMs, kind, ...forward }: PortForward): object => ({
  ...forward,
  resource: kind,
  openedAt: formatTime(openedMs),
});

function targetOf({ query }: RequestContext): ForwardTarget {
  const namespace = query.get('namespace');
  const [pod, service] = [query.get('pod'), query.get('service')];
  const name = pod || service;
  if (!namespace || !name || (pod && service))
    throw badRequest('a port-forward needs a namespace, a port, and a pod or a service');
  return { kind: pod ? 'pods' : 'services', namespace, name, port: portOf({ query }, 'port') };
}

function portOf({ query }: Pick<RequestContext, 'query'>, parameter: string, without?: number): number {
  const text = query.get(parameter);
  if (!text && without !== undefined) return without;
  const port = /^\d{1,5}$/.test(text ?? '') ? Number(text) : 0;
  if (port < 1 || port > 65_535)
    throw badRequest(`${parameter}: ${JSON.stringify(text ?? '')} is not a port`);
  return port;
}

/** As for `kubectl port-forward`; one to a service leads to its pods. */
const actionOf = ({ kind, namespace, name }: ForwardTarget): Action => ({
  verb: 'create',
  path: '',
  resource: {
    group: '',
    version: 'v1',
    resource: 'pods',
    subresource: 'portforward',
    namespace,
    name: kind === 'pods' ? name : undefined,
  },
});

const decide = async ({ user, door, impersonator }: RequestContext, info: Action, rights: Authorizer) =>
  (impersonator ? rights : door.authorizer).decide({ user, info });

async function allow(context: RequestContext, target: ForwardTarget, rights: Authorizer): Promise<void> {
  const action = actionOf(target);
  const decision = await decide(context, action, rights);
  if (!decision.allowed) throw refusal(context.user, action, decision.reason);
}

async function closeAllowed(
  context: RequestContext,
  forwards: PortForwards,
  id: string,
  rights: Authorizer,
): Promise<PortForward> {
  const found = forwards.list().find((each) => each.id === id);
  if (!found) throw notFound({ kind: 'PortForward', resource: 'port-forwards', group: 'wherry.dev' }, id);
  await allow(context, found, rights);
  forwards.close(id);
  return found;
}

/** The pod or service must exist, and admission may refuse a connection to a pod. */
async function find(
  context: RequestContext,
  { registry, writing }: Connecting,
  { kind: resource, namespace, name, port }: ForwardTarget,
): Promise<void> {
  const kind = registry.kinds.resource('v1', resource)!;
  await registry.view.caughtUp();
  if (!registry.view.collection(`core/${resource}`).get(namespace, name)) throw notFound(kind, name);
  if (resource === 'pods')
    await admitConnection(
      writing,
      context,
      { kind, namespace, name, part: 'portforward' },
      { ports: [port] },
    );
}
