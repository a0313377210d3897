/** The way to a node: how the API server opens a connection to the kubelet API of a node agent. */
import type { Duplex } from 'node:stream';

/** A node's agent, as its Node object tells. */
export interface NodeLocation {
  readonly name: string;
  /** The address to dial, and what the certificate is checked against. */
  readonly host: string;
  readonly port: number;
  /** Whether the agent serves every WebSocket form itself (`ExtendWebSocketsToKubelet`). */
  readonly servesWebSockets: boolean;
}

export interface NodeWay {
  /**
   * A fresh connection that speaks HTTP/1.1: to an agent of this process through memory, to others over TLS with
   * the server's client certificate. Refused addresses and failed dials are thrown with Go's words
   * (`dial tcp 10.0.0.1:10250: connect: connection refused`).
   */
  connect(node: NodeLocation, options?: { readonly insecure?: boolean }): Promise<Duplex>;
  /** Whether the agent of this node runs in this process. */
  isLocal(name: string): boolean;
}
