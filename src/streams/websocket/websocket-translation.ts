/**
 * WebSocket sessions for kubelets that speak only SPDY: the WebSocket ends here, and the API server acts as
 * the kubelet's client. The WebSocket is accepted before the kubelet is asked, so every failure reaches the
 * client as a status.
 */
import type { WebSocket } from 'ws';
import type { SessionResult, SessionWish } from '../session/session.ts';
import type { SessionStatus } from '../session/session-status.ts';
import { remoteCommand } from '../spdy/remote-command-client.ts';
import type { SpdyUpgraded } from '../spdy/spdy-upgrade.ts';
import { serveWebSocketSession } from './websocket-session.ts';

const defaultIdleMs = 4 * 3_600_000;
/** Longer messages are cut, so that a status fits into one frame. */
const messageCharsMax = 4000;
/** The only subprotocol that needs translation: kubelets of every version serve older ones. */
export const translatedProtocol = 'v5.channel.k8s.io';

export interface TranslationOptions {
  readonly idleMs?: number;
  /** Aborted to end the session from outside. */
  readonly ended?: AbortSignal;
}

/** Serves an accepted WebSocket (v5) with a session of a kubelet. Resolves when the WebSocket is closed. */
export function translateSession(
  webSocket: WebSocket,
  open: () => Promise<SpdyUpgraded>,
  wish: SessionWish,
  { idleMs = defaultIdleMs, ended }: TranslationOptions = {},
): Promise<void> {
  // A terminal has one output.
  const shown = { ...wish, stderr: wish.stderr && !wish.tty };
  return serveWebSocketSession(webSocket, translatedProtocol, {
    wish: shown,
    handler: remoteCommand(open, shown),
    idleMs,
    status: translatedStatus,
    ended,
  });
}

/**
 * As in Kubernetes, the API server wraps the error that its own client reports in a new status, hence the
 * doubled text.
 */
function translatedStatus(result: SessionResult): SessionStatus {
  if (result.kind === 'success' || (result.kind === 'exit' && result.code === 0)) {
    return { metadata: {}, status: 'Success' };
  }
  if (result.kind === 'exit') {
    return {
      metadata: {},
      status: 'Failure',
      message: `command terminated with non-zero exit code: command terminated with exit code ${result.code}`,
      reason: 'NonZeroExitCode',
      details: { causes: [{ reason: 'ExitCode', message: `${result.code}` }] },
    };
  }
  const text = result.message.slice(0, messageCharsMax);
  return {
    metadata: {},
    status: 'Failure',
    message: `Internal error occurred: ${text}`,
    reason: 'InternalError',
    details: { causes: [{ message: text }] },
    code: 500,
  };
}
