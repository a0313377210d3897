/** Watching: the watch verb over HTTP and over WebSockets. */
import { badRequest, invalidOptions, StatusError } from '../../api/errors/errors.ts';
import { forbidden } from '../../api/errors/field-error.ts';
import type { Kind } from '../../api/kind/kind.ts';
import type { KindTable } from '../../api/kinds/kinds.ts';
import { frameBytes } from '../../api/protobuf/protobuf-envelope.ts';
import type { Compatibility } from '../../registry/compatibility.ts';
import type { Registry } from '../../registry/registry.ts';
import { type OpenWatch, type WatchDefault, watch } from '../../registry/verbs/watch.ts';
import type { Upgrade } from '../../streams/dial/tunnel.ts';
import { apiHeaders } from '../http/answer.ts';
import type { RequestContext } from '../http/context.ts';
import type { Reception } from '../http/door.ts';
import type { LimitKeeper } from '../http/limits.ts';
import { messagesOf, protobufType } from '../http/negotiation.ts';
import type { ResourceInfo } from '../http/request-info.ts';
import type { WatchMetrics } from '../observe/watch-metrics.ts';
import { chunkedOutlet } from '../wire/chunked-outlet.ts';
import { type Outlet, sharedLines } from '../wire/outlet.ts';
import { refuse } from '../wire/refusal.ts';
import type { CredentialWatch } from './credential-watch.ts';
import { includeObject } from './presentation.ts';
import { WatchStream } from './watch-stream.ts';

/** Default timeout of a watch: random between half an hour and an hour, so that not all end at once. */
const secondsMinDefault = 1_800;
/** Longer timeouts are cut to the maximum of a timer. */
const timeoutMaxMs = 2 ** 31 - 1;

export interface Watching {
  readonly registry: Registry;
  readonly watchDefault: WatchDefault;
  readonly compatibility: Compatibility;
  /** Open streams and connections of watches, which end when the server closes. */
  readonly streams: Set<{ end(): void }>;
  /** Ends watches whose credential is no longer valid. */
  readonly credentials: CredentialWatch;
  /** Handles the request of a watch that came over a connection of watches. */
  readonly begin: Reception['request'];
  readonly keeper: LimitKeeper;
  readonly metrics: WatchMetrics;
  /** Minimum duration of watches without a timeout of their own. Default 1,800 seconds. */
  readonly secondsMin?: number | undefined;
  /** Whether a watch may begin with the state and a bookmark. Default true. */
  readonly watchLists?: boolean | undefined;
  /** Called with every watch that begins. */
  readonly watched?: ((context: RequestContext, stream: WatchStream) => void) | undefined;
  /** Called for internal errors of the server. */
  readonly report: (error: Error) => void;
}

/** The duration of a watch without a timeout of its own. */
export const lifetimeMs = ({ secondsMin = secondsMinDefault, registry }: Watching): number =>
  secondsMin * 1000 * (1 + registry.sources.randomBelow(1000) / 1000);

/** Checks the request and opens the watch; errors until here are ordinary answers. */
async function prepare(
  watching: Watching,
  context: RequestContext,
  kind: Kind,
  info: ResourceInfo,
  outlet: Outlet,
) {
  const { query } = context;
  const negotiated = context.negotiate(messagesOf(kind), true);
  // Earlier minors of Kubernetes do not know it, and pay no attention to it.
  const isKnown = watching.registry.kinds.minor?.isAtLeast(27) ?? true;
  const sendInitialEvents = isKnown ? query.optionalFlag('sendInitialEvents') : undefined;
  if (sendInitialEvents !== undefined && watching.watchLists === false)
    throw invalidOptions('ListOptions', [
      forbidden(
        'sendInitialEvents',
        'sendInitialEvents is forbidden for watch unless the WatchList feature gate is enabled',
      ),
    ]);
  const timeoutSeconds = query.integer('timeoutSeconds');
  const wishMs = timeoutSeconds && timeoutSeconds > 0 ? timeoutSeconds * 1000 : lifetimeMs(watching);
  const stream = new WatchStream(watching.registry.view.of(kind), outlet, {
    kind,
    negotiated,
    include: negotiated.transform === 'Table' ? includeObject(context) : 'Metadata',
    bookmarks: query.flag('allowWatchBookmarks'),
    markInitialState: sendInitialEvents === true && query.flag('allowWatchBookmarks'),
    timeoutMs: Math.min(wishMs, timeoutMaxMs),
    nowMs: watching.registry.sources.nowMs,
    backlogBytesMax: watching.keeper.limits.watcherBacklogBytesMax,
    backlogFull: () => watching.keeper.reached('watcherBacklogBytesMax'),
    counter: watching.metrics.of(kind),
    report: watching.report,
  });
  let open: OpenWatch | StatusError;
  try {
    open = await watch(
      watching.registry,
      kind,
      {
        namespace: info.namespace,
        name: info.name,
        labelSelector: query.get('labelSelector'),
        fieldSelector: query.get('fieldSelector'),
        resourceVersion: query.get('resourceVersion'),
        resourceVersionMatch: query.get('resourceVersionMatch'),
        sendInitialEvents,
      },
      watching.watchDefault,
      watching.compatibility,
    );
  } catch (error) {
    // A version that is too old is reported inside the stream, as an ERROR event; clients list again on it.
    if (!(error instanceof StatusError && error.code === 410)) throw error;
    open = error;
  }
  return {
    stream,
    run: () => {
      watching.streams.add(stream);
      watching.watched?.(context, stream);
      const forget = watching.credentials.watch(context, () => stream.end());
      void stream.ended.then(() => {
        forget();
        watching.streams.delete(stream);
      });
      if (kind !== kind.storage || kind.edition !== undefined)
        endWithVersion(watching.registry.kinds, kind, stream);
      if (open instanceof StatusError) stream.fail(open.status);
      else stream.run(open);
    },
  };
}

