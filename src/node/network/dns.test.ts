import { randomBytes } from 'node:crypto';
import { createSocket } from 'node:dgram';
import { Resolver } from 'node:dns/promises';
import { once } from 'node:events';
import { connect } from 'node:net';
import { describe, expect, it, onTestFinished } from 'vitest';
import type { EndpointSubset, ServicePort, ServiceSpec } from '../../api/generated/types.ts';
import { endpoints, mirrored } from '../../client/endpoints.fixture.ts';
import { services } from '../../client/resources.ts';
import { DnsServer, type DnsServerOptions } from './dns.ts';
import { type DnsQuery, encodeName, encodeReply, parseQuery } from './dns-message.ts';
import { note, pod, problem, serviceRange, useNetwork } from './netns.fixture.ts';
import { resolvConf } from './resolv-conf.ts';
import { hostDoor } from './service-door.ts';
import { until, useServices } from './service-proxy.fixture.ts';

const test = useServices(serviceRange);

/** A name server on loopback, and a client that asks it. */
async function nameServer(
  options: Partial<DnsServerOptions> = {},
): Promise<{ port: number; resolver: Resolver }> {
  const directory = options.directory ?? (await test.directory());
  const onError = (error: Error): void => void test.errors.push(error);
  const server = new DnsServer({ directory, door: hostDoor, onError, upstreams: [], ...options });
  onTestFinished(() => server.close());
  const port = await server.listen('127.0.0.1', 0);
  const resolver = new Resolver({ timeout: 30_000, tries: 1 });
  resolver.setServers([`127.0.0.1:${port}`]);
  return { port, resolver };
}

const service = (
  name: string,
  spec: Partial<ServiceSpec>,
  ports: ServicePort[] = [{ port: 80 }],
): Promise<string> => test.service(name, ports, spec);

async function answering(name: string, subsets: EndpointSubset[]): Promise<void> {
  await test.client.create(endpoints, 'default', {
    ...{ apiVersion: 'v1', kind: 'Endpoints', subsets },
    metadata: { name, namespace: 'default' },
  });
  await until(async () => (await mirrored(test.client, 'default', name)).length > 0);
}

/** An upstream server that knows one name. */
async function world(): Promise<{ address: string; port: number; asked: string[] }> {
  const asked: string[] = [];
  const socket = createSocket('udp4');
  socket.on('message', (message, { address, port }) => {
    const query = parseQuery(message) as DnsQuery;
    const name = query.question.labels;
    asked.push(name.join('.'));
    const known = name.join('.') === 'example.org';
    const answers = known ? [{ type: 'A', name, ttl: 60, address: '192.0.2.80' } as const] : [];
    // An answer with a wrong id must be ignored.
    const forged = encodeReply({ ...query, id: query.id ^ 1 }, { code: 3, own: true }, 512);
    socket.send(forged, port, address);
    socket.send(encodeReply(query, { code: known ? 0 : 3, own: true, answers }, 512), port, address);
  });
  socket.bind(0, '127.0.0.1');
  await once(socket, 'listening');
  onTestFinished(() => void socket.close());
  return { address: '127.0.0.1', port: socket.address().port, asked };
}

