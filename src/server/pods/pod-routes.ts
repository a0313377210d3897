/** The routes of connections: subresources of pods that are tunnels to the node. */

import type { Kind } from '../../api/kind/kind.ts';
import type { Handler } from '../http/context.ts';
import type { ResourceRoutes } from '../http/routes.ts';
import type { Connecting } from './connecting.ts';

const connections: ReadonlySet<string> = new Set(['attach', 'exec', 'log', 'portforward']);

/** The routes of pods, including connections. */
export function withConnections(
  connecting: Connecting,
  pods: Kind,
  { parts, ...routes }: ResourceRoutes,
): ResourceRoutes {
  // Loaded at the first connection, with all code for connections: most processes never need it.
  const handler: Handler = async (context, info) => {
    const { connect } = await import('./pod-connections.ts');
    return connect(connecting, context, pods, info);
  };
  const connected = [...connections].map((name) => [name, handler] as const);
  return { ...routes, parts: new Map([...parts, ...connected]), upgradable: connections };
}
