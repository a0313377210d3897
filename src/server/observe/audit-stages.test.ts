/**
 * Proves what a policy has written down of requests: stages, objects, users, addresses; and of requests that nobody is
 * authenticated for.
 */
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Client, type Headers, type Json } from '../../../test/support/http.ts';
import { LocalDoor } from '../doors/local-door.ts';
import { TokenDoor } from '../doors/token-door.fixture.ts';
import { useProxied } from '../pods/proxying.fixture.ts';
import { type AuditLog, openAuditLog } from './audit-log.ts';
import { readAuditPolicy } from './audit-policy.ts';

const policy = `
apiVersion: audit.k8s.io/v1
kind: Policy
omitManagedFields: true
rules:
- level: None
  nonResourceURLs: [/healthz]
- level: Metadata
  users: [mallory]
  omitStages: [RequestReceived]
- level: Request
  resources: [{group: "", resources: [secrets]}]
  omitStages: [RequestReceived]
- level: RequestResponse
  userGroups: [admins]
- level: Metadata
`;

const configMaps = '/api/v1/namespaces/ns/configmaps';
const folder = mkdtempSync(path.join(tmpdir(), 'wherry-policy-'));
const file = path.join(folder, 'audit.log');
const door = new TokenDoor(false);
const client = new Client(() => door.url);
let audit: AuditLog;
beforeAll(async () => {
  const report = (error: Error): never => {
    throw error;
  };
  audit = await openAuditLog({ file }, () => 1_700_000_000_000, report, readAuditPolicy(policy));
});
afterAll(async () => {
  await audit.close();
  rmSync(folder, { recursive: true });
});
useProxied({}, () => ({ doors: [new LocalDoor({ host: '127.0.0.1', port: 0 }), door], audit }));

beforeAll(() => client.post('/api/v1/namespaces', { metadata: { name: 'ns' } }, as('a', 'namespace')));

const as = (token: string, id: string): Headers => ({ Authorization: `Bearer ${token}`, 'Audit-Id': id });