/**
 * Ends the watch when its version is removed while the kind is still stored in another, or when its definition has
 * changed so that clients should read it anew.
 */
function endWithVersion(kinds: KindTable, kind: Kind, stream: WatchStream): void {
  const look = (): void => {
    const now = kinds.resource(kind.apiVersion, kind.resource);
    if (!now || now.edition !== kind.edition) stream.end();
  };
  void stream.ended.then(kinds.follow(look));
  look();
}

const isProtobuf = (context: RequestContext, kind: Kind): boolean =>
  context.negotiate(messagesOf(kind), true).format === 'protobuf';

/** Serves a watch to its end. */
export const watchObjects = (
  watching: Watching,
  context: RequestContext,
  kind: Kind,
  info: ResourceInfo,
): Promise<void> =>
  context.upgrade
    ? watchOverWebSocket(watching, context, kind, info, context.upgrade)
    : watchOverHttp(watching, context, kind, info);

async function watchOverHttp(
  watching: Watching,
  context: RequestContext,
  kind: Kind,
  info: ResourceInfo,
): Promise<void> {
  const { response } = context.http;
  let outlet: Outlet = { write: () => true, writeShared: () => true, end: () => undefined };
  const { stream, run } = await prepare(watching, context, kind, info, {
    write: (lines) => outlet.write(lines),
    writeShared: (notices, form) => outlet.writeShared(notices, form),
    end: () => outlet.end(),
  });
  if (response.destroyed) return;
  response.on('close', () => stream.end());
  const contentType = isProtobuf(context, kind) ? `${protobufType};stream=watch` : undefined;
  response.writeHead(200, { ...apiHeaders(context, contentType), 'Transfer-Encoding': 'chunked' });
  // Sent at once: clients wait for the header.
  response.flushHeaders();
  const onDrain = (): void => stream.onDrain();
  outlet = context.response.outlet?.(onDrain) ?? chunkedOutlet(response, onDrain);
  run();
  await stream.ended;
}

/** Text that a WebSocket may buffer before its watcher pauses, as much as for a plain socket. */
export const socketBufferBytes = 16 * 1024;
const bearerProtocol = 'base64url.bearer.authorization.k8s.io.';

async function watchOverWebSocket(
  watching: Watching,
  context: RequestContext,
  kind: Kind,
  info: ResourceInfo,
  { socket, head }: Upgrade,
): Promise<void> {
  const [{ WebSocketServer }, { answerPings }] = await Promise.all([
    import('ws'),
    import('../../streams/websocket/websocket-upgrade.ts'),
  ]);
  let send: Pick<Outlet, 'write' | 'end'> = { write: () => true, end: () => undefined };
  const outlet: Outlet = {
    write: (lines) => send.write(lines),
    writeShared: (notices, form) => send.write(sharedLines(notices, form)),
    end: () => send.end(),
  };
  const { stream, run } = await prepare(watching, context, kind, info, outlet);
  const binary = isProtobuf(context, kind);
  // However the connection ends, the watcher is closed with it.
  socket.on('close', () => stream.end());
  if (socket.destroyed) stream.end();
  const server = new WebSocketServer({
    noServer: true,
    clientTracking: false,
    maxPayload: 64 * 1024,
    allowSynchronousEvents: false,
    autoPong: false,
    handleProtocols: (protocols) => [...protocols].find((name) => !name.startsWith(bearerProtocol)) ?? false,
  });
  server.on('wsClientError', (error) => {
    stream.end();
    refuse(socket, badRequest(error.message));
  });
  server.handleUpgrade(context.http.request, socket, head, (webSocket) => {
    send = {
      write: (lines) => {
        let full = false;
        // Called when the line has been sent, or has failed.
        const sent = (): void => {
          if (full) stream.onDrain();
        };
        for (const [i, line] of lines.entries()) {
          // WebSocket messages carry their own length, so the frame's length is left out.
          const message = binary ? line.subarray(frameBytes) : line;
          webSocket.send(message, { binary }, i === lines.length - 1 ? sent : undefined);
        }
        full = webSocket.bufferedAmount >= socketBufferBytes;
        return !full;
      },
      end: () => webSocket.close(1000),
    };
    answerPings(webSocket);
    // Messages of the client are ignored; only its pings and its close matter.
    webSocket.on('error', () => stream.end());
    webSocket.on('close', () => stream.end());
    run();
  });
  await stream.ended;
}
