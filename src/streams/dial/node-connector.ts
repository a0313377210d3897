/** How the API server connects to the kubelet API of a node agent. */
import type { Duplex } from 'node:stream';

/** Where a node's agent is, from its Node object. */
export interface NodeLocation {
  readonly name: string;
  /** The address to dial, which the certificate must match. */
  readonly host: string;
  readonly port: number;
  /** Whether the agent serves every WebSocket form itself (`ExtendWebSocketsToKubelet`). */
  readonly servesWebSockets: boolean;
}

export interface NodeConnector {
  /**
   * A fresh connection for HTTP/1.1: in memory to an agent of this process, over TLS with the server's client
   * certificate to others. Refused addresses and failed dials throw with Go's words (`dial tcp
   * 10.0.0.1:10250: connect: connection refused`).
   */
  connect(node: NodeLocation, options?: { readonly insecure?: boolean }): Promise<Duplex>;
  /** Whether the agent of this node runs in this process. */
  isLocal(name: string): boolean;
}
