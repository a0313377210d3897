// Proves that what servers on one etcd share is exact: quotas, service addresses, node ports, endpoints, keys.
import { afterAll, beforeAll, expect, it } from 'vitest';
import { describeWith } from '../../test/tools.ts';
import { TestEtcd } from '../store/etcd/etcdserver.case.ts';
import { start } from './start.ts';
import type { Cluster } from './startoptions.ts';

const waitMs = 60_000;

describeWith('etcd-server')('three servers on an etcd of three members', () => {
  let etcd: TestEtcd;
  let servers: Cluster[] = [];
  beforeAll(async () => {
    etcd = await TestEtcd.start({ members: 3 });
    servers = [];
    for (let i = 0; i < 3; i++)
      servers.push(
        await start({
          store: 'etcd',
          etcd: { servers: [...etcd.urls.slice(i), ...etcd.urls.slice(0, i)] },
          controllers: ['housekeeping', 'resourcequota'],
          serviceClusterIPRange: '10.7.0.0/28',
          serviceNodePortRange: '31000-31004',
        }),
      );
  }, 60_000);
  afterAll(async () => {
    await Promise.all(servers.map((server) => server.close()));
    await etcd.close();
  }, 60_000);

  const url = (i: number): string => servers[i % servers.length]!.url;
  const send = async (method: string, address: string, body?: object): Promise<[number, any]> => {
    const response = await fetch(address, { method, ...(body ? { body: JSON.stringify(body) } : {}) });
    return [response.status, await response.json()];
  };
  const createAll = (count: number, path: string, make: (i: number) => object): Promise<[number, any][]> =>
    Promise.all(Array.from({ length: count }, (_, i) => send('POST', `${url(i)}${path}`, make(i))));

  it('hold a quota of 100 exactly against 200 creates at once', { timeout: 2 * waitMs }, async () => {
    const quotas = '/api/v1/namespaces/default/resourcequotas';
    await send('POST', `${url(0)}${quotas}`, {
      metadata: { name: 'q' },
      spec: { hard: { configmaps: '100' } },
    });
    const used = async (): Promise<string> =>
      (await send('GET', `${url(1)}${quotas}/q`))[1].status?.used?.configmaps;
    await expect.poll(used, { timeout: waitMs }).toBe('0');
    const maps = '/api/v1/namespaces/default/configmaps';
    const answers = await createAll(200, maps, (i) => ({ metadata: { name: `m-${i}` } }));
    const codes = answers.map(([code]) => code);
    expect(codes.filter((code) => code === 200).length).toBe(100);
    expect(codes.filter((code) => code === 403).length).toBe(100);
    expect((await send('GET', `${url(2)}${maps}`))[1].items.length).toBe(100);
    expect(await used()).toBe('100');
    // What is deleted can be created again, through another server.
    expect(
      (
        await send('DELETE', `${url(0)}${maps}/${answers.find(([code]) => code === 200)![1].metadata.name}`)
      )[0],
    ).toBe(200);
    await expect.poll(used, { timeout: waitMs }).toBe('99');
    expect(
      (await createAll(6, maps, (i) => ({ metadata: { name: `again-${i}` } }))).map(([code]) => code).sort(),
    ).toEqual([200, 403, 403, 403, 403, 403]);
  });

  it('never give an address or a port to two services', { timeout: 2 * waitMs }, async () => {
    const services = '/api/v1/namespaces/default/services';
    const made = await createAll(40, services, (i) => ({
      metadata: { name: `s-${i}` },
      spec: { ports: [{ port: 80 }], ...(i % 4 ? {} : { type: 'NodePort' }) },
    }));
    const { items } = (await send('GET', `${url(0)}${services}`))[1];
    const addresses = items.map(({ spec }: any) => spec.clusterIP);
    // 16 addresses without those of the network, of its end, and of the service kubernetes, which is in the list.
    expect(new Set(addresses).size).toBe(14);
    expect(addresses.length).toBe(14);
    expect(made.filter(([code]) => code === 200).length).toBe(13);
    const ports = items.flatMap(({ spec }: any) => spec.ports.flatMap((port: any) => port.nodePort ?? []));
    expect(new Set(ports).size).toBe(ports.length);
    expect(ports.length).toBeLessThanOrEqual(5);
    // An update takes a port under the same lock.
    const plain = items.filter(
      ({ spec, metadata }: any) => spec.type === 'ClusterIP' && metadata.name !== 'kubernetes',
    );
    const updates: [number, any][] = await Promise.all(
      plain.map((service: any, i: number) =>
        send('PUT', `${url(i)}${services}/${service.metadata.name}`, {
          ...service,
          spec: { ...service.spec, type: 'NodePort' },
        }),
      ),
    );
    expect(updates.filter(([code]) => code === 200).length).toBe(5 - ports.length);
    const after = (await send('GET', `${url(1)}${services}`))[1].items;
    const all = after.flatMap(({ spec }: any) => spec.ports.flatMap((port: any) => port.nodePort ?? []));
    expect(all.sort()).toEqual([31000, 31001, 31002, 31003, 31004]);
  });
});