/** Events are written in order: those of a request are complete when a later request's are there. */
async function eventsOf(id: string): Promise<Json[]> {
  const end = `end-${id}`;
  await client.get('/version', as('a', end));
  for (;;) {
    const events = readFileSync(file, 'utf8')
      .split('\n')
      .slice(0, -1)
      .map((line) => JSON.parse(line) as Json);
    if (events.some(({ auditID, stage }) => auditID === end && stage === 'ResponseComplete'))
      return events.filter(({ auditID }) => auditID === id);
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}

describe('a policy', () => {
  it('has requests and answers written down', async () => {
    // Proves both stages, the defaulted object that was sent, and the one that was answered.
    const sent = { metadata: { name: 'one' }, data: { a: 'b' } };
    await client.post(configMaps, sent, as('a', 'create'));
    const [received, complete, ...more] = await eventsOf('create');
    expect(more).toEqual([]);
    expect(received).toMatchObject({
      level: 'RequestResponse',
      stage: 'RequestReceived',
      verb: 'create',
      user: { username: 'alice', uid: 'u-1', extra: { 'example.com/team': ['red', 'blue'] } },
      objectRef: { resource: 'configmaps', namespace: 'ns', apiVersion: 'v1' },
    });
    for (const name of ['annotations', 'responseStatus', 'requestObject', 'responseObject'])
      expect(received).not.toHaveProperty(name);
    expect(complete).toMatchObject({
      stage: 'ResponseComplete',
      objectRef: { name: 'one' },
      responseStatus: { metadata: {}, code: 200 },
      requestObject: { kind: 'ConfigMap', apiVersion: 'v1', ...sent },
      responseObject: { kind: 'ConfigMap', metadata: { name: 'one', uid: expect.any(String) } },
      annotations: { 'authorization.k8s.io/decision': 'allow' },
    });
  });

  it('has versions and uids of what is replaced', async () => {
    const { body } = await client.post(configMaps, { metadata: { name: 'two' } }, as('a', 'made'));
    await client.request('PUT', `${configMaps}/two`, JSON.stringify(body), {
      ...as('a', 'replace'),
      'Content-Type': 'application/json',
    });
    const complete = (await eventsOf('replace')).at(-1);
    const { uid, resourceVersion } = body.metadata;
    expect(complete?.objectRef).toMatchObject({ name: 'two', uid, resourceVersion });
  });

  it('has patches as they were sent, and lists as they were answered', async () => {
    const change = [{ op: 'add', path: '/data', value: { c: 'd' } }];
    await client.request('PATCH', `${configMaps}/one`, JSON.stringify(change), {
      ...as('a', 'patch'),
      'Content-Type': 'application/json-patch+json',
    });
    expect((await eventsOf('patch')).at(-1)).toMatchObject({
      requestObject: change,
      responseObject: { data: { c: 'd' } },
    });
    await client.get(`${configMaps}?pretty=true`, as('a', 'list'));
    expect((await eventsOf('list')).at(-1)).toMatchObject({
      verb: 'list',
      responseObject: { kind: 'ConfigMapList', items: expect.any(Array) },
    });
  });

  it('has what is answered in protobuf as objects', async () => {
    const protobuf = (id: string) => ({ ...as('a', id), Accept: 'application/vnd.kubernetes.protobuf' });
    const answered = async (id: string) => (await eventsOf(id)).at(-1)?.responseObject;
    await client.post(configMaps, { metadata: { name: 'proto' }, data: { e: 'f' } }, protobuf('proto'));
    expect(await answered('proto')).toMatchObject({ kind: 'ConfigMap', data: { e: 'f' } });
    await client.get(configMaps, protobuf('protolist'));
    const items = expect.arrayContaining([expect.objectContaining({ data: { e: 'f' } })]);
    expect(await answered('protolist')).toMatchObject({ kind: 'ConfigMapList', items });
    await client.delete(`${configMaps}/proto`, undefined, protobuf('protogone'));
    expect(await answered('protogone')).toMatchObject({ kind: 'Status', status: 'Success' });
    await client.get(`${configMaps}/proto`, protobuf('protolost'));
    expect(await answered('protolost')).toMatchObject({ kind: 'Status', reason: 'NotFound' });
  });

  it('leaves out what is answered at the level Request, and all at None', async () => {
    await client.post(
      '/api/v1/namespaces/ns/secrets',
      { metadata: { name: 's' }, stringData: { a: 'b' } },
      as('a', 'secret'),
    );
    const events = await eventsOf('secret');
    expect(events).toHaveLength(1);
    expect(events[0]).toMatchObject({ level: 'Request', requestObject: { metadata: { name: 's' } } });
    expect(events[0]).not.toHaveProperty('responseObject');
    await client.get('/healthz', as('a', 'health'));
    expect(await eventsOf('health')).toEqual([]);
  });

  it('leaves out objects that are too long, and says so', async () => {
    const long = { metadata: { name: 'long' }, data: { a: 'x'.repeat(1_040_000), b: 'y'.repeat(8_500) } };
    const { status } = await client.post(configMaps, long, as('a', 'long'));
    expect(status).toBe(200);
    const complete = (await eventsOf('long')).at(-1);
    expect(complete).not.toHaveProperty('responseObject');
    expect(complete?.annotations).toMatchObject({ 'audit.k8s.io/truncated': 'true' });
  });

  it('has the whole Status of a refusal, and the reason of the authorizer', async () => {
    await client.get(configMaps, as('m', 'refused'));
    const events = await eventsOf('refused');
    expect(events).toHaveLength(1);
    expect(events[0]).toMatchObject({
      level: 'Metadata',
      user: { username: 'mallory' },
      responseStatus: { status: 'Failure', reason: 'Forbidden', details: { kind: 'configmaps' }, code: 403 },
      annotations: {
        'authorization.k8s.io/decision': 'forbid',
        'authorization.k8s.io/reason': 'nobody allowed it',
      },
    });
  });

  it('has one event of a request that nobody is authenticated for', async () => {
    await client.get(configMaps, as('x', 'nobody'));
    const events = await eventsOf('nobody');
    expect(events).toHaveLength(1);
    expect(events[0]).toMatchObject({
      stage: 'ResponseStarted',
      user: {},
      responseStatus: { code: 401 },
    });
    expect(events[0]).not.toHaveProperty('annotations');
  });

  it('has both stages of a watch, and no objects of it', async () => {
    const watch = await client.watch(`${configMaps}?watch=true`, as('a', 'watch'));
    watch.close();
    let events = await eventsOf('watch');
    while (events.length < 3) events = await eventsOf('watch');
    expect(events.map(({ stage }) => stage)).toEqual([
      'RequestReceived',
      'ResponseStarted',
      'ResponseComplete',
    ]);
    expect(events.at(-1)).toMatchObject({ responseStatus: { code: 200 } });
    expect(events.at(-1)).not.toHaveProperty('responseObject');
  });
});

describe('addresses', () => {
  it('are those of proxies, then the peer', async () => {
    await client.get('/version', {
      ...as('a', 'proxied'),
      'X-Forwarded-For': '10.0.0.1, nonsense, 2001:db8::1',
      'X-Real-Ip': '10.0.0.2',
    });
    expect((await eventsOf('proxied'))[0]?.sourceIPs).toEqual([
      '10.0.0.1',
      '2001:db8::1',
      '10.0.0.2',
      '127.0.0.1',
    ]);
    await client.get('/version', { ...as('a', 'near'), 'X-Forwarded-For': '127.0.0.1' });
    expect((await eventsOf('near'))[0]?.sourceIPs).toEqual(['127.0.0.1']);
  });
});
