/** Services over HTTP: addresses and node ports under load, with changes of type, and across restarts. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { describe, expect, test } from 'vitest';
import { StartError, start } from '../../src/cluster/index.ts';
import { Client, type Json, mergePatch, type Reply, useCluster } from '../support/http.ts';
import { isRelease } from '../support/tier.ts';

const root = '/api/v1/namespaces/default/services';
const ports = [{ port: 80 }];
const body = (name: string, spec: object = {}): object => ({ metadata: { name }, spec: { ports, ...spec } });

/** Sends all at once; resolves with the answers in order. */
const createMany = (api: Client, count: number, spec: object = {}): Promise<Reply[]> =>
  Promise.all(Array.from({ length: count }, (_, i) => api.post(root, body(`s${i}`, spec))));

const given = (replies: readonly Reply[]): Json[] =>
  replies.filter((reply) => reply.status === 200).map((reply) => reply.body.spec);

const removeAll = async (api: Client, replies: readonly Reply[]): Promise<void> => {
  const names = replies.filter((reply) => reply.status === 200).map((reply) => reply.body.metadata.name);
  const deleted = await Promise.all(names.map((name) => api.delete(`${root}/${name}`)));
  expect(deleted.every((reply) => reply.status === 200)).toBe(true);
};

describe('addresses under load', () => {
  const api = useCluster({ serviceClusterIPRange: isRelease ? '10.0.0.0/24' : '10.0.0.0/26' });
  /** All addresses but one, which belongs to the kubernetes service; and fewer, that are asked for at once. */
  const [size, many] = isRelease ? [253, 200] : [61, 50];
  const free = Array.from({ length: size }, (_, i) => `10.0.0.${i + 2}`).sort();

  test('many at once get an address each, more get what is left, and nothing leaks', async () => {
    for (let round = 0; round < 2; round++) {
      const first = await createMany(api, many);
      expect(first.map((reply) => reply.status)).toEqual(Array(many).fill(200));
      const more = await Promise.all(
        Array.from({ length: many / 2 }, (_, i) => api.post(root, body(`t${i}`))),
      );
      const all = [...first, ...more];
      expect(
        given(all)
          .map((spec) => spec.clusterIP)
          .sort(),
      ).toEqual(free);
      const refused = more.filter((reply) => reply.status !== 200);
      expect(refused).toHaveLength(many * 1.5 - size);
      for (const { body: status } of refused) {
        expect(status.message).toMatch(
          /^Internal error occurred: failed to allocate a serviceIP for Service "t\d+": range is full$/,
        );
        expect([status.code, status.reason]).toEqual([500, 'InternalError']);
      }
      await removeAll(api, all);
    }
  });

  test('many at once that ask for one address: one gets it', async () => {
    const replies = await createMany(api, many, { clusterIP: '10.0.0.57' });
    expect(given(replies)).toHaveLength(1);
    const { status, body: refused } = replies.find((reply) => reply.status !== 200)!;
    expect(status).toBe(422);
    expect(refused.message).toMatch(
      /^Service "s\d+" is invalid: spec\.clusterIPs: Invalid value: \["10\.0\.0\.57"\]: failed to allocate IP 10\.0\.0\.57: provided IP is already allocated$/,
    );
    await removeAll(api, replies);
  });

  test('creates that fail for another reason leak nothing', async () => {
    const replies = await createMany(api, size + 20, { sessionAffinity: 'Foo' });
    expect(replies.every((reply) => reply.status === 422)).toBe(true);
    const same = await Promise.all(Array.from({ length: size + 20 }, () => api.post(root, body('same'))));
    expect(given(same)).toHaveLength(1);
    const full = await createMany(api, size + 7);
    expect(given(full)).toHaveLength(size - 1);
    await removeAll(api, [...same, ...full]);
  });

  test('deleting the collection gives everything back', async () => {
    await createMany(api, size);
    expect((await api.post(root, body('full'))).status).toBe(500);
    expect((await api.delete(`${root}?fieldSelector=metadata.name!=kubernetes`)).status).toBe(200);
    const again = await createMany(api, size);
    expect(given(again)).toHaveLength(size);
    await removeAll(api, again);
  });
});

