/** The endpoints controller (kinds.md 23.3): Endpoints have the addresses of the pods that a service selects. */
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { type Json, useCluster } from '../support/http.ts';
import { Mirror } from './mirror.ts';

// No scheduler: these tests set where pods run and their status.
const api = useCluster({ controllers: ['-scheduler', '-node', '-pod-collector'] });
let namespace = '';
let count = 0;
const opened: Mirror[] = [];

const path = (resource: string, name = '') =>
  `/api/v1/namespaces/${namespace}/${resource}${name && `/${name}`}`;

beforeEach(async () => {
  namespace = `endpoints-${++count}`;
  expect((await api.post('/api/v1/namespaces', { metadata: { name: namespace } })).status).toBe(200);
});
afterEach(() => {
  for (const mirror of opened.splice(0)) mirror.close();
});

async function mirror(resource: string): Promise<Mirror> {
  const made = await Mirror.open(api, path(resource));
  opened.push(made);
  return made;
}

async function makeService(spec: object = {}, metadata: object = {}): Promise<Json> {
  const reply = await api.post(path('services'), {
    metadata: { name: 'web', ...metadata },
    spec: { selector: { app: 'web' }, ports: [{ port: 80, targetPort: 8080 }], ...spec },
  });
  expect(reply.status, reply.text).toBe(200);
  return reply.body;
}

const time = '2026-01-02T03:04:05Z';
const ready = (podIP: string, status = 'True', at = time) => ({
  phase: 'Running',
  podIP,
  podIPs: [{ ip: podIP }],
  conditions: [{ type: 'Ready', status, lastTransitionTime: at }],
});

async function setStatus(pod: string, status: object): Promise<void> {
  const reply = await api.patch(`${path('pods', pod)}/status`, { status });
  expect(reply.status, reply.text).toBe(200);
}

async function makePod(
  name: string,
  status: object = {},
  spec: object = {},
  labels: object = { app: 'web' },
): Promise<Json> {
  const reply = await api.post(path('pods'), {
    metadata: { name, labels },
    spec: { nodeName: 'n1', containers: [{ name: 'c', image: 'i:1' }], ...spec },
  });
  expect(reply.status, reply.text).toBe(200);
  await setStatus(name, status);
  return reply.body;
}

const ips = (addresses: Json[] = []): string[] => addresses.map(({ ip }) => ip);
/** The addresses of Endpoints in short: ready ones, then the others. */
const brief = ({ subsets = [] }: Json): string =>
  subsets.map((one: Json) => `${ips(one.addresses)}|${ips(one.notReadyAddresses)}`).join(' ');

