/**
 * The doors of this machine as backends of an ingress: a tenant writes a service without a selector and an EndpointSlice
 * that leads to them. The local door would take every request of the ingress for its owner's.
 */
import { createServer, request } from 'node:http';
import type { AddressInfo } from 'node:net';
import { networkInterfaces } from 'node:os';
import { markDoor } from '../../../src/streams/dial/machine-doors.ts';
import { type Attack, codesText } from '../attack.ts';
import type { Answered, AttackedServer } from '../attacked-server.ts';
import { until } from '../pods.ts';

const slices = '/apis/discovery.k8s.io/v1/namespaces/attack/endpointslices';
const services = '/api/v1/namespaces/attack/services';
const ingresses = '/apis/networking.k8s.io/v1/namespaces/attack/ingresses';
/** Marks its own objects: other attacks use the namespace, too. */
const own = { of: 'doors' };
const harmless = 'a backend like any other';
/** What the ingress answers when it cannot, or must not, connect to a backend. */
const refusal = 'cannot be reached';
const isRefused = ({ status, text }: Answered): boolean => status === 503 && text.endsWith(refusal);
const answerMaxMs = 20_000;

/**
 * Addresses of this machine that an EndpointSlice may have: loopback is refused by validation. Those of pod networks that
 * other clusters make come and go.
 */
const addresses = (): string[] =>
  Object.values(networkInterfaces()).flatMap((list) =>
    (list ?? [])
      .filter(({ family, internal }) => family === 'IPv4' && !internal)
      .map(({ address }) => address),
  );

export const attack: Attack = {
  name: 'doors as backends of the ingress',
  options: ['up', '--ingress-port', '0'],
  run: async (server) => {
    const gotIn: string[] = [];
    const codes: number[] = [];
    let tried = 0;
    const doors = [server.url!, server.secureUrl].map((url) => Number(new URL(url).port));
    for (const address of ['127.0.0.1', '127.3.2.1', '0.0.0.0'])
      for (const door of doors) {
        const { status } = await lead(server, `loop-${address}-${door}`.replaceAll('.', '-'), address, door);
        codes.push(status);
        if (status !== 422) gotIn.push(`a slice with ${address}:${door} is answered with ${status}`);
      }
    const backend = createServer((_request, response) => response.end(harmless)).listen(0, '0.0.0.0');
    try {
      const port = await until('the ingress listens', async () => {
        const found = /ingress at http:\/\/[^:]+:(\d+)/.exec(server.said);
        return found ? Number(found[1]) : undefined;
      });
      for (const [index, address] of addresses().entries()) {
        for (const door of doors) await route(server, `door-${index}-${door}`, address, door);
        // Created last: when it answers, the ingress knows the others, too.
        const control = `harmless-${index}`;
        await route(server, control, address, (backend.address() as AddressInfo).port);
        const led = await until('the ingress leads to the machine', async () => {
          if ((await get(port, control)).text === harmless) return 'there';
          return addresses().includes(address) ? undefined : 'gone';
        });
        if (led === 'gone') continue;
        tried++;
        // The same backend is refused as soon as its port is marked as a door.
        const unmark = await markDoor((backend.address() as AddressInfo).port);
        const marked = await get(port, control);
        unmark();
        codes.push(marked.status);
        if (!isRefused(marked))
          gotIn.push(`a door at ${address} by the ingress: ${marked.status} ${marked.text}`);
        for (const door of doors) {
          const got = await get(port, `door-${index}-${door}`);
          codes.push(got.status);
          if (!isRefused(got))
            gotIn.push(`${address}:${door} by the ingress: ${got.status} ${got.text.slice(0, 100)}`);
        }
      }
      if (tried === 0 && addresses().length > 0) throw new Error('no address of the machine was tried');
      return { gotIn, says: codesText(codes) };
    } finally {
      backend.close();
      for (const place of [ingresses, services, slices])
        await server.remove(`${place}?labelSelector=of%3Ddoors`);
    }
  },
};

/** Makes a service without a selector, and a slice that says where it leads; returns the answer to the slice. */
async function lead(server: AttackedServer, name: string, address: string, port: number): Promise<Answered> {
  const post = (path: string, body: object) => server.ask('tenant', path, { method: 'POST', body });
  await post(services, { metadata: { name, labels: own }, spec: { ports: [{ port: 80 }] } });
  return post(slices, {
    metadata: { name, labels: { ...own, 'kubernetes.io/service-name': name } },
    addressType: 'IPv4',
    endpoints: [{ addresses: [address], conditions: { ready: true } }],
    ports: [{ name: '', port }],
  });
}

/** Makes an ingress whose host `name` leads to a port of this machine. */
async function route(server: AttackedServer, name: string, address: string, port: number): Promise<void> {
  const { status, text } = await lead(server, name, address, port);
  if (status >= 300 || status === 0) throw new Error(`the slice ${name} is answered with ${status} ${text}`);
  const backend = { service: { name, port: { number: 80 } } };
  const paths = [{ path: '/', pathType: 'Prefix', backend }];
  await server.create(ingresses, {
    metadata: { name, labels: own },
    spec: { rules: [{ host: name, http: { paths } }] },
  });
}

/** Asks the ingress for the secrets of the server behind a host. */
function get(port: number, host: string): Promise<Answered> {
  return new Promise((resolve) => {
    const options = {
      port,
      host: '127.0.0.1',
      path: '/api/v1/secrets',
      headers: { host },
      timeout: answerMaxMs,
    };
    const sent = request(options, (response) => {
      let text = '';
      response.setEncoding('utf8').on('data', (part: string) => {
        text += part;
      });
      response.on('error', () => undefined);
      response.on('close', () => resolve({ status: response.statusCode!, text }));
    });
    sent.on('timeout', () => sent.destroy(new Error('no answer')));
    sent.on('error', (error) => resolve({ status: 0, text: error.message }));
    sent.end();
  });
}