describe('node ports under load', () => {
  const api = useCluster({ serviceClusterIPRange: '10.0.0.0/22', serviceNodePortRange: '31000-31039' });
  const free = Array.from({ length: 40 }, (_, i) => 31_000 + i);

  test('exactly the free ports are given, and come back with their services', async () => {
    for (let round = 0; round < 2; round++) {
      const replies = await createMany(api, 200, { type: 'NodePort' });
      expect(
        given(replies)
          .map((spec) => spec.ports[0].nodePort)
          .sort(),
      ).toEqual(free);
      const refused = replies.find((reply) => reply.status !== 200)!;
      expect([refused.status, refused.body.message]).toEqual([
        500,
        'Internal error occurred: failed to allocate a nodePort: range is full',
      ]);
      await removeAll(api, replies);
    }
  });

  test('changes of type at once share the ports that there are', async () => {
    const made = await createMany(api, 60);
    const changed = await Promise.all(
      made.map((_, i) => api.patch(`${root}/s${i}`, { spec: { type: 'NodePort' } })),
    );
    expect(
      given(changed)
        .map((spec) => spec.ports[0].nodePort)
        .sort(),
    ).toEqual(free);
    const back = await Promise.all(
      made.map((_, i) => api.patch(`${root}/s${i}`, { spec: { type: 'ClusterIP' } })),
    );
    expect(given(back).every((spec) => spec.ports[0].nodePort === undefined)).toBe(true);
    const again = await api.patch(`${root}/s0`, {
      spec: { type: 'NodePort', ports: [{ port: 80, nodePort: 31_000 }] },
    });
    expect(again.body.spec.ports[0].nodePort).toBe(31_000);
    await removeAll(api, made);
  });
});

