/**
 * A cluster to be recorded or copied, behind a proxy that counts what is asked, refuses every write, and can cut connections,
 * or answer in the place of the cluster.
 */
import { writeFileSync } from 'node:fs';
import { createServer, type IncomingMessage, request, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import path from 'node:path';

interface Answer {
  readonly code: number;
  readonly headers?: Record<string, string>;
}

export interface Asked {
  readonly method: string;
  readonly url: string;
  readonly authorization: string | undefined;
  readonly accept: string | undefined;
}

export class SourceProxy {
  asked: Asked[] = [];
  /** Requests other than GET, which are all refused. */
  writes = 0;
  /** Answers a request in the place of the cluster. */
  interfere: (asked: Asked) => Answer | undefined = () => undefined;
  /** Open watches by path, and the most that were open at once. */
  readonly watches = new Map<string, number>();
  watchesMax = 0;
  readonly #sockets = new Set<Socket>();
  readonly #server: Server = createServer((incoming, response) => this.#pass(incoming, response));
  #isCut = false;

  /** @param target where the cluster is now */
  constructor(public target: string) {
    this.#server.on('connection', (socket) => {
      if (this.#isCut) return void socket.destroy();
      this.#sockets.add(socket);
      socket.on('close', () => this.#sockets.delete(socket));
    });
  }

  async listen(): Promise<void> {
    await new Promise<void>((resolve) => this.#server.listen(0, '127.0.0.1', resolve));
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  /** Breaks all connections, and refuses new ones until `mend`. */
  cut(): void {
    this.#isCut = true;
    for (const socket of this.#sockets) socket.destroy();
  }

  mend(): void {
    this.#isCut = false;
  }

  close(): void {
    this.cut();
    this.#server.close();
  }

  kubeconfig(folder: string, name: string, user: object = {}): string {
    const file = path.join(folder, `${name}.config`);
    const config = {
      kind: 'Config',
      clusters: [{ name: 'c', cluster: { server: this.url } }],
      users: [{ name: 'u', user }],
      contexts: [{ name: 'x', context: { cluster: 'c', user: 'u' } }],
      'current-context': 'x',
    };
    writeFileSync(file, JSON.stringify(config));
    return file;
  }

  #pass(incoming: IncomingMessage, response: ServerResponse): void {
    const { method = '', url = '', headers } = incoming;
    const asked = { method, url, authorization: headers.authorization, accept: headers.accept };
    this.asked.push(asked);
    if (method !== 'GET') this.writes++;
    const own = method === 'GET' ? this.interfere(asked) : { code: 405 };
    if (own) {
      const status = {
        kind: 'Status',
        apiVersion: 'v1',
        status: 'Failure',
        message: 'not now',
        code: own.code,
      };
      response
        .writeHead(own.code, { 'Content-Type': 'application/json', ...own.headers })
        .end(JSON.stringify(status));
      return;
    }
    if (url.includes('watch=true')) this.#count(url, response);
    const { authorization: _, ...others } = headers;
    const onward = request(this.target + url, { method, headers: others }, (answer) => {
      response.writeHead(answer.statusCode!, answer.headers).flushHeaders();
      answer.pipe(response);
      answer.on('error', () => response.destroy());
      answer.on('close', () => response.destroy());
    });
    onward.on('error', () => response.destroy());
    response.on('close', () => onward.destroy());
    incoming.pipe(onward);
  }

  #count(url: string, response: ServerResponse): void {
    const [where] = url.split('?') as [string];
    const open = (this.watches.get(where) ?? 0) + 1;
    this.watches.set(where, open);
    this.watchesMax = Math.max(this.watchesMax, open);
    response.on('close', () => this.watches.set(where, this.watches.get(where)! - 1));
  }
}