describe('the name server', () => {
  it('knows services by their names', async () => {
    // Names are case-insensitive; other record types of an existing name are empty; other names do not exist.
    const ip = await service('web', {});
    const { resolver } = await nameServer();
    expect(await resolver.resolve4('web.default.svc.cluster.local')).toEqual([ip]);
    expect(await resolver.resolve4('WEB.Default.svc.Cluster.local')).toEqual([ip]);
    expect((await resolver.resolve4('web.default.svc.cluster.local', { ttl: true }))[0]!.ttl).toBe(5);
    await expect(resolver.resolve6('web.default.svc.cluster.local')).rejects.toMatchObject({
      code: 'ENODATA',
    });
    await expect(resolver.resolve4('default.svc.cluster.local')).rejects.toMatchObject({ code: 'ENODATA' });
    for (const name of ['no.default.svc', 'web.other.svc', 'a.b.web.default.svc', 'web.default.x', 'x'])
      await expect(resolver.resolve4(`${name}.cluster.local`)).rejects.toMatchObject({ code: 'ENOTFOUND' });
  });

  it('knows who answers for headless services, all and one by one', async () => {
    await service('db', { clusterIP: 'None' }, [{ name: 'sql', port: 5432 }]);
    await answering('db', [
      {
        addresses: [{ ip: '10.1.2.3', hostname: 'db-0' }, { ip: '10.1.2.4' }],
        notReadyAddresses: [{ ip: '10.1.2.5' }],
        ports: [{ name: 'sql', port: 5433 }],
      },
    ]);
    const { resolver } = await nameServer();
    const zone = 'db.default.svc.cluster.local';
    expect((await resolver.resolve4(zone)).sort()).toEqual(['10.1.2.3', '10.1.2.4']);
    expect(await resolver.resolve4(`db-0.${zone}`)).toEqual(['10.1.2.3']);
    expect(await resolver.resolve4(`10-1-2-4.${zone}`)).toEqual(['10.1.2.4']);
    await expect(resolver.resolve4(`10-1-2-5.${zone}`)).rejects.toMatchObject({ code: 'ENOTFOUND' });
    const found = await resolver.resolveSrv(`_sql._tcp.${zone}`);
    expect(found.map(({ name, port }) => `${name}:${port}`).sort()).toEqual([
      `10-1-2-4.${zone}:5433`,
      `db-0.${zone}:5433`,
    ]);
  });

  it('knows ports of services and addresses of pods', async () => {
    await service('api', {}, [
      { name: 'http', port: 80 },
      { name: 'dns', port: 53, protocol: 'UDP' },
    ]);
    const { resolver } = await nameServer();
    const name = 'api.default.svc.cluster.local';
    expect(await resolver.resolveSrv(`_http._tcp.${name}`)).toMatchObject([{ name, port: 80 }]);
    expect(await resolver.resolveSrv(`_dns._udp.${name}`)).toMatchObject([{ name, port: 53 }]);
    expect((await resolver.resolveSrv(name)).map(({ port }) => port).sort()).toEqual([53, 80]);
    await expect(resolver.resolveSrv(`_http._udp.${name}`)).rejects.toMatchObject({ code: 'ENOTFOUND' });
    expect(await resolver.resolve4('10-1-2-3.default.pod.cluster.local')).toEqual(['10.1.2.3']);
    await expect(resolver.resolve4('10-1-2-300.default.pod.cluster.local')).rejects.toMatchObject({
      code: 'ENOTFOUND',
    });
  });

  it('knows the names of addresses: of services, and of endpoints of headless ones', async () => {
    const ip = await service('named', {});
    await service('heads', { clusterIP: 'None' });
    await answering('heads', [
      { addresses: [{ ip: '10.1.9.3', hostname: 'h-0' }, { ip: '10.1.9.4' }], ports: [{ port: 80 }] },
    ]);
    const upstream = await world();
    const { resolver } = await nameServer({ upstreams: [upstream] });
    const end = 'default.svc.cluster.local';
    expect(await resolver.reverse(ip)).toEqual([`named.${end}`]);
    expect(await resolver.reverse('10.1.9.3')).toEqual([`h-0.heads.${end}`]);
    expect(await resolver.reverse('10.1.9.4')).toEqual([`10-1-9-4.heads.${end}`]);
    // Addresses of nobody here are asked for elsewhere; those of services that go are forgotten.
    await expect(resolver.reverse('192.0.2.80')).rejects.toMatchObject({ code: 'ENOTFOUND' });
    expect(upstream.asked).toEqual(['80.2.0.192.in-addr.arpa']);
    await test.client.delete(services, 'default', 'named');
    await expect
      .poll(() => resolver.reverse(ip).catch(({ code }) => code), { timeout: 60_000 })
      .toBe('ENOTFOUND');
  });

  it('answers by connection what is too long for a datagram', async () => {
    // The client repeats a truncated answer's query over TCP by itself.
    await service('many', { clusterIP: 'None' });
    const addresses = Array.from({ length: 150 }, (_, index) => ({ ip: `10.1.3.${index + 1}` }));
    await answering('many', [{ addresses, ports: [{ port: 80 }] }]);
    const { resolver } = await nameServer();
    expect((await resolver.resolve4('many.default.svc.cluster.local')).length).toBe(150);
  });

  it('asks others about other names, and follows names that stand for them', async () => {
    const upstream = await world();
    await service('away', { type: 'ExternalName', externalName: 'example.org.' }, []);
    await service('near', { type: 'ExternalName', externalName: 'far.default.svc.cluster.local' }, []);
    const ip = await service('far', {});
    const { resolver } = await nameServer({ upstreams: [upstream] });
    expect(await resolver.resolve4('example.org')).toEqual(['192.0.2.80']);
    await expect(resolver.resolve4('nowhere.example')).rejects.toMatchObject({ code: 'ENOTFOUND' });
    expect(await resolver.resolve4('away.default.svc.cluster.local')).toEqual(['192.0.2.80']);
    expect(await resolver.resolveCname('away.default.svc.cluster.local')).toEqual(['example.org']);
    expect(await resolver.resolve4('near.default.svc.cluster.local')).toEqual([ip]);
    expect(upstream.asked.filter((name) => name.endsWith('cluster.local'))).toEqual([]);
  });

  it('does not run in circles, nor stumble over names that DNS has no room for', async () => {
    await service('loop', { type: 'ExternalName', externalName: 'loop.default.svc.cluster.local' }, []);
    await service('long', { type: 'ExternalName', externalName: `${'a'.repeat(100)}.example` }, []);
    const { resolver } = await nameServer();
    for (const name of ['loop', 'long'])
      await expect(resolver.resolve4(`${name}.default.svc.cluster.local`)).rejects.toMatchObject({
        code: 'ESERVFAIL',
      });
  });

  it('says that a name does not exist when there is nobody to ask', async () => {
    const { resolver } = await nameServer();
    await expect(resolver.resolve4('example.org')).rejects.toMatchObject({ code: 'ENOTFOUND' });
  });

  it('gives up on others that say nothing', async () => {
    const silent = createSocket('udp4').bind(0, '127.0.0.1');
    await once(silent, 'listening');
    onTestFinished(() => void silent.close());
    const { resolver } = await nameServer({
      upstreams: [{ address: '127.0.0.1', port: silent.address().port }],
    });
    await expect(resolver.resolve4('example.org')).rejects.toMatchObject({ code: 'ESERVFAIL' });
  });

  it('survives nonsense by datagram and by connection', async () => {
    // Afterwards it still answers.
    const ip = await service('still', {});
    const { port, resolver } = await nameServer();
    const socket = createSocket('udp4');
    for (let size = 0; size < 300; size++) socket.send(randomBytes(size), port, '127.0.0.1');
    const good = Buffer.concat([
      Buffer.from('00010100000100000000ffff', 'hex'),
      encodeName(['a']),
      Buffer.from([0, 1, 0, 1]),
    ]);
    socket.send(good, port, '127.0.0.1');
    for (const bytes of [
      Buffer.from([0, 0]),
      Buffer.from([0, 3, 1, 2, 3]),
      randomBytes(70_000),
      Buffer.from([255, 255, 1]),
    ]) {
      const client = connect(port, '127.0.0.1');
      client.on('error', () => undefined).resume();
      client.end(bytes);
      await new Promise((resolve) => client.once('close', resolve));
    }
    expect(await resolver.resolve4('still.default.svc.cluster.local')).toEqual([ip]);
    socket.close();
  });

  it('takes a bounded number of connections', async () => {
    const { port } = await nameServer();
    const clients = Array.from({ length: 80 }, () => connect(port, '127.0.0.1').on('error', () => undefined));
    let closed = 0;
    for (const client of clients) client.once('close', () => closed++).resume();
    await expect.poll(() => closed).toBe(16);
    for (const client of clients) client.destroy();
  });
});

