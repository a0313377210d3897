/** For tests of the ingress controller: a cluster with a controller, backends behind services, and clients. */
import { once } from 'node:events';
import {
  createServer,
  type IncomingMessage,
  request as openRequest,
  type RequestListener,
  type RequestOptions,
} from 'node:http';
import { request as openSecureRequest, type RequestOptions as SecureOptions } from 'node:https';
import { type AddressInfo, connect, type Server, type Socket } from 'node:net';
import { afterAll, beforeAll } from 'vitest';
import type { Ingress } from '../api/generated/types.ts';
import { Client } from '../client/client.ts';
import { endpoints, mirrored, mirroring } from '../client/endpoints.fixture.ts';
import { ingresses, services } from '../client/resources.ts';
import { type Cluster, start } from '../cluster/index.ts';
import { dialTcp } from '../streams/dial/dialing.ts';
import type { Endpoint } from './backends.ts';
import { IngressController, type IngressControllerOptions } from './controller.ts';

/** Time limit for conditions that should become true. */
const eventuallyMs = 60_000;
export const namespace = 'default';
export const address = '192.0.2.7';
const readyIP = '10.9.8.7';

export interface Stage {
  readonly client: Client;
  readonly controller: IngressController;
  /** Errors that the controller reported. */
  readonly failures: Error[];
  /** Endpoints it has dialled. Every address is redirected to this machine. */
  readonly dialled: Endpoint[];
  /** Starts another controller, on its own ports. */
  open(changes?: Partial<IngressControllerOptions>): Promise<IngressController>;
}

/** A cluster and a controller for the tests of one file. */
export function useIngress(changes: Partial<IngressControllerOptions> = {}): Stage {
  let cluster: Cluster;
  let client: Client;
  let first: IngressController;
  const failures: Error[] = [];
  const dialled: Endpoint[] = [];
  const controllers: IngressController[] = [];
  const open = async (more: Partial<IngressControllerOptions> = {}): Promise<IngressController> => {
    const controller = new IngressController({
      client,
      host: '127.0.0.1',
      port: 0,
      tlsPort: 0,
      address,
      dial: (endpoint) => {
        dialled.push(endpoint);
        return dialTcp(['127.0.0.1'], endpoint.port);
      },
      now: Date.now,
      onError: (error) => failures.push(error),
      ...more,
    });
    controllers.push(controller);
    await controller.start();
    return controller;
  };
  beforeAll(async () => {
    cluster = await start({ store: 'memory', controllers: mirroring });
    client = new Client(cluster.url);
    first = await open(changes);
  });
  afterAll(async () => {
    for (const controller of controllers) await controller.close();
    client.close();
    await cluster.close();
    for (const close of servers.splice(0)) close();
  });
  return {
    get client() {
      return client;
    },
    get controller() {
      return first;
    },
    failures,
    dialled,
    open,
  };
}

const servers: (() => void)[] = [];

export async function listening(server: Server): Promise<number> {
  const sockets = new Set<Socket>();
  server.on('connection', (socket: Socket) => {
    sockets.add(socket);
    socket.on('error', () => undefined).on('close', () => sockets.delete(socket));
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  servers.push(() => {
    server.close();
    for (const socket of sockets) socket.destroy();
  });
  return (server.address() as AddressInfo).port;
}

export const serve = (handler: RequestListener): Promise<number> => listening(createServer(handler));

/** Creates a service whose port 80, named `web`, leads to these ports of this machine. */
export async function expose(client: Client, name: string, ...ports: number[]): Promise<void> {
  await client.create(services, namespace, {
    metadata: { name },
    spec: {
      ports: [
        { name: 'web', port: 80 },
        { name: 'other', port: 81 },
      ],
    },
  });
  await client.create(endpoints, namespace, { metadata: { name }, subsets: subsetsOf(ports) });
  await until(
    () => mirrored(client, namespace, name),
    (found) => ports.every((port) => found.includes(`${readyIP}:${port}`)),
  );
}

export const subsetsOf = (ports: readonly number[]) =>
  ports.map((port) => ({
    addresses: [{ ip: readyIP, targetRef: { kind: 'Pod', namespace, name: 'pod' } }],
    notReadyAddresses: [{ ip: '10.9.8.6' }],
    ports: [{ name: 'web', port }],
  }));

/** Creates an ingress that routes all paths of a host to a service. */
export async function route(
  client: Client,
  name: string,
  host: string,
  more: Partial<NonNullable<Ingress['spec']>> = {},
  annotations?: Record<string, string>,
): Promise<Ingress> {
  return client.create(ingresses, namespace, {
    metadata: { name, annotations },
    spec: {
      rules: [{ host, http: { paths: [{ path: '/', backend: { serviceName: name, servicePort: 80 } }] } }],
      ...more,
    },
  });
}

export interface Reply {
  readonly status: number;
  readonly headers: IncomingMessage['headers'];
  readonly bytes: Buffer;
  readonly text: string;
}

export async function ask(
  port: number,
  host: string,
  options: RequestOptions & SecureOptions & { secure?: boolean; body?: string | Buffer } = {},
): Promise<Reply> {
  const { secure = false, body, headers, ...rest } = options;
  const sent = (secure ? openSecureRequest : openRequest)({
    host: '127.0.0.1',
    port,
    agent: false,
    ...rest,
    headers: { Host: host, ...(headers as Record<string, string>) },
    ...(secure ? { servername: host, rejectUnauthorized: false } : {}),
  });
  sent.end(body);
  const [answer] = (await once(sent, 'response')) as [IncomingMessage];
  const chunks: Buffer[] = [];
  for await (const chunk of answer) chunks.push(chunk as Buffer);
  const bytes = Buffer.concat(chunks);
  return { status: answer.statusCode!, headers: answer.headers, bytes, text: bytes.toString() };
}

/** Sends bytes; resolves with all that is received until the connection ends. */
export async function exchange(port: number, bytes: string): Promise<string> {
  const socket = connect(port, '127.0.0.1');
  socket.on('error', () => undefined).write(Buffer.from(bytes, 'latin1'));
  let text = '';
  socket.on('data', (chunk) => {
    text += chunk.toString('latin1');
  });
  await new Promise((resolve) => socket.once('close', resolve));
  return text;
}

/** Polls until the value fits; the controller follows the API asynchronously. */
export async function until<T>(look: () => Promise<T>, fits: (value: T) => boolean): Promise<T> {
  const deadline = Date.now() + eventuallyMs;
  for (;;) {
    const value = await look();
    if (fits(value)) return value;
    if (Date.now() > deadline) throw new Error(`still ${JSON.stringify(value)}`);
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}

/** Waits until requests for a host get this status. */
export const answered = (port: number, host: string, status: number, path = '/'): Promise<Reply> =>
  until(
    () => ask(port, host, { path }),
    (reply) => reply.status === status,
  );
