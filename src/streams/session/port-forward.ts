/** What all forms of port-forward share: the interface to dial a port, and the error text. */
import type { Duplex } from 'node:stream';

/** Longer texts are cut. */
const failureCharsMax = 1000;

export interface PortForwarding {
  /**
   * Connects to a port of the pod. The connection must allow half-open use; otherwise one side's end would
   * end both. Failures throw with Go's words: `dial tcp 127.0.0.1:80: connect: connection refused`.
   */
  dial(port: number): Promise<Duplex>;
  /** The pod's name in messages: `pod NAME, uid UID`. */
  readonly podText: string;
  readonly idleMs: number;
  /** Aborted when the pod has ended: then the connection is closed. */
  readonly ended?: AbortSignal | undefined;
}

/** The error text of a failed dial. */
export function forwardFailure({ podText }: PortForwarding, port: number, error: unknown): string {
  const text = error instanceof Error ? error.message : String(error);
  return `error forwarding port ${port} to ${podText}: ${text}`.slice(0, failureCharsMax);
}
