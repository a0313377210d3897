/** The serving side of exec and attach: turns an upgrade request into a session, over SPDY or WebSocket. */
import type { IncomingMessage } from 'node:http';
import type { Duplex } from 'node:stream';
import {
  acceptSpdy,
  missingUpgrade,
  negotiateSpdy,
  negotiateWebSocket,
  refuseUpgrade,
  upgradeProtocol,
} from '../dial/upgrade-request.ts';
import type { CarriedSession } from '../session/live-session.ts';
import type { SessionHandler, SessionResult, SessionWish } from '../session/session.ts';
import { type SessionKind, type SessionStatus, sessionStatus } from '../session/session-status.ts';
import { serveSpdySession, sessionProtocols } from '../spdy/spdy-session.ts';
import { serveWebSocketSession, sessionSubprotocols } from '../websocket/websocket-session.ts';
import { acceptWebSocket, webSocketRefusal } from '../websocket/websocket-upgrade.ts';

/** Idle timeout: closes a session without a frame in either direction for this long. */
const defaultIdleMs = 4 * 3_600_000;

export interface SessionServing {
  readonly kind: SessionKind;
  readonly wish: SessionWish;
  /** Whether stdout and stderr are requested only by default: then a SPDY client may leave them out. */
  readonly optional?: boolean | undefined;
  readonly handler: SessionHandler;
  readonly idleMs?: number | undefined;
  /** Aborted when the pod has ended. A handler that does not end then is given up, with an error to the client. */
  readonly ended?: AbortSignal | undefined;
  /** The status for a result, if it differs from a kubelet's. */
  readonly status?: ((result: SessionResult) => SessionStatus) | undefined;
}

/** Serves a request of an `upgrade` event. Never rejects; resolves when the connection has ended or was refused. */
export async function serveSession(
  request: IncomingMessage,
  socket: Duplex,
  head: Buffer,
  serving: SessionServing,
): Promise<void> {
  // A terminal has one output.
  const wish = { ...serving.wish, stderr: serving.wish.stderr && !serving.wish.tty };
  if (!wish.stdin && !wish.stdout && !wish.stderr)
    return refuseUpgrade(socket, {
      status: 400,
      text: 'you must specify at least 1 of stdin, stdout, stderr',
    });
  const carried: CarriedSession = {
    wish,
    handler: serving.handler,
    idleMs: serving.idleMs ?? defaultIdleMs,
    ended: serving.ended,
    status: serving.status ?? ((result) => sessionStatus(serving.kind, result)),
  };
  switch (upgradeProtocol(request)) {
    case 'spdy': {
      const chosen = negotiateSpdy(request, [...sessionProtocols.keys()], 'channel.k8s.io');
      if (chosen.refusal) return refuseUpgrade(socket, chosen.refusal);
      acceptSpdy(socket, chosen.protocol);
      return serveSpdySession(socket, head, chosen.protocol, carried, serving.optional ?? false);
    }
    case 'websocket': {
      const bad = webSocketRefusal(request);
      if (bad) return refuseUpgrade(socket, bad);
      const chosen = negotiateWebSocket(request, [...sessionSubprotocols.keys()]);
      if (chosen.refusal) return refuseUpgrade(socket, chosen.refusal);
      const webSocket = acceptWebSocket(request, socket, head, chosen.protocol);
      return webSocket && serveWebSocketSession(webSocket, chosen.protocol, carried);
    }
    default:
      return refuseUpgrade(socket, missingUpgrade(request));
  }
}