describe('one service', () => {
  const api = useCluster();
  const make = async (name: string, spec: object = {}): Promise<Json> =>
    (await api.post(root, body(name, spec))).body.spec;

  test('headless, with and without a selector', async () => {
    expect(await make('h1', { clusterIP: 'None', selector: { a: 'b' } })).toMatchObject({
      clusterIP: 'None',
      clusterIPs: ['None'],
      ipFamilies: ['IPv4'],
      ipFamilyPolicy: 'SingleStack',
    });
    expect(await make('h2', { clusterIP: 'None' })).toMatchObject({
      clusterIPs: ['None'],
      ipFamilies: ['IPv4', 'IPv6'],
      ipFamilyPolicy: 'RequireDualStack',
    });
  });

  test.each([
    [
      { clusterIP: '10.0.0.1' },
      'spec.clusterIPs: Invalid value: ["10.0.0.1"]: failed to allocate IP 10.0.0.1: provided IP is already allocated',
    ],
    [
      { clusterIP: '11.0.0.1' },
      'spec.clusterIPs: Invalid value: ["11.0.0.1"]: failed to allocate IP 11.0.0.1: the provided network does not match the current range',
    ],
    [
      { type: 'NodePort', ports: [{ port: 80, nodePort: 80 }] },
      'spec.ports[0].nodePort: Invalid value: 80: provided port is not in the valid range. The range of valid ports is 30000-32767',
    ],
    [
      { ipFamilyPolicy: 'RequireDualStack' },
      'spec.ipFamilyPolicy: Invalid value: "RequireDualStack": this cluster is not configured for dual-stack services',
    ],
    [{ ipFamilies: ['IPv6'] }, 'spec.ipFamilies[0]: Invalid value: "IPv6": not configured on this cluster'],
  ])('%j is refused', async (spec, error) => {
    const { status, body: refused } = await api.post(root, body('bad', spec));
    expect([status, refused.message]).toEqual([422, `Service "bad" is invalid: ${error}`]);
  });

  test('a dry run shows what it would get and takes nothing', async () => {
    const dry = await api.post(
      `${root}?dryRun=All`,
      body('dry', { clusterIP: '10.0.0.99', type: 'NodePort' }),
    );
    expect(dry.body.spec.ports[0].nodePort).toBeGreaterThanOrEqual(30_000);
    expect((await api.get(`${root}/dry`)).status).toBe(404);
    expect((await make('wet', { clusterIP: '10.0.0.99' })).clusterIP).toBe('10.0.0.99');
  });

  test('a PUT without what was given keeps it, and a PUT of nothing creates', async () => {
    const url = `${root}/put`;
    const created = await api.put(url, body('put', { type: 'NodePort' }));
    const { clusterIP, ports: before } = created.body.spec;
    const replaced = await api.put(url, body('put', { type: 'NodePort', selector: { a: 'b' } }));
    expect(replaced.body.spec).toMatchObject({ clusterIP, clusterIPs: [clusterIP], ports: before });
    const same = await api.put(url, body('put', { type: 'NodePort', selector: { a: 'b' } }));
    expect(same.body.metadata.resourceVersion).toBe(replaced.body.metadata.resourceVersion);
    const moved = await api.put(url, body('put', { clusterIP: '10.0.0.200' }));
    expect(moved.body.message).toContain(
      'spec.clusterIPs[0]: Invalid value: ["10.0.0.200"]: may not change once set',
    );
  });

  test('through all types', async () => {
    const { clusterIP } = await make('types');
    const to = async (spec: object): Promise<Json> =>
      (await api.patch(`${root}/types`, { spec }, mergePatch)).body.spec;
    const node = await to({ type: 'NodePort' });
    expect(node).toMatchObject({ clusterIP, externalTrafficPolicy: 'Cluster' });
    const balancer = await to({ type: 'LoadBalancer', externalTrafficPolicy: 'Local' });
    expect(balancer.ports).toEqual(node.ports);
    expect(balancer.healthCheckNodePort).toBeGreaterThanOrEqual(30_000);
    await api.patch(`${root}/types/status`, { status: { loadBalancer: { ingress: [{ ip: '1.2.3.4' }] } } });
    const status = async (): Promise<Json> => (await api.get(`${root}/types`)).body.status;
    expect(await status()).toEqual({ loadBalancer: { ingress: [{ ip: '1.2.3.4', ipMode: 'VIP' }] } });
    expect(await to({ type: 'ExternalName', externalName: 'example.com' })).toEqual({
      ports: [{ protocol: 'TCP', port: 80, targetPort: 80 }],
      type: 'ExternalName',
      sessionAffinity: 'None',
      externalName: 'example.com',
    });
    expect(await status()).toEqual({ loadBalancer: {} });
    // Its former address and port are free for others, and it gets a new address.
    expect((await make('heir', { clusterIP, type: 'NodePort', ports: node.ports })).clusterIP).toBe(
      clusterIP,
    );
    const last = await to({ type: 'ClusterIP', externalName: null });
    expect(last).toMatchObject({ ipFamilies: ['IPv4'], internalTrafficPolicy: 'Cluster' });
    expect(last.clusterIP).not.toBe(clusterIP);
  });

  test('external addresses are accepted with a warning', async () => {
    const reply = await api.post(root, body('ext', { externalIPs: ['1.2.3.4'] }));
    expect(reply.warnings).toEqual([
      '"spec.externalIPs is deprecated and may no longer be implemented in some clusters"',
    ]);
  });

  test('its endpoints go with it, and it is the answer', async () => {
    await make('gone');
    const endpoints = '/api/v1/namespaces/default/endpoints';
    await api.post(endpoints, { metadata: { name: 'gone' } });
    expect((await api.delete(`${root}/gone`)).body).toMatchObject({
      kind: 'Service',
      metadata: { name: 'gone' },
    });
    expect((await api.get(`${endpoints}/gone`)).status).toBe(404);
  });

  test('in a table', async () => {
    const { clusterIP } = await make('table', { selector: { a: 'b' } });
    const { body: table } = await api.get(`${root}/table`, {
      Accept: 'application/json;as=Table;v=v1;g=meta.k8s.io',
    });
    const [name, type, ip, external, shown, , selector] = table.rows[0].cells;
    expect([name, type, ip, external, shown, selector]).toEqual([
      'table',
      'ClusterIP',
      clusterIP,
      '<none>',
      '80/TCP',
      'a=b',
    ]);
  });
});

