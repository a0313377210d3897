/** Proves that the name server does little for a query, whatever users write, and waits for who does not read. */
import { createSocket } from 'node:dgram';
import { Resolver } from 'node:dns/promises';
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { expect, it, onTestFinished } from 'vitest';
import type { EndpointSlice, Service } from '../../api/generated/types.ts';
import type { ServiceDirectory } from '../../client/service-directory.ts';
import { DnsServer } from './dns.ts';
import { encodeName, recordTypes } from './dns-message.ts';
import { lookUp } from './dns-records.ts';
import { ServiceAddresses } from './service-addresses.ts';
import { hostDoor } from './service-door.ts';

const name = 'large.default.svc.cluster.local';
const labels = name.split('.');
const spec = { large: { clusterIP: 'None' }, away: { type: 'ExternalName', externalName: 'example.org' } };

/** One service with ten thousand endpoints, and one with a name elsewhere. */
function directoryOf(): { directory: ServiceDirectory; looks: number; reads: number } {
  const seen = { looks: 0, reads: 0 };
  const endpoint = (slice: number, i: number) => ({
    get addresses() {
      seen.reads++;
      return [`10.${slice}.${i >> 8}.${i & 255}`];
    },
  });
  const slices = Array.from({ length: 10 }, (_, slice) => ({
    addressType: 'IPv4',
    endpoints: Array.from({ length: 1_000 }, (_, i) => endpoint(slice, i)),
    ports: Array.from({ length: 100 }, (_, port) => ({ name: `p${port}`, port, protocol: 'TCP' })),
  })) as unknown as EndpointSlice[];
  const service = (namespace: string, name: 'large' | 'away'): Service => {
    seen.looks++;
    return { metadata: { namespace, name }, spec: spec[name] };
  };
  const directory = {
    ...{ service, slices: () => slices, onChange: () => undefined },
    services: () => [service('default', 'large')],
  };
  return Object.assign(seen, { directory: directory as unknown as ServiceDirectory });
}

async function served(directory: ServiceDirectory, upstream = 9): Promise<number> {
  const upstreams = [{ address: '127.0.0.1', port: upstream }];
  const onError = (error: Error): never => {
    throw error;
  };
  const server = new DnsServer({ directory, door: hostDoor, upstreams, onError });
  onTestFinished(() => server.close());
  return server.listen('127.0.0.1', 0);
}

const query = (name: string, type: number = recordTypes.A): Buffer =>
  Buffer.concat([
    Buffer.from('000101000001000000000000', 'hex'),
    encodeName(name.split('.')),
    Buffer.from([0, type, 0, 1]),
  ]);

it.each([
  ['all addresses', labels, recordTypes.A, 200],
  ['all ports', labels, recordTypes.SRV, 200],
  ['one port', ['_p7', '_tcp', ...labels], recordTypes.SRV, 200],
  ['one host', ['10-9-3-1', ...labels], recordTypes.A, 1],
  ['the name of an address', '1.3.9.10.in-addr.arpa'.split('.'), recordTypes.PTR, 1],
])('looks at each endpoint of a service a few times at most: %s', (_, labels, type, count) => {
  const seen = directoryOf();
  const addresses = new ServiceAddresses(seen.directory);
  const found = lookUp({ labels, type }, seen.directory, addresses);
  expect(found).toMatchObject({ code: 0, answers: { length: count } });
  expect(seen.reads).toBeLessThanOrEqual(20_000);
});

it('has the addresses of the hosts behind ports', () => {
  const { directory } = directoryOf();
  const found = lookUp({ labels: ['_p7', '_tcp', ...labels], type: recordTypes.SRV }, directory, {} as never);
  const { answers = [], additionals = [] } = found as { answers?: object[]; additionals?: object[] };
  expect(answers[199]).toMatchObject({ port: 7, target: ['10-0-0-199', ...labels] });
  expect(additionals).toHaveLength(200);
  expect(additionals[199]).toMatchObject({ name: ['10-0-0-199', ...labels], address: '10.0.0.199' });
});

it('answers no further queries of a connection whose client does not read', async () => {
  const seen = directoryOf();
  const client = connect(await served(seen.directory), '127.0.0.1').pause();
  const one = query(name);
  // Each takes 45 bytes, and its answer 3 kB.
  const count = 10_000;
  client.write(
    Buffer.concat(Array.from({ length: count }, () => [Buffer.from([0, one.length]), one]).flat()),
  );
  await expect.poll(() => seen.looks).toBeGreaterThan(10);
  for (let before = -1; before !== seen.looks; ) {
    before = seen.looks;
    for (let i = 0; i < 200; i++) await new Promise((resolve) => setImmediate(resolve));
  }
  const answered = seen.looks;
  expect(answered).toBeLessThan(count);
  client.resume().on('data', () => undefined);
  await expect.poll(() => seen.looks).toBeGreaterThan(answered);
  client.destroy();
});

it('answers for the cluster while names elsewhere are waited for', async () => {
  const silent = createSocket('udp4').bind(0, '127.0.0.1');
  await once(silent, 'listening');
  onTestFinished(() => void silent.close());
  const seen = directoryOf();
  const port = await served(seen.directory, silent.address().port);
  const client = createSocket('udp4');
  onTestFinished(() => void client.close());
  for (let i = 0; i < 60; i++) {
    const before = seen.looks;
    for (let j = 0; j < 10; j++) client.send(query('away.default.svc.cluster.local'), port, '127.0.0.1');
    if (i < 50) await expect.poll(() => seen.looks).toBe(before + 10);
  }
  const resolver = new Resolver({ timeout: 500, tries: 1 });
  resolver.setServers([`127.0.0.1:${port}`]);
  expect(await resolver.resolve4(`10-9-3-1.${name}`)).toEqual(['10.9.3.1']);
});

it('a client with very many connections does not keep others from theirs', async () => {
  const port = await served(directoryOf().directory);
  const open = (localAddress: string): Socket => {
    const socket = connect({ port, host: '127.0.0.1', localAddress }).on('error', () => undefined);
    onTestFinished(() => void socket.destroy());
    return socket;
  };
  const many = Array.from({ length: 70 }, () => open('127.0.0.2'));
  const closed = () => many.flatMap((socket, i) => (socket.closed ? [i] : []));
  await expect.poll(closed).toEqual([0, 1, 2, 3, 4, 5]);
  const one = query(`10-9-3-1.${name}`);
  const other = open('127.0.0.3');
  other.write(Buffer.concat([Buffer.from([0, one.length]), one]));
  const [answer] = await once(other, 'data');
  expect(answer.subarray(-4)).toEqual(Buffer.of(10, 9, 3, 1));
  await expect.poll(closed).toEqual([0, 1, 2, 3, 4, 5, 6]);
});
