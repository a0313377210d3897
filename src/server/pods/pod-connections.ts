/**
 * Pod connections: exec, attach and portforward. Checks the request, finds container and node, and connects the
 * client with the kubelet API of the node; the server runs nothing itself.
 */
import { badRequest, methodNotAllowed, plain, StatusError } from '../../api/errors/errors.ts';
import type { Kind } from '../../api/kind/kind.ts';
import { tunnel, type Upgrade, withoutBody } from '../../streams/dial/tunnel.ts';
import {
  isUpgradeRequest,
  missingUpgrade,
  refuseUpgrade,
  upgradeProtocol,
} from '../../streams/dial/upgrade-request.ts';
import { tunnelHeaders } from '../../streams/proxy/forwarded-headers.ts';
import type { RequestContext } from '../http/context.ts';
import type { ResourceInfo } from '../http/request-info.ts';
import { admitConnection, type Connection } from './connect-admission.ts';
import type { Connecting } from './connecting.ts';
import { dropLaterProtocols } from './later-protocols.ts';
import {
  type NodeRequest,
  needsSessionTranslation,
  needsUntunnelling,
  translate,
  untunnelTo,
} from './node-translation.ts';
import { serveLog } from './pod-logs.ts';
import {
  encodedCommands,
  kubeletPortsQuery,
  kubeletSessionQuery,
  type SessionOptions,
  sessionOptions,
} from './pod-options.ts';
import { chooseContainer, findPod, kubeletPath, locatePod } from './pod-target.ts';

const methods: Readonly<Record<string, readonly string[]>> = {
  log: ['GET'],
  exec: ['GET', 'POST'],
  attach: ['GET', 'POST'],
  portforward: ['GET', 'POST'],
};

/** Serves a connection to its end. */
export async function connect(
  connecting: Connecting,
  context: RequestContext,
  pods: Kind,
  info: ResourceInfo,
): Promise<void> {
  const { upgrade } = context;
  if (!methods[info.subresource!]!.includes(context.info.method)) throw methodNotAllowed();
  if (context.query.has('dryRun')) throw badRequest('dryRun is not supported');
  if (info.subresource === 'log') return serveLog(connecting, context, pods, info);
  const asked = info.subresource === 'portforward' ? portForward(context) : session(context, info);
  const pod = await findPod(connecting, pods, info);
  const container = asked.options && chooseContainer(pod, context.query.get('container'));
  const node = locatePod(connecting, pod);
  if (!node) throw badRequest(`pod ${info.name} does not have a host assigned`);
  await admitConnection(
    connecting.writing,
    context,
    {
      kind: pods,
      namespace: info.namespace!,
      name: info.name!,
      part: info.subresource as Connection['part'],
    },
    { ...asked.asked, ...(container ? { container } : {}) },
  );
  // Checked after admission, as in Kubernetes, where the proxy to the node checks the upgrade.
  if (!upgrade)
    throw badRequest(
      isUpgradeRequest(context.http.request)
        ? missingUpgrade(context.http.request).text
        : 'Upgrade request required',
    );
  const what = asked.options ? 'session' : 'forward';
  if (dropLaterProtocols(connecting.registry.kinds.minor, context.http.request, what))
    return refuseUpgrade(upgrade.socket, { status: 403, text: '' });
  const query = asked.kubeletQuery(connecting.nodes.isLocal(node.name));
  const segments = [asked.root, info.namespace, info.name, ...(container ? [container] : [])];
  const path = `${kubeletPath(...segments)}${query && `?${query}`}`;
  const target = { nodes: connecting.nodes, node, path };
  const ready = await withoutBody(context.http.request, upgrade);
  const release = connecting.open.add(() => ready.socket.destroy());
  try {
    await join(context, ready, target, asked.options);
  } finally {
    release();
  }
}

/** The parsed request, before the pod is looked up. */
interface Asked {
  /** The kubelet's name for the operation. */
  readonly root: string;
  /** For exec and attach; undefined for portforward. */
  readonly options?: SessionOptions;
  /** The options object that admission gets. */
  readonly asked: object;
  readonly kubeletQuery: (own: boolean) => string;
}

function session(
  { query, http: { request }, info: { queryText } }: RequestContext,
  { subresource }: ResourceInfo,
): Asked {
  const options = sessionOptions(query);
  const commands = subresource === 'exec' ? encodedCommands(queryText) : [];
  const spdy = upgradeProtocol(request) === 'spdy';
  return {
    root: subresource!,
    options,
    asked: {
      stdin: options.stdin,
      stdout: options.stdout,
      stderr: options.stderr,
      tty: options.tty,
      ...(subresource === 'exec' ? { command: query.all('command') } : {}),
    },
    kubeletQuery: (own) => kubeletSessionQuery(options, commands, { spdy, own }),
  };
}

function portForward({ query }: RequestContext): Asked {
  const text = kubeletPortsQuery(query);
  const ports = query.all('ports').flatMap((value) => value.split(',').map(Number));
  return { root: 'portForward', asked: ports.length ? { ports } : {}, kubeletQuery: () => text };
}

/** Client and kubelet talk directly or, when they have no protocol in common, through a translation. */
async function join(
  { http: { request } }: RequestContext,
  upgrade: Upgrade,
  target: NodeRequest,
  options: SessionOptions | undefined,
): Promise<void> {
  const { nodes, node, path } = target;
  if (options && needsSessionTranslation(request, node)) return translate(request, upgrade, target, options);
  if (!options && needsUntunnelling(request, node)) return untunnelTo(request, upgrade, target);
  const backend = await nodes.connect(node).catch((error: unknown) => {
    throw error instanceof StatusError ? error : plain(`error dialing backend: ${(error as Error).message}`);
  });
  const headers = tunnelHeaders(request, upgrade.socket.remoteAddress);
  await tunnel(upgrade, backend, { method: request.method!, path, headers });
}