describe('endpoints', () => {
  test('are made with the service, and show pods as they come, get ready and go', async () => {
    const endpoints = await mirror('endpoints');
    const service = await makeService({}, { labels: { team: 'a' } });
    const bare = await endpoints.object('web');
    expect(bare.subsets).toBeUndefined();
    expect(bare.metadata.labels).toEqual({
      team: 'a',
      'endpoints.kubernetes.io/managed-by': 'endpoint-controller',
    });
    expect(bare.metadata.annotations).toEqual({
      'endpoints.kubernetes.io/last-change-trigger-time': service.metadata.creationTimestamp,
    });
    const a = await makePod('a', ready('10.1.0.2', 'False'));
    await endpoints.object('web', (one) => brief(one) === '|10.1.0.2');
    await setStatus('a', ready('10.1.0.2', 'True', '2026-02-03T04:05:06Z'));
    const shown = await endpoints.object('web', (one) => brief(one) === '10.1.0.2|');
    expect(shown.subsets).toEqual([
      {
        addresses: [
          {
            ip: '10.1.0.2',
            nodeName: 'n1',
            targetRef: { kind: 'Pod', namespace, name: 'a', uid: a.metadata.uid },
          },
        ],
        ports: [{ port: 8080, protocol: 'TCP' }],
      },
    ]);
    expect(shown.metadata.annotations['endpoints.kubernetes.io/last-change-trigger-time']).toBe(
      '2026-02-03T04:05:06Z',
    );
    await makePod('b', ready('10.1.0.1'));
    await endpoints.object('web', (one) => brief(one) === '10.1.0.1,10.1.0.2|');
    await api.delete(path('pods', 'a'));
    await endpoints.object('web', (one) => brief(one) === '10.1.0.1|');
    await setStatus('b', { phase: 'Failed' });
    await endpoints.object('web', (one) => one.subsets === undefined);
  });

  test('follow the labels of pods and the selector of the service', async () => {
    const endpoints = await mirror('endpoints');
    await makePod('a', ready('10.1.0.1'));
    await makePod('b', ready('10.1.0.2'), {}, { app: 'other' });
    await makeService();
    await endpoints.object('web', (one) => brief(one) === '10.1.0.1|');
    await api.patch(path('pods', 'b'), { metadata: { labels: { app: 'web' } } });
    await endpoints.object('web', (one) => brief(one) === '10.1.0.1,10.1.0.2|');
    await api.patch(path('pods', 'a'), { metadata: { labels: { app: null } } });
    await endpoints.object('web', (one) => brief(one) === '10.1.0.2|');
    await api.patch(path('services', 'web'), { spec: { selector: { app: 'nobody' } } });
    await endpoints.object('web', (one) => one.subsets === undefined);
  });

  test('take over labels of the service, and say that it is headless', async () => {
    const endpoints = await mirror('endpoints');
    await makeService({ clusterIP: 'None' }, { labels: { team: 'a' } });
    const headless = await endpoints.object('web');
    expect(headless.metadata.labels).toEqual({
      team: 'a',
      'endpoints.kubernetes.io/managed-by': 'endpoint-controller',
      'service.kubernetes.io/headless': '',
    });
    await api.patch(path('services', 'web'), { metadata: { labels: { team: 'b' } } });
    await endpoints.object('web', ({ metadata }) => metadata.labels.team === 'b');
  });

  test('go with the service, and come back when they alone are deleted', async () => {
    const endpoints = await mirror('endpoints');
    await makeService();
    const first = await endpoints.object('web');
    await api.delete(path('endpoints', 'web'));
    await endpoints.object('web', ({ metadata }) => metadata.uid !== first.metadata.uid);
    await api.delete(path('services', 'web'));
    await endpoints.until((all) => all.length === 0);
  });

  test('of services without a selector, or that are names only, are left alone', async () => {
    const endpoints = await mirror('endpoints');
    await makeService({ selector: undefined }, { name: 'own' });
    await makeService({ type: 'ExternalName', externalName: 'example.com' }, { name: 'alias' });
    const subsets = [{ addresses: [{ ip: '10.9.9.9' }], ports: [{ port: 1 }] }];
    await api.post(path('endpoints'), { metadata: { name: 'own' }, subsets });
    await makeService();
    await endpoints.object('web');
    expect(endpoints.objects.map(({ metadata }) => metadata.name).sort()).toEqual(['own', 'web']);
    expect((await api.get(path('endpoints', 'own'))).body.subsets[0].addresses).toEqual([{ ip: '10.9.9.9' }]);
  });
});

test('endpoints that cannot be made are complained of', async () => {
  const events = await mirror('events');
  const quotas = await mirror('resourcequotas');
  await api.post(path('resourcequotas'), {
    metadata: { name: 'none' },
    spec: { hard: { 'count/endpoints': '0' } },
  });
  await quotas.object('none', ({ status }) => status.hard?.['count/endpoints'] === '0');
  await makeService();
  const [event] = await events.until((all) => all.length > 0);
  expect(event).toMatchObject({
    type: 'Warning',
    reason: 'FailedToCreateEndpoint',
    message: expect.stringMatching(
      new RegExp(
        `^Failed to create endpoint for service ${namespace}/web: endpoints "web" is forbidden: exceeded quota`,
      ),
    ),
    source: { component: 'endpoint-controller' },
    involvedObject: { kind: 'Service', name: 'web' },
  });
});

