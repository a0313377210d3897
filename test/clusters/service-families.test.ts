/** Services of a cluster with addresses of both families, as the Kubernetes documentation on dual-stack describes them. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Service, ServiceSpec } from '../../src/api/generated/types.ts';
import { type Cluster, start } from '../../src/cluster/index.ts';
import { Client, type Json } from '../support/http.ts';

const both = '10.0.0.0/28,fd00::/108';
const services = '/api/v1/namespaces/default/services';
const ranges = '/apis/networking.k8s.io/v1/servicecidrs/kubernetes';
const addresses = '/apis/networking.k8s.io/v1/ipaddresses';
const ipv4 = expect.stringMatching(/^10\.0\.0\.\d+$/);
const ipv6 = expect.stringMatching(/^fd00::[0-9a-f:]+$/);

let cluster: Cluster;

const api = new Client(() => cluster.url);

const create = (name: string, spec: ServiceSpec) =>
  api.post(services, { metadata: { name }, spec: { ports: [{ port: 80 }], ...spec } });

async function made(name: string, spec: ServiceSpec = {}): Promise<ServiceSpec> {
  const { status, body } = await create(name, spec);
  expect(body).toMatchObject({ kind: 'Service' });
  expect(status).toBe(200);
  return (body as Service).spec!;
}

const change = (name: string, spec: object) => api.patch(`${services}/${name}`, { spec });

/** Addresses that have an object for this service. */
async function held(name: string): Promise<string[]> {
  const { items } = (await api.get(addresses)).body;
  return items
    .filter((item: Json) => item.spec.parentRef.name === name)
    .map((item: Json) => item.metadata.name)
    .sort();
}

describe('in a cluster with both families', () => {
  beforeAll(async () => {
    cluster = await start({ store: 'memory', serviceClusterIPRange: both });
  });
  afterAll(() => cluster.close());

  it('the cluster itself has an address of the first', async () => {
    expect((await api.get(`${services}/kubernetes`)).body.spec).toMatchObject({
      clusterIP: '10.0.0.1',
      clusterIPs: ['10.0.0.1'],
      ipFamilies: ['IPv4'],
      ipFamilyPolicy: 'SingleStack',
    });
    expect((await api.get(ranges)).body.spec.cidrs).toEqual(both.split(','));
  });

  const cases: [string, ServiceSpec, Partial<Record<keyof ServiceSpec, unknown>>][] = [
    ['nothing', {}, { clusterIPs: [ipv4], ipFamilies: ['IPv4'], ipFamilyPolicy: 'SingleStack' }],
    ['the other family', { ipFamilies: ['IPv6'] }, { clusterIPs: [ipv6], ipFamilyPolicy: 'SingleStack' }],
    [
      'both if there are',
      { ipFamilyPolicy: 'PreferDualStack' },
      { clusterIPs: [ipv4, ipv6], ipFamilies: ['IPv4', 'IPv6'] },
    ],
    ['both', { ipFamilyPolicy: 'RequireDualStack' }, { clusterIPs: [ipv4, ipv6] }],
    [
      'both, in another order',
      { ipFamilyPolicy: 'RequireDualStack', ipFamilies: ['IPv6'] },
      { clusterIPs: [ipv6, ipv4], ipFamilies: ['IPv6', 'IPv4'] },
    ],
    [
      'an address of one, and both',
      { ipFamilyPolicy: 'PreferDualStack', clusterIP: 'fd00::77' },
      { clusterIPs: ['fd00::77', ipv4], ipFamilies: ['IPv6', 'IPv4'] },
    ],
    [
      'an address of each',
      { ipFamilyPolicy: 'PreferDualStack', clusterIP: '10.0.0.9', clusterIPs: ['10.0.0.9', 'fd00::9'] },
      { clusterIPs: ['10.0.0.9', 'fd00::9'] },
    ],
    [
      'no address, and both',
      { ipFamilyPolicy: 'PreferDualStack', clusterIP: 'None', selector: { a: 'b' } },
      { clusterIPs: ['None'], ipFamilies: ['IPv4', 'IPv6'] },
    ],
  ];
  for (const [i, [what, sent, expected]] of cases.entries())
    it(`a service that asks for ${what} gets it`, async () => {
      const spec = await made(`s${i}`, sent);
      expect(spec).toMatchObject(expected);
      expect(spec.clusterIP).toBe(spec.clusterIPs![0]);
      expect(await held(`s${i}`)).toEqual(spec.clusterIPs!.filter((ip) => ip !== 'None').sort());
      expect((await api.delete(`${services}/s${i}`)).status).toBe(200);
      expect(await held(`s${i}`)).toEqual([]);
    });

  it('a second address comes and goes with the policy; the first stays', async () => {
    const [first] = (await made('grows')).clusterIPs!;
    const grown = (await change('grows', { ipFamilyPolicy: 'PreferDualStack' })).body.spec;
    expect(grown).toMatchObject({ clusterIPs: [first, ipv6], ipFamilies: ['IPv4', 'IPv6'] });
    expect(await held('grows')).toEqual(grown.clusterIPs.toSorted());
    const shrunk = (await change('grows', { ipFamilyPolicy: 'SingleStack' })).body.spec;
    expect(shrunk).toMatchObject({ clusterIP: first, clusterIPs: [first], ipFamilies: ['IPv4'] });
    await expect.poll(() => held('grows')).toEqual([first]);
    // The address is free again.
    const other = { ipFamilies: ['IPv6'], clusterIP: grown.clusterIPs[1] };
    expect((await made('takes', other)).clusterIP).toBe(grown.clusterIPs[1]);
  });

  it('an address is given once, and none changes', async () => {
    const one = await made('one', { ipFamilyPolicy: 'RequireDualStack', clusterIP: 'fd00::a' });
    const again = await create('again', { ipFamilies: ['IPv6'], clusterIP: 'fd00:0::A' });
    expect(again.body.message).toBe(
      'Service "again" is invalid: spec.clusterIPs: Invalid value: ["fd00:0::A"]: failed to allocate IP fd00:0::A: provided IP is already allocated',
    );
    expect((await create('out', { clusterIP: 'fd01::1' })).body.message).toContain(
      'failed to allocate IP fd01::1: the provided network does not match the current range',
    );
    const other = one.clusterIPs![1] === '10.0.0.13' ? '10.0.0.12' : '10.0.0.13';
    const changed = await change('one', { clusterIPs: [one.clusterIP, other] });
    expect(changed.body.message).toContain('spec.clusterIPs[1]: Invalid value: ');
    expect(changed.body.message).toContain('may not change once set');
    const cut = await change('one', { clusterIPs: [one.clusterIP] });
    expect(cut.body.message).toContain(
      `spec.ipFamilyPolicy: Invalid value: "RequireDualStack": must be set to 'SingleStack' when releasing the secondary clusterIP`,
    );
    const turned = await change('one', { ipFamilies: ['IPv4', 'IPv6'] });
    expect(turned.status).toBe(422);
    expect(await held('one')).toEqual([...one.clusterIPs!].sort());
  });

  it('a range that is full refuses, and keeps nothing of the other', async () => {
    const names = Array.from({ length: 14 }, (_, i) => `full${i}`);
    const results = await Promise.all(
      names.map((name) => create(name, { ipFamilyPolicy: 'RequireDualStack' })),
    );
    const refused = results.filter(({ status }) => status !== 200);
    expect(refused.length).toBeGreaterThan(0);
    expect(refused[0]!.body.message).toContain('range is full');
    const given = results.flatMap(({ body }) => body.spec?.clusterIPs ?? []);
    expect(new Set(given).size).toBe(given.length);
    const used = (await api.get(services)).body.items.flatMap((item: Service) => item.spec!.clusterIPs);
    await expect
      .poll(async () => (await api.get(addresses)).body.items.length)
      .toBe(used.filter((ip: string) => ip !== 'None').length);
  });
});

