/**
 * A session: a client connected to a command (exec) or to a container's main process (attach), over any
 * protocol. Runtimes see this interface and nothing of SPDY or WebSocket.
 */
import type { Readable, Writable } from 'node:stream';

/** What the client requests. With `tty` there is no stderr. */
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
   * Writing has back-pressure: a slow client pauses its command. The session ends these streams, not the
   * command. When the client has gone they are destroyed without an error: a writer that waits for `drain`
   * must also wait for `gone`.
   */
  readonly stdout: Writable | undefined;
  readonly stderr: Writable | undefined;
  /** Calls the listener with every size of the client's terminal, at once with the newest known one. */
  onResize(listener: (size: TerminalSize) => void): void;
  /** Aborted when the client has gone, or the session is given up. */
  readonly gone: AbortSignal;
}

/** The outcome. Exit codes are 0 to 255; 128 + N for a command ended by signal N. */
export type SessionResult =
  | { readonly kind: 'success' }
  | { readonly kind: 'exit'; readonly code: number }
  /** It could not be started, or failed: the message says why. */
  | { readonly kind: 'failure'; readonly message: string };

/** Runs a session to its end. Resolves when the command has ended and all its output is written. */
export type SessionHandler = (session: Session) => Promise<SessionResult>;