describe('the kubernetes service', () => {
  const api = useCluster();

  test('stands for the server, and comes back with its endpoints', async () => {
    const port = Number(new URL(api.url).port);
    const service = (await api.get(`${root}/kubernetes`)).body;
    expect(service.spec).toMatchObject({ clusterIP: '10.0.0.1', ports: [{ port: 443, targetPort: port }] });
    const endpoints = '/api/v1/namespaces/default/endpoints';
    const { metadata } = (await api.get(endpoints)).body;
    const services = await api.watch(
      `${root}?watch=true&resourceVersion=${service.metadata.resourceVersion}`,
    );
    const addresses = await api.watch(`${endpoints}?watch=true&resourceVersion=${metadata.resourceVersion}`);
    try {
      await api.delete(`${root}/kubernetes`);
      const back = await services.until((event) => event.type === 'ADDED');
      expect(back.object.spec).toEqual(service.spec);
      const { object } = await addresses.until((event) => event.type === 'ADDED');
      expect(object.subsets).toEqual([
        { addresses: [{ ip: '127.0.0.1' }], ports: [{ name: 'https', port, protocol: 'TCP' }] },
      ]);
    } finally {
      services.close();
      addresses.close();
    }
  });
});

test('after a restart exactly the stored services hold their addresses', async () => {
  const dataDir = mkdtempSync(path.join(tmpdir(), 'wherry-services-'));
  const options = { dataDir, serviceClusterIPRange: '10.0.0.0/28', serviceNodePortRange: '30000-30009' };
  try {
    const before = await start(options);
    const made = await createMany(new Client(before.url), 20, { type: 'NodePort' });
    expect(given(made)).toHaveLength(10);
    const [kept] = made.filter((reply) => reply.status === 200);
    await removeAll(
      new Client(before.url),
      made.filter((reply) => reply !== kept),
    );
    await before.close();

    const after = await start(options);
    try {
      const api = new Client(after.url);
      const { clusterIP, ports: held } = kept!.body.spec;
      expect((await api.get(`${root}/${kept!.body.metadata.name}`)).body.spec.clusterIP).toBe(clusterIP);
      expect((await api.post(root, body('x', { clusterIP }))).body.message).toContain('already allocated');
      expect((await api.post(root, body('x', { type: 'NodePort', ports: held }))).body.message).toContain(
        'provided port is already allocated',
      );
      const more = await Promise.all(Array.from({ length: 20 }, (_, i) => api.post(root, body(`n${i}`))));
      const addresses = given(more).map((spec) => spec.clusterIP);
      expect(addresses).toHaveLength(12);
      expect(new Set([...addresses, clusterIP, '10.0.0.1']).size).toBe(14);
    } finally {
      await after.close();
    }
  } finally {
    rmSync(dataDir, { recursive: true, force: true });
  }
});

test('ranges that cannot be are refused at start', async () => {
  for (const serviceClusterIPRange of ['x', '10.0.0.1/24', '10.0.0.0/31', '2001:db8::/63'])
    await expect(start({ store: 'memory', serviceClusterIPRange })).rejects.toThrow(StartError);
  for (const serviceNodePortRange of ['x', '30000', '9-8', '1-70000'])
    await expect(start({ store: 'memory', serviceNodePortRange })).rejects.toThrow(StartError);
});
