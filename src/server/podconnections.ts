/**
 * Pod connections: exec, attach and portforward. What is asked for is checked, container and node are found, and
 * the client is joined with the kubelet API of the node; the server runs nothing itself.
 */
import { badRequest, methodNotAllowed, plain, StatusError } from '../api/errors.ts';
import type { Pod } from '../api/generated/types.ts';
import type { Kind } from '../api/kind.ts';
import { tunnelHeaders } from '../streams/forwardedheaders.ts';
import type { NodeLocation } from '../streams/nodeway.ts';
import { tunnel, type Upgrade, withoutBody } from '../streams/tunnel.ts';
import { isUpgradeRequest, missingUpgrade, upgradeProtocol } from '../streams/upgraderequest.ts';
import type { Connecting } from './connecting.ts';
import type { RequestContext } from './context.ts';
import { serveLog } from './podlogs.ts';
import { encodedCommands, kubeletPortsQuery, kubeletSessionQuery, sessionOptions } from './podoptions.ts';
import { chooseContainer, findPod, kubeletPath, locatePod } from './podtarget.ts';
import type { ResourceInfo } from './requestinfo.ts';

const methods: Readonly<Record<string, readonly string[]>> = {
  log: ['GET'],
  exec: ['GET', 'POST'],
  attach: ['GET', 'POST'],
  portforward: ['GET', 'POST'],
};

export const isConnection = (info: ResourceInfo): boolean =>
  info.apiVersion === 'v1' &&
  info.resource === 'pods' &&
  info.namespace !== undefined &&
  info.subresource !== undefined &&
  Object.hasOwn(methods, info.subresource) &&
  info.tail.length === 0;

/**
 * Serves a connection to its end.
 * @param upgrade the client's bare socket; undefined when it did not ask for another protocol
 */
export async function connect(
  connecting: Connecting,
  context: RequestContext,
  pods: Kind,
  info: ResourceInfo,
  upgrade?: Upgrade,
): Promise<void> {
  if (!methods[info.subresource!]!.includes(context.info.method)) throw methodNotAllowed();
  if (context.query.has('dryRun')) throw badRequest('dryRun is not supported');
  if (info.subresource === 'log') return serveLog(connecting, context, pods, info, upgrade);
  const pathOf = info.subresource === 'portforward' ? portForwardPath(context) : sessionPath(context, info);
  const pod = await findPod(connecting, pods, info);
  const path = pathOf(pod);
  const node = locatePod(connecting, pod);
  if (!node) throw badRequest(`pod ${info.name} does not have a host assigned`);
  if (!upgrade)
    throw badRequest(
      isUpgradeRequest(context.request) ? missingUpgrade(context.request).text : 'Upgrade request required',
    );
  await joinNode(connecting, context, node, path, await withoutBody(context.request, upgrade));
}

/** The options are read before the pod is looked for; where they lead to is known only with it. */
function sessionPath(context: RequestContext, info: ResourceInfo): (pod: Pod) => string {
  const { query, request } = context;
  const options = sessionOptions(query);
  const commands = info.subresource === 'exec' ? encodedCommands(context.info.queryText) : [];
  const text = kubeletSessionQuery(options, commands, upgradeProtocol(request) === 'spdy');
  return (pod) =>
    withQuery(
      kubeletPath(
        info.subresource,
        info.namespace,
        info.name,
        chooseContainer(pod, query.get('container')),
      ),
      text,
    );
}

function portForwardPath({ query }: RequestContext): (pod: Pod) => string {
  const text = kubeletPortsQuery(query);
  return ({ metadata }) => withQuery(kubeletPath('portForward', metadata.namespace, metadata.name), text);
}

const withQuery = (path: string, query: string): string => (query ? `${path}?${query}` : path);

async function joinNode(
  connecting: Connecting,
  { request }: RequestContext,
  node: NodeLocation,
  path: string,
  upgrade: Upgrade,
): Promise<void> {
  const { socket } = upgrade;
  const release = connecting.open.add(() => socket.destroy());
  try {
    const backend = await connecting.nodes.connect(node).catch((error: unknown) => {
      throw error instanceof StatusError
        ? error
        : plain(`error dialing backend: ${(error as Error).message}`);
    });
    const headers = tunnelHeaders(request, socket.remoteAddress);
    await tunnel(upgrade, backend, { method: request.method!, path, headers });
  } finally {
    release();
  }
}
