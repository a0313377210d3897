/** A cluster with services, for tests of the service proxy. */
import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';
import { networkInterfaces } from 'node:os';
import { isDeepStrictEqual } from 'node:util';
import { afterAll, afterEach, beforeAll, expect } from 'vitest';
import type { EndpointAddress, ServicePort, ServiceSpec } from '../../api/generated/types.ts';
import { Client } from '../../client/client.ts';
import { endpoints, mirroring } from '../../client/endpoints.fixture.ts';
import { services } from '../../client/resources.ts';
import { ServiceDirectory } from '../../client/service-directory.ts';
import { type Cluster, type StartOptions, start } from '../../cluster/index.ts';
import { ServiceProxy, type ServiceProxySettings } from './service-proxy.ts';

/** An address of this machine that endpoints may have; undefined on a machine without a network. */
export const ownAddress = Object.values(networkInterfaces())
  .flatMap((list) => list ?? [])
  .find(
    ({ family, internal, address }) => family === 'IPv4' && !internal && !address.startsWith('169.254.'),
  )?.address;

const waitMaxMs = 60_000;

export class TestServices {
  client!: Client;
  url = '';
  readonly errors: Error[] = [];
  readonly directories: ServiceDirectory[] = [];
  readonly proxies: ServiceProxy[] = [];
  readonly #servers: Server[] = [];
  #cluster: Cluster | undefined;

  constructor(
    private readonly range: string,
    private readonly options: StartOptions = {},
  ) {}

  async open(): Promise<void> {
    this.#cluster = await start({
      ...{ store: 'memory', controllers: mirroring, serviceClusterIPRange: this.range, ...this.options },
      onError: (error) => this.errors.push(error),
    });
    this.url = this.#cluster.url;
    this.client = new Client(this.url);
  }

  async clear(): Promise<void> {
    await Promise.all(this.proxies.splice(0).map((proxy) => proxy.close()));
    for (const directory of this.directories.splice(0)) directory.close();
    for (const server of this.#servers.splice(0)) server.close();
    for (const { metadata } of (await this.client.list(services, { namespace: 'default' })).items)
      if (metadata.name !== 'kubernetes') await this.client.delete(services, 'default', metadata.name!);
    expect(this.errors.splice(0)).toEqual([]);
  }

  async close(): Promise<void> {
    this.client.close();
    await this.#cluster?.close();
  }

  async directory(): Promise<ServiceDirectory> {
    const directory = new ServiceDirectory(this.client, (error) => this.errors.push(error));
    this.directories.push(directory);
    await directory.start();
    return directory;
  }

  async proxy(options: Partial<ServiceProxySettings> = {}): Promise<ServiceProxy> {
    const proxy = new ServiceProxy({
      directory: await this.directory(),
      nodeName: 'n1',
      address: ownAddress ?? '127.0.0.1',
      nodePortHost: ownAddress ?? '127.0.0.1',
      serviceRange: this.range,
      sharedNetwork: true,
      apiDoor: { port: Number(new URL(this.url).port), isSecure: false },
      onError: (error) => {
        if (!isForbiddenPort(error)) this.errors.push(error);
      },
      ...options,
    });
    this.proxies.push(proxy);
    await proxy.start();
    return proxy;
  }

  /** Creates a service without a selector; resolves with its cluster IP. */
  async service(name: string, ports: ServicePort[], spec: Partial<ServiceSpec> = {}): Promise<string> {
    const made = await this.client.create(services, 'default', {
      apiVersion: 'v1',
      kind: 'Service',
      metadata: { name, namespace: 'default' },
      spec: { ports, ...spec },
    });
    return made.spec!.clusterIP!;
  }

  /** Sets the endpoints of a service, and waits until the proxy has seen them. */
  async answers(
    name: string,
    targets: readonly [ip: string, port: number][],
    extra: Partial<EndpointAddress> = {},
    port: Partial<ServicePort> = {},
  ): Promise<void> {
    const object = {
      apiVersion: 'v1',
      kind: 'Endpoints',
      metadata: { name, namespace: 'default' },
      subsets: targets.map(([ip, number]) => ({
        addresses: [{ ip, ...extra }],
        ports: [{ port: number, ...port }],
      })),
    };
    const known = (await this.client.list(endpoints, { namespace: 'default' })).items;
    if (known.some((one) => one.metadata.name === name))
      await this.client.replace(endpoints, 'default', object);
    else await this.client.create(endpoints, 'default', object);
    const wanted = targets.map(([ip, number]) => seen(ip, number, extra)).sort();
    await until(() =>
      this.directories.every((directory) => isDeepStrictEqual(this.#seenBy(directory, name), wanted)),
    );
    await Promise.all(this.proxies.map((proxy) => proxy.settled()));
  }

  #seenBy(directory: ServiceDirectory, name: string): string[] {
    const slices = directory.slices('default', name);
    return slices
      .flatMap(({ endpoints = [], ports = [] }) =>
        endpoints.flatMap((one) => ports.map(({ port }) => seen(one.addresses![0]!, port!, one))),
      )
      .sort();
  }

  /** Starts a server in this process; resolves with its port. */
  async serve(handler: (socket: Socket) => void, host = ownAddress!): Promise<number> {
    const server = createServer({ allowHalfOpen: true }, (socket) => {
      socket.on('error', () => undefined);
      handler(socket);
    });
    this.#servers.push(server);
    await once(server.listen(0, host), 'listening');
    return (server.address() as AddressInfo).port;
  }

  /** Servers that send their name to every client. */
  named(...names: string[]): Promise<[string, number][]> {
    return Promise.all(
      names.map(
        async (name): Promise<[string, number]> => [
          ownAddress!,
          await this.serve((socket) => socket.end(name)),
        ],
      ),
    );
  }
}

const seen = (ip: string, port: number, { nodeName, targetRef }: Partial<EndpointAddress>): string =>
  [ip, port, nodeName, targetRef?.name].join();

/** Port 443 of the API server's own service cannot be opened without root; tests ignore that error. */
const isForbiddenPort = ({ message }: Error): boolean =>
  /^service default\/kubernetes:.* takes the rights of root$/.test(message);

/** What the server at an address sends, or the error code. */
export function ask(host: string, port: number): Promise<string> {
  return new Promise((resolve) => {
    const socket = connect({ host, port });
    let text = '';
    socket
      .on('data', (data: Buffer) => {
        text += data;
      })
      .on('end', () => resolve(text))
      .on('error', ({ code }: NodeJS.ErrnoException) => resolve(code!));
  });
}

/** Sends a datagram; resolves with the answer. */
export async function askUdp(host: string, port: number, text: string): Promise<string> {
  const socket = createSocket('udp4');
  try {
    socket.send(text, port, host);
    const [answer] = (await once(socket, 'message')) as [Buffer];
    return answer.toString();
  } finally {
    socket.close();
  }
}

export async function until(holds: () => boolean | Promise<boolean>): Promise<void> {
  const endMs = performance.now() + waitMaxMs;
  while (!(await holds())) {
    if (performance.now() > endMs) throw new Error('it did not come to that in time');
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}

export function useServices(range: string, options: StartOptions = {}): TestServices {
  const test = new TestServices(range, options);
  beforeAll(() => test.open());
  afterEach(() => test.clear());
  afterAll(() => test.close());
  return test;
}