describe('in a cluster', () => {
  const folder = mkdtemp(path.join(tmpdir(), 'wherry-families-'));
  afterAll(async () => rm(await folder, { recursive: true, force: true }));

  it('a second family can be added, and services keep what they have', async () => {
    const dataDir = await folder;
    cluster = await start({ dataDir, serviceClusterIPRange: '10.0.0.0/28' });
    const single = await made('a', { ipFamilyPolicy: 'PreferDualStack' });
    expect(single.clusterIPs).toEqual([ipv4]);
    const refused = await create('b', { ipFamilyPolicy: 'RequireDualStack' });
    expect(refused.body.message).toContain('this cluster is not configured for dual-stack services');
    await cluster.close();

    const warnings: string[] = [];
    const onWarning = (message: string) => void warnings.push(message);
    cluster = await start({ dataDir, serviceClusterIPRange: both, onWarning });
    expect((await api.get(ranges)).body.spec.cidrs).toEqual(both.split(','));
    const touched = await change('a', { sessionAffinity: 'ClientIP' });
    expect(touched.body.spec.clusterIPs).toEqual(single.clusterIPs);
    expect((await made('b', { ipFamilyPolicy: 'RequireDualStack' })).clusterIPs).toEqual([ipv4, ipv6]);
    expect(warnings.filter((text) => text.includes('range'))).toEqual([]);
    await cluster.close();
  });

  it('of the other family alone, everything has an address of it', async () => {
    cluster = await start({ store: 'memory', serviceClusterIPRange: 'fd00::/108' });
    expect((await api.get(`${services}/kubernetes`)).body.spec).toMatchObject({
      clusterIP: 'fd00::1',
      ipFamilies: ['IPv6'],
    });
    expect((await made('a')).clusterIPs).toEqual([ipv6]);
    await cluster.close();
  });

  it('ranges that cannot be used are refused', async () => {
    for (const range of ['fd00::/48', '10.0.0.0/24,10.0.1.0/24', '10.0.0.0/24,nonsense', ''])
      await expect(start({ store: 'memory', serviceClusterIPRange: range })).rejects.toThrow(
        'the service cluster IP range must be',
      );
  });
});