describe('resolv.conf', () => {
  const machine = { nameservers: ['192.0.2.53'], searches: ['example.org'], options: ['edns0'] };
  const of = (spec: Parameters<typeof pod>[0]): string | undefined =>
    resolvConf(pod(spec), '10.217.0.2', machine);

  it('is made as the policy of a pod says', () => {
    const cluster =
      'nameserver 10.217.0.2\nsearch default.svc.cluster.local svc.cluster.local cluster.local example.org\noptions ndots:5\n';
    expect(of({})).toBe(cluster);
    expect(of({ dnsPolicy: 'ClusterFirstWithHostNet', hostNetwork: true })).toBe(cluster);
    expect(of({ hostNetwork: true })).toBeUndefined();
    expect(of({ dnsPolicy: 'Default' })).toBe('nameserver 10.217.0.2\nsearch example.org\noptions edns0\n');
    const dnsConfig = {
      nameservers: ['192.0.2.1'],
      searches: ['a.example', 'bad name'],
      options: [{ name: 'ndots', value: '2' }, { name: 'rotate' }, { name: 'x\nnameserver 1.2.3.4' }],
    };
    expect(of({ dnsPolicy: 'None', dnsConfig })).toBe(
      'nameserver 192.0.2.1\nsearch a.example\noptions ndots:2 rotate\n',
    );
    expect(of({ dnsConfig })).toContain('cluster.local example.org a.example\noptions ndots:2 rotate\n');
  });
});

describe.skipIf(problem !== undefined)(`the name server in a network of namespaces${note}`, () => {
  const networks = useNetwork();

  it('answers pods by the node’s service address', async () => {
    // A pod looks up a service by name and finds where it is.
    const bridge = networks.bridge();
    const attached = await networks.network(bridge).attach(pod());
    const ip = await service('web', {});
    const directory = await test.directory();
    const server = new DnsServer({
      directory,
      door: bridge.sockets,
      onError: (error) => void test.errors.push(error),
    });
    onTestFinished(() => server.close());
    expect(await server.listen(bridge.serviceAddress)).toBe(53);
    const program = `const resolver = new (require('node:dns').promises.Resolver)();
      resolver.setServers(['${bridge.serviceAddress}']);
      resolver.resolve4('web.default.svc.cluster.local').then((found) => console.log(found.join()));`;
    expect(await networks.run(attached, program)).toBe(ip);
  });
});
