// Proves that what servers on one etcd share is exact: quotas, service addresses, node ports, endpoints, keys.
import https from 'node:https';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { parse } from 'yaml';
import { describeWith } from '../../../test/support/tools.ts';
import { TestEtcd } from '../../store/etcd/etcd-server.fixture.ts';
import type { Cluster } from '../cluster.ts';
import { start } from '../start.ts';

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
          controllerSettings: { eventLifeMs: 2000 },
          secure: true,
          serviceClusterIPRange: '10.7.0.0/28',
          serviceNodePortRange: '31000-31004',
        }),
      );
  });
  afterAll(async () => {
    await Promise.all(servers.map((server) => server.close()));
    await etcd.close();
  });

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
      spec: { hard: { secrets: '100' } },
    });
    const used = async (): Promise<string> =>
      (await send('GET', `${url(1)}${quotas}/q`))[1].status?.used?.secrets;
    await expect.poll(used, { timeout: waitMs }).toBe('0');
    const secrets = '/api/v1/namespaces/default/secrets';
    const answers = await createAll(200, secrets, (i) => ({ metadata: { name: `m-${i}` } }));
    const codes = answers.map(([code]) => code);
    expect(codes.filter((code) => code === 200).length).toBe(100);
    expect(codes.filter((code) => code === 403).length).toBe(100);
    expect((await send('GET', `${url(2)}${secrets}`))[1].items.length).toBe(100);
    expect(await used()).toBe('100');
    // What is deleted can be created again, through another server.
    expect(
      (
        await send(
          'DELETE',
          `${url(0)}${secrets}/${answers.find(([code]) => code === 200)![1].metadata.name}`,
        )
      )[0],
    ).toBe(200);
    await expect.poll(used, { timeout: waitMs }).toBe('99');
    expect(
      (await createAll(6, secrets, (i) => ({ metadata: { name: `again-${i}` } })))
        .map(([code]) => code)
        .sort(),
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

  it('trust the same authority and the same tokens', async () => {
    const authorities = servers.map(
      ({ kubeconfigFor }) =>
        (parse(kubeconfigFor('wherry-admin')) as any).clusters[0].cluster['certificate-authority-data'],
    );
    expect(new Set(authorities).size).toBe(1);
    const [code, { status }] = await send(
      'POST',
      `${url(0)}/api/v1/namespaces/default/serviceaccounts/default/token`,
      {},
    );
    expect(code).toBeLessThan(300);
    const ca = Buffer.from(authorities[0], 'base64').toString();
    const asked = await new Promise<number | undefined>((resolve, reject) => {
      const headers = { authorization: `Bearer ${status.token}` };
      https
        .get(`${servers[1]!.secureUrl}/api`, { ca, headers }, (response) => {
          response.resume();
          resolve(response.statusCode);
        })
        .on('error', reject);
    });
    expect(asked).toBe(200);
  });

  it('let events expire, and tell watchers', { timeout: 2 * waitMs }, async () => {
    const events = '/api/v1/namespaces/default/events';
    const old = (await send('GET', `${url(0)}${events}`))[1].metadata.resourceVersion;
    const involvedObject = { kind: 'Pod', namespace: 'default', name: 'p' };
    const made = await createAll(6, events, (i) => ({
      metadata: { name: `e-${i}` },
      involvedObject,
      reason: 'Test',
    }));
    expect(made.map(([code]) => code)).toEqual(Array(6).fill(200));
    const watching = await fetch(`${url(1)}${events}?watch=true&resourceVersion=${old}`);
    const deleted = new Set<string>();
    let text = '';
    for await (const chunk of watching.body!) {
      text += Buffer.from(chunk).toString();
      const lines = text.split('\n');
      text = lines.pop()!;
      for (const line of lines) {
        const { type, object } = JSON.parse(line);
        if (type === 'DELETED') deleted.add(object.metadata.name);
      }
      if (made.every(([, event]) => deleted.has(event.metadata.name))) break;
    }
    expect(
      (await send('GET', `${url(2)}${events}`))[1].items.filter(({ reason }: any) => reason === 'Test'),
    ).toEqual([]);
  });

  it('are all in the endpoints of the service kubernetes, until they go', {
    timeout: 2 * waitMs,
  }, async () => {
    const ports = async (): Promise<number[]> => {
      const [, { subsets }] = await send('GET', `${url(0)}/api/v1/namespaces/default/endpoints/kubernetes`);
      return subsets.map((subset: any) => subset.ports[0].port);
    };
    const expected = (): number[] => servers.map(({ secureUrl }) => Number(new URL(secureUrl!).port)).sort();
    await expect.poll(async () => (await ports()).sort(), { timeout: waitMs }).toEqual(expected());
    await servers.pop()!.close();
    await expect.poll(async () => (await ports()).sort(), { timeout: waitMs }).toEqual(expected());
  });
});
