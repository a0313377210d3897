/**
 * For tests of proxying: an API server with objects that a test creates, and nodes whose agents are servers of the
 * test.
 */

import { randomInt, randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type RequestListener, type Server } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { networkInterfaces } from 'node:os';
import type { Duplex } from 'node:stream';
import { afterAll, afterEach, beforeAll } from 'vitest';
import { freePorts } from '../../../test/support/free-ports.ts';
import { Client, type Reply } from '../../../test/support/http.ts';
import { Tokens } from '../../access/tokens/tokens.ts';
import { KindTable } from '../../api/kinds/kinds.ts';
import type { ApiObject } from '../../api/text/object.ts';
import { admissionChain } from '../../registry/admission/plugins.ts';
import type { Registry } from '../../registry/registry.ts';
import { asTester } from '../../registry/request.fixture.ts';
import { collectionOf } from '../../registry/target.ts';
import { View } from '../../registry/view/view.ts';
import { makeWriting, type Writing } from '../../registry/writing.ts';
import { openMemoryStore } from '../../store/memory.ts';
import { memoryPipe } from '../../streams/bytes/memory-pipe.ts';
import type { NodeConnector, NodeLocation } from '../../streams/dial/node-connector.ts';
import { isAllowedTarget } from '../../streams/dial/target-address.ts';
import { UsageReports } from '../computed/usage-reports.ts';
import { LocalDoor } from '../doors/local-door.ts';
import { LimitKeeper, type Limits } from '../http/limits.ts';
import { ApiServer, type ServerOptions } from '../server.ts';

/** A non-loopback address of this machine for pods, or undefined. */
export const machineAddress: string | undefined = Object.values(networkInterfaces())
  .flatMap((addresses) => addresses ?? [])
  .find(
    ({ address, internal, family }) => !internal && family === 'IPv4' && isAllowedTarget(address),
  )?.address;

/** The path of the namespace of the pods. */
export const ns = '/api/v1/namespaces/ns';

export const failure = ({ body }: Reply): string => `${body.code} ${body.reason ?? '-'} ${body.message}`;

/** Agents by node name: HTTP servers that do not listen on a port. */
class Agents implements NodeConnector {
  readonly servers = new Map<string, Server>();
  readonly asked: NodeLocation[] = [];
  readonly open = new Set<Duplex>();

  async connect(node: NodeLocation): Promise<Duplex> {
    this.asked.push(node);
    const server = this.servers.get(node.name);
    if (!server) throw new Error(`dial tcp ${node.host}:${node.port}: connect: connection refused`);
    const [near, far] = memoryPipe();
    this.open.add(near);
    near.on('close', () => this.open.delete(near));
    server.emit('connection', far);
    return near;
  }

  isLocal(name: string): boolean {
    return this.servers.has(name);
  }
}

export class Proxied extends Client {
  readonly agents = new Agents();
  readonly failures: Error[] = [];
  writing!: Writing;
  server!: ApiServer;
  #closeStore: () => Promise<void> = async () => undefined;
  #closings: (() => void)[] = [];
  #count = 0;

  constructor(
    private readonly limits: Partial<Limits> = {},
    private readonly options: () => Partial<ServerOptions> = () => ({}),
  ) {
    super(() => this.server.url);
  }

  get registry(): Registry {
    return this.writing.registry;
  }

  async start(): Promise<void> {
    const store = openMemoryStore();
    const kinds = new KindTable();
    const view = await View.open(store, kinds);
    const sources = {
      nowMs: () => Date.now(),
      uid: () => randomUUID(),
      randomBelow: (n: number) => randomInt(n),
    };
    this.writing = makeWriting(store, view, kinds, sources, { admission: admissionChain });
    this.server = new ApiServer(this.writing, {
      doors: [new LocalDoor({ host: '127.0.0.1', port: 0 })],
      createStatus: 200,
      compatibility: 'contract',
      watchDefault: 'history',
      keeper: new LimitKeeper(this.limits),
      components: [],
      health: [],
      tokens: new Tokens(this.registry),
      authentication: {
        reviewToken: async () => ({ error: 'no tokens here' }),
        isIdentityHeader: () => false,
      },
      nodes: this.agents,
      usage: new UsageReports(this.registry, this.agents),
      report: (error) => void this.failures.push(error),
      ...this.options(),
    });
    this.#closeStore = async () => {
      view.close();
      await store.close();
    };
    await this.server.listen();
  }

  async stop(): Promise<void> {
    await this.server.close();
    await this.#closeStore();
  }

  /** Stores an object without validation. */
  async seed(resource: string, namespace: string, object: object): Promise<void> {
    const kind = this.registry.kinds.resource('v1', resource)!;
    const whole = { kind: kind.kind, apiVersion: 'v1', ...structuredClone(object) } as unknown as ApiObject;
    const collection = collectionOf(kind, namespace);
    if (!(await this.registry.seed(asTester('create'), collection, whole)))
      throw new Error(`${resource} is there already`);
  }

  pod(
    name: string,
    ip: string | undefined,
    { ports = [] as number[], nodeName = '', ips = [] as string[] } = {},
  ) {
    const containers = [
      { name: 'none' },
      { name: 'c', ports: ports.map((containerPort) => ({ containerPort })) },
    ];
    const podIPs = ips.map((each) => ({ ip: each }));
    return this.seed('pods', 'ns', {
      metadata: { name },
      spec: { containers, ...(nodeName ? { nodeName } : {}) },
      status: { ...(ip ? { podIP: ip } : {}), podIPs },
    });
  }

  /** An HTTP server on this machine; returns its port. */
  async listen(address: string, handler: RequestListener | Server): Promise<number> {
    const server = typeof handler === 'function' ? createServer(handler) : handler;
    const sockets = new Set<Socket>();
    server.on('connection', (socket) => {
      sockets.add(socket);
      socket.on('error', () => undefined).on('close', () => sockets.delete(socket));
    });
    // Below the ports that systems give away: one of those may be a door's at another address, and is refused.
    const [port] = await freePorts(1);
    server.listen(port, address);
    await once(server, 'listening');
    this.closing(() => {
      server.close();
      for (const socket of sockets) socket.destroy();
    });
    return (server.address() as AddressInfo).port;
  }

  /** A target that answers with the request it got. */
  echo(where = machineAddress ?? ''): Promise<number> {
    return this.listen(where, async (request, response) => {
      let body = '';
      for await (const chunk of request) body += chunk;
      const { method, url, headers } = request;
      response.setHeader('Content-Type', 'application/json');
      response.end(JSON.stringify({ method, url, headers, body }));
    });
  }

  /** A unique object name. */
  fresh(what: string): string {
    return `${what}-${++this.#count}`;
  }

  /** Closes something at the end of the test. */
  closing(close: () => void): void {
    this.#closings.push(close);
  }

  closeAll(): void {
    for (const close of this.#closings.splice(0)) close();
  }
}

/** @param options that differ from the defaults, evaluated at start */
export function useProxied(limits?: Partial<Limits>, options?: () => Partial<ServerOptions>): Proxied {
  const proxied = new Proxied(limits, options);
  beforeAll(() => proxied.start());
  afterEach(() => proxied.closeAll());
  afterAll(() => proxied.stop());
  return proxied;
}
