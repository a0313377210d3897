/**
 * A fake kubelet for tests: HTTPS with a certificate of the cluster's authority. It accepts only clients with
 * the API server's certificate, and answers as a test says. It runs nothing.
 */
import { once } from 'node:events';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { createServer, type Server } from 'node:https';
import type { AddressInfo } from 'node:net';
import type { Duplex } from 'node:stream';
import {
  authorityData,
  issueServingCertificate,
  makeNodeAuthority,
} from '../../src/pki/node-certificates.ts';
import type { Client } from './http.ts';

export interface Seen {
  readonly method: string;
  readonly url: string;
  readonly rawHeaders: readonly string[];
}

export class Kubelet {
  /** All requests, oldest first. */
  readonly seen: Seen[] = [];
  readonly #server: Server;
  readonly #sockets = new Set<Duplex>();
  onRequest: (request: IncomingMessage, response: ServerResponse) => void = (_, response) => response.end();
  onUpgrade: (request: IncomingMessage, socket: Duplex, head: Buffer) => void = (_, socket) =>
    socket.destroy();

  private constructor(certified: { cert: string; key: string }, ca: string) {
    this.#server = createServer({ ...certified, ca, requestCert: true, rejectUnauthorized: true });
    const note = ({ method, url, rawHeaders }: IncomingMessage): void => {
      this.seen.push({ method: method!, url: url!, rawHeaders });
    };
    this.#server
      .on('secureConnection', (socket) => {
        this.#sockets.add(socket);
        // Node's HTTP server leaves its half open when the client ends.
        socket
          .on('end', () => socket.end())
          .on('error', () => undefined)
          .on('close', () => this.#sockets.delete(socket));
      })
      .on('tlsClientError', (_error, socket) => socket.destroy())
      .on('request', (request, response) => {
        note(request);
        this.onRequest(request, response);
      })
      .on('upgrade', (request, socket, head) => {
        note(request);
        this.onUpgrade(request, socket, head);
      });
  }

  static async start(client: Client): Promise<Kubelet> {
    const authority = await makeNodeAuthority(Date.now());
    const made = await client.post('/api/v1/namespaces/kube-system/secrets', {
      metadata: { name: 'wherry-node-ca' },
      data: authorityData(authority),
    });
    if (made.status >= 300) throw new Error(made.text);
    const certified = await issueServingCertificate(authority.ca, { ips: ['127.0.0.1'] });
    const kubelet = new Kubelet(certified, authority.ca.cert);
    await once(kubelet.#server.listen(0, '127.0.0.1'), 'listening');
    return kubelet;
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  /** Number of open connections. */
  get connections(): number {
    return this.#sockets.size;
  }

  /** Accepts every upgrade, sends `ready`, and echoes. */
  echo(): void {
    this.onUpgrade = (request, socket, head) => {
      const protocol = request.headers.upgrade;
      socket.write(
        `HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: ${protocol}\r\n\r\nready`,
      );
      socket.write(head);
      socket.pipe(socket);
    };
  }

  /** Answers upgrades with these bytes, and leaves the connection open. */
  say(bytes: string): void {
    this.onUpgrade = (_request, socket) => {
      socket.resume();
      socket.write(bytes);
    };
  }

  async close(): Promise<void> {
    const closed = new Promise((resolve) => this.#server.close(resolve));
    for (const socket of this.#sockets) socket.destroy();
    await closed;
  }
}

/** A node whose agent listens on this machine. */
export const nodeAt = (name: string, port: number, status: object = {}): object => ({
  metadata: { name },
  status: {
    addresses: [{ type: 'InternalIP', address: '127.0.0.1' }],
    daemonEndpoints: { kubeletEndpoint: { Port: port } },
    ...status,
  },
});

/** A pod on a node, with containers of these names. */
export const podOn = (
  name: string,
  nodeName: string | undefined,
  containers = ['main'],
  spec: object = {},
) => ({
  metadata: { name },
  spec: { nodeName, containers: containers.map((it) => ({ name: it, image: 'i' })), ...spec },
});