describe('ports', () => {
  test('are found by name in each pod, and pods that differ have a subset of their own', async () => {
    const endpoints = await mirror('endpoints');
    const named = (port: number, protocol = 'TCP') => ({
      containers: [{ name: 'c', image: 'i:1', ports: [{ name: 'http', containerPort: port, protocol }] }],
    });
    await makePod('a', ready('10.1.0.1'), named(8080));
    await makePod('b', ready('10.1.0.2'), named(9090));
    await makePod('c', ready('10.1.0.3'), named(8080));
    await makePod('d', ready('10.1.0.4'), named(8080, 'UDP'));
    await makeService({
      ports: [
        { name: 'web', port: 80, targetPort: 'http', appProtocol: 'example.com/h2c' },
        { name: 'admin', port: 81, targetPort: 7000 },
        { name: 'stats', port: 82, targetPort: 7001 },
      ],
    });
    const { subsets } = await endpoints.object('web', (one) => one.subsets);
    const found = subsets.map((one: Json) => [ips(one.addresses), one.ports]);
    const http = (port: number) => [{ name: 'web', port, protocol: 'TCP', appProtocol: 'example.com/h2c' }];
    expect(found).toHaveLength(3);
    expect(found).toEqual(
      expect.arrayContaining([
        [['10.1.0.1', '10.1.0.3'], http(8080)],
        [['10.1.0.2'], http(9090)],
        [
          ['10.1.0.1', '10.1.0.2', '10.1.0.3', '10.1.0.4'],
          [
            { name: 'admin', port: 7000, protocol: 'TCP' },
            { name: 'stats', port: 7001, protocol: 'TCP' },
          ],
        ],
      ]),
    );
  });

  test('are not needed by a headless service; its pods may have names', async () => {
    const endpoints = await mirror('endpoints');
    await makePod('a', ready('10.1.0.1'), { hostname: 'first', subdomain: 'web' });
    await makePod('b', ready('10.1.0.2'), { hostname: 'second', subdomain: 'other' });
    await makeService({ clusterIP: 'None', ports: undefined });
    const { subsets } = await endpoints.object('web', (one) => one.subsets);
    expect(subsets).toHaveLength(1);
    expect(subsets[0].ports).toBeUndefined();
    expect(subsets[0].addresses.map(({ ip, hostname }: Json) => [ip, hostname])).toEqual([
      ['10.1.0.1', 'first'],
      ['10.1.0.2', undefined],
    ]);
  });
});

describe('pods', () => {
  test('that are not ready, and even those being deleted, are published when the service asks for it', async () => {
    const endpoints = await mirror('endpoints');
    await makePod('a', ready('10.1.0.1', 'False'));
    await makePod('b', ready('10.1.0.2'));
    await makePod('finished', { ...ready('10.1.0.3'), phase: 'Succeeded' });
    await makePod('waiting', { phase: 'Pending' });
    await api.delete(path('pods', 'b'));
    await makeService();
    await makeService({ publishNotReadyAddresses: true }, { name: 'all' });
    await endpoints.object('web', (one) => brief(one) === '|10.1.0.1');
    await endpoints.object('all', (one) => brief(one) === '10.1.0.1,10.1.0.2|');
  });

  test('may have an address of this machine', async () => {
    const endpoints = await mirror('endpoints');
    await makePod('a', ready('127.0.0.2'));
    await makeService();
    await endpoints.object('web', (one) => brief(one) === '127.0.0.2|');
    await makePod('b', ready('127.0.0.3'));
    await endpoints.object('web', (one) => brief(one) === '127.0.0.2,127.0.0.3|');
  });

  test('whose change means nothing to the service cause no write', async () => {
    const endpoints = await mirror('endpoints');
    await makeService();
    await makeService({}, { name: 'witness' });
    // The pod is created last: the trigger time on the Endpoints is when it became ready, long ago, so any
    // further write would show.
    await makePod('a', ready('10.1.0.1'));
    const before = await endpoints.object('web', (one) => brief(one) === '10.1.0.1|');
    await setStatus('a', { message: 'still here' });
    await api.patch(path('pods', 'a'), { metadata: { annotations: { note: 'x' } } });
    await api.patch(path('services', 'web'), { metadata: { annotations: { note: 'x' } } });
    await api.patch(path('services', 'witness'), { metadata: { labels: { last: 'yes' } } });
    await endpoints.object('witness', ({ metadata }) => metadata.labels.last === 'yes');
    expect((await api.get(path('endpoints', 'web'))).body).toEqual(before);
  });
});
