/** The sessions of the kubelet API: exec, attach and port-forward, each to a pod of this node. */
import type { IncomingMessage } from 'node:http';
import type { Duplex } from 'node:stream';
import type { Node, Pod } from '../../api/generated/types.ts';
import { Pace } from '../../pace.ts';
import { servePortForward } from '../../streams/serving/port-forward-server.ts';
import { serveSession } from '../../streams/serving/session-server.ts';
import type { Session, SessionHandler, SessionWish } from '../../streams/session/session.ts';
import type { LogFolder } from '../logs/log-folder.ts';
import type { PodContainer } from '../pods/pod-container.ts';
import type { PodWorker } from '../pods/pod-worker.ts';
import { dialText } from '../pods/probe.ts';
import type { RunningContainer } from '../runtime/runtime.ts';
import type { NodeVolumes } from '../volumes/local-volumes.ts';
import type { NodeStats } from './stats.ts';

/** Maximum number of concurrent sessions on one node. */
const sessionsMax = 1_000;
/** Sessions that begin at once, and the rest between those behind them: each takes some milliseconds. */
const [sessionsAtOnce, sessionRestMs] = [8, 25];

export const sessionPace = (): Pace => new Pace(sessionsAtOnce, sessionRestMs);
const portsMax = 128;

/** The parts of an agent that the kubelet API uses. */
export interface KubeletHost {
  readonly logFolder: LogFolder | undefined;
  readonly stats: NodeStats;
  /** Makes volumes for claims; absent: this node makes none. */
  readonly volumes: NodeVolumes | undefined;
  readonly sessions: { count: number; readonly pace: Pace };
  readonly now: () => number;
  readonly node: () => Node;
  readonly workers: () => Iterable<PodWorker>;
  readonly find: (namespace: string, name: string) => PodWorker | undefined;
}

/** A request that is refused, with the plain-text reason. */
export class KubeletRefusal extends Error {
  constructor(
    readonly code: number,
    message: string,
    /** For a 405: the methods this path accepts. */
    readonly allow?: string,
  ) {
    super(message);
  }
}

export const notFound = (): KubeletRefusal => new KubeletRefusal(404, '404 page not found');

export const sessionRoutes: ReadonlySet<string> = new Set(['exec', 'attach', 'portForward']);

const podListName = ({ metadata }: Pod): string => `${metadata.name}_${metadata.namespace}`;

/** Checks the request, and returns the function that serves it on the upgraded socket. */
export function podConnection(
  host: KubeletHost,
  request: IncomingMessage,
  path: readonly string[],
  query: URLSearchParams,
): (socket: Duplex, head: Buffer) => Promise<void> {
  const [route, ...rest] = path;
  if (request.method !== 'GET' && request.method !== 'POST')
    throw new KubeletRefusal(405, 'Method Not Allowed', 'GET, POST');
  const serve =
    route === 'portForward'
      ? forwarding(host, rest, query)
      : session(host, route as 'exec' | 'attach', rest, query);
  return async (socket, head) => {
    if (host.sessions.count >= sessionsMax) throw new KubeletRefusal(429, 'too many sessions');
    host.sessions.count++;
    try {
      await host.sessions.pace.next();
      // Its client may have left meanwhile.
      if (!socket.destroyed) await serve(request, socket, head);
    } finally {
      host.sessions.count--;
    }
  };
}

type Serve = (request: IncomingMessage, socket: Duplex, head: Buffer) => Promise<void>;

function session(
  host: KubeletHost,
  kind: 'exec' | 'attach',
  path: readonly string[],
  query: URLSearchParams,
): Serve {
  const { worker, container } = targetOf(host, path);
  const running = runningOf(worker, container, kind);
  const is = (name: string): boolean => query.get(name) === '1';
  const spec = worker.containerOf(container)!.spec;
  const wish: SessionWish = {
    stdin: is('input'),
    stdout: is('output'),
    stderr: is('error'),
    // Attach joins a process that is already running: whether it has a terminal is in the pod, not in the request.
    tty: kind === 'attach' ? Boolean(spec.tty) : is('tty'),
  };
  const command = query.getAll('command');
  if (kind === 'exec' && command.length === 0) throw new KubeletRefusal(400, 'you must specify a command');
  const handler: SessionHandler =
    kind === 'exec'
      ? (session) => running.exec(command, session)
      : (session) => running.attach(spec.stdin ? session : withoutInput(session));
  return (request, socket, head) =>
    serveSession(request, socket, head, {
      kind,
      wish,
      // Only Wherry's own API server sends this: the client asked for no output stream in particular, so it
      // need not open one.
      optional: is('optional'),
      handler,
      ended: worker.ended,
    });
}

/** A session without stdin: drops what the client sends, for a container made without stdin. */
function withoutInput(session: Session): Session {
  session.stdin?.resume();
  return {
    tty: session.tty,
    stdin: undefined,
    stdout: session.stdout,
    stderr: session.stderr,
    onResize: (listener) => session.onResize(listener),
    gone: session.gone,
  };
}

function forwarding(host: KubeletHost, path: readonly string[], query: URLSearchParams): Serve {
  const [namespace = '', name = '', uid] = path;
  if (path.length < 2 || path.length > 3) throw notFound();
  const worker = host.find(namespace, name);
  if (!worker) throw new KubeletRefusal(404, 'pod does not exist');
  if (uid !== undefined && worker.uid !== uid) throw new KubeletRefusal(404, 'pod not found');
  const ports = query
    .getAll('port')
    .flatMap((text) => text.split(','))
    .filter(Boolean)
    .map(Number);
  if (ports.length > portsMax || ports.some((port) => !Number.isInteger(port) || port < 1 || port > 65_535))
    throw new KubeletRefusal(400, 'query parameter "port" must be a list of port numbers');
  if (worker.ended.aborted) throw new KubeletRefusal(500, `pod ${name} is not running`);
  // Set only by Wherry's own API server on behalf of a proxy: proxies reach a pod at its address.
  const atAddress = query.get('at') === 'address';
  return (request, socket, head) =>
    servePortForward(request, socket, head, {
      ports,
      podText: `pod ${name}, uid ${worker.uid}`,
      ended: worker.ended,
      dial: async (port) => {
        const { runtime, pod } = worker;
        try {
          return atAddress ? await runtime.reach(worker.uid, port) : await runtime.dial(worker.uid, port);
        } catch (error) {
          const host = (atAddress && pod.status?.podIP) || '127.0.0.1';
          throw new Error(dialText(error as NodeJS.ErrnoException, host, port));
        }
      },
    });
}

/** `{ns}/{pod}[/{uid}]/{container}`. */
export function targetOf(
  host: KubeletHost,
  path: readonly string[],
): { worker: PodWorker; container: string } {
  const [namespace = '', name = ''] = path;
  const uid = path.length === 4 ? path[2] : undefined;
  const container = path.at(-1)!;
  if (path.length < 3 || path.length > 4) throw notFound();
  const worker = host.find(namespace, name);
  if (!worker || (uid !== undefined && worker.uid !== uid))
    throw new KubeletRefusal(404, 'pod does not exist');
  return { worker, container };
}

export function runningOf(worker: PodWorker, name: string, kind: 'exec' | 'attach'): RunningContainer {
  const container: PodContainer | undefined = worker.containerOf(name);
  if (container?.running) return container.running;
  throw new KubeletRefusal(
    500,
    kind === 'exec'
      ? `container not found ("${name}")`
      : `container ${name} not found in pod ${podListName(worker.pod)}`,
  );
}
