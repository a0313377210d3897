/** The routes of connections: parts of pods that are reached through the server rather than stored by it. */
import type { Kind } from '../../api/kind.ts';
import type { Handler, ResourceRoutes } from '../http/routes.ts';
import type { Connecting } from './connecting.ts';

const connections: ReadonlySet<string> = new Set(['attach', 'exec', 'log', 'portforward']);

/** The routes of pods, with those of connections among their parts. */
export function withConnections(
  connecting: Connecting,
  pods: Kind,
  { parts, ...routes }: ResourceRoutes,
): ResourceRoutes {
  // Loaded with the first connection, like all that carries them: few starts need it.
  const handler: Handler = async (context, info) => {
    const { connect } = await import('./podconnections.ts');
    return connect(connecting, context, pods, info);
  };
  const connected = [...connections].map((name) => [name, handler] as const);
  return { ...routes, parts: new Map([...parts, ...connected]), upgradable: connections };
}
