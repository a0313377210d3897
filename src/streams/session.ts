/**
 * A session: a client at the other end of a command (exec) or of a container's main process (attach), whatever
 * protocol carries it. Those who run things see this and nothing of SPDY or WebSocket.
 */
import type { Readable, Writable } from 'node:stream';

/** What the request asks for. With `tty` there is no stderr. */
export interface SessionWish {
  readonly stdin: boolean;
  readonly stdout: boolean;
  readonly stderr: boolean;
  readonly tty: boolean;
}

export interface TerminalSize {
  readonly width: number;
  readonly height: number;
}

export interface Session {
  readonly tty: boolean;
  /** Ends when the client closes its input. */
  readonly stdin: Readable | undefined;
  /**
   * Writing respects back-pressure: a slow client stops its command. The session ends these, not the command. When
   * the client has gone they are destroyed, without an error: what waits for room must also wait for `gone`.
   */
  readonly stdout: Writable | undefined;
  readonly stderr: Writable | undefined;
  /** Tells of every size of the client's terminal, the newest known one at once. */
  onResize(listener: (size: TerminalSize) => void): void;
  /** Aborted when the client has gone, or the session has to be given up. */
  readonly gone: AbortSignal;
}

/** How it went. Exit codes are 0 to 255; 128 + N for a command ended by signal N. */
export type SessionResult =
  | { readonly kind: 'success' }
  | { readonly kind: 'exit'; readonly code: number }
  /** It could not be started, or broke: the text says why. */
  | { readonly kind: 'failure'; readonly message: string };

/** Runs a session to its end. It resolves when the command has ended and all its output is written. */
export type SessionHandler = (session: Session) => Promise<SessionResult>;
