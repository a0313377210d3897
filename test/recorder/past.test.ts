/**
 * Proves that a running cluster tells its past: which versions an object had, who wrote them and what changed, what happened
 * in a namespace, objects as they were at a time; as far as the user may list them, and with gaps as gaps.
 */
import { afterAll, beforeAll, expect, it } from 'vitest';
import { type Cluster, start } from '../../src/cluster/index.ts';
import { askHistory, askTimeline, type ToldList } from '../../src/cluster/past/change-list.ts';
import { historyText, timelineText } from '../../src/cluster/past/change-text.ts';
import { askAt } from '../../src/cluster/past/past-objects.ts';
import { startWith } from '../../src/cluster/start.ts';
import { MemoryEngine } from '../../src/store/memory.ts';
import { VersionedStore } from '../../src/store/versioned.ts';

let cluster: Cluster;
/** A clock that the test moves. */
let nowMs = Date.parse('2026-01-02T10:00:00Z');
const later = (ms: number): string => {
  nowMs += ms;
  return new Date(nowMs).toISOString();
};

const call = async (
  method: string,
  where: string,
  body?: object,
  type = 'application/json',
  url = cluster.url,
): Promise<any> => {
  const answer = await fetch(url + where, {
    method,
    headers: { 'Content-Type': type },
    ...(body ? { body: JSON.stringify(body) } : {}),
  });
  return answer.json();
};
const patch = (where: string, body: object, manager: string) =>
  call('PATCH', `${where}?fieldManager=${manager}`, body, 'application/merge-patch+json');

const web = '/apis/apps/v1/namespaces/shop/deployments/web';
let before: string;
let scaled: string;

beforeAll(async () => {
  cluster = await start({
    store: 'memory',
    like: 'kubernetes',
    controllers: false,
    secure: true,
    chance: { nowMs: () => nowMs },
  });
  await call('POST', '/api/v1/namespaces', { metadata: { name: 'shop' } });
  await call('POST', '/api/v1/namespaces/shop/serviceaccounts', { metadata: { name: 'default' } });
  before = later(60_000);
  later(1_000);
  await call('POST', '/apis/apps/v1/namespaces/shop/deployments?fieldManager=helm', {
    metadata: { name: 'web' },
    spec: {
      replicas: 2,
      selector: { matchLabels: { app: 'web' } },
      template: {
        metadata: { labels: { app: 'web' } },
        spec: { containers: [{ name: 'web', image: 'shop/web:1' }] },
      },
    },
  });
  later(60_000);
  await patch(web, { spec: { replicas: 5 } }, 'kubectl-scale');
  scaled = later(60_000);
  later(1_000);
  await patch(
    web,
    { spec: { template: { spec: { containers: [{ name: 'web', image: 'shop/web:2' }] } } } },
    'jane',
  );
  await call('POST', '/api/v1/namespaces/shop/secrets', {
    metadata: { name: 'key' },
    stringData: { password: 'hush-1' },
  });
  await patch('/api/v1/namespaces/shop/secrets/key', { stringData: { password: 'hush-2' } }, 'jane');
  await call('POST', '/api/v1/namespaces/shop/events', {
    metadata: { name: 'e1' },
    involvedObject: { kind: 'Pod', namespace: 'shop', name: 'web-1' },
    type: 'Warning',
    reason: 'BackOff',
    message: 'pulling\u001b[31m shop/web:2',
  });
  later(1_000);
  await call('DELETE', '/api/v1/namespaces/shop/secrets/key');
});
afterAll(() => cluster.close());

const asked = { namespace: 'shop' };
const here = () => ({ ...asked, server: cluster.url });
const changes = async (query: string): Promise<ToldList> => call('GET', `/wherry/changes?${query}`);

it('tells the versions of an object: when, by whom, and what changed', async () => {
  const { items } = JSON.parse(
    await askHistory({ ...here(), resource: 'deploy', object: 'web', format: 'json' }),
  ) as ToldList;
  expect(items.map(({ type, time, writer, fields }) => [type, time, writer?.manager, fields])).toEqual([
    ['ADDED', '2026-01-02T10:01:01.000Z', 'helm', undefined],
    [
      'MODIFIED',
      '2026-01-02T10:02:01.000Z',
      'kubectl-scale',
      [{ path: 'spec.replicas', before: 2, after: 5 }],
    ],
    [
      'MODIFIED',
      '2026-01-02T10:03:02.000Z',
      'jane',
      [{ path: 'spec.template.spec.containers[web].image', before: 'shop/web:1', after: 'shop/web:2' }],
    ],
  ]);
  const text = await askHistory({ ...here(), resource: 'deployments.apps', object: 'web', since: '62s' });
  expect(text).toContain('jane');
  expect(text).toContain('spec.template.spec.containers[web].image shop/web:1 → shop/web:2');
  expect(text).not.toContain('kubectl-scale');
  const full = await askHistory({ ...here(), resource: 'deployment', object: 'web', diff: true });
  expect(full).toContain('    spec.replicas\n      - 2\n      + 5\n');
  await expect(askHistory({ ...here(), resource: 'deploy', object: 'none' })).rejects.toThrow(
    'nothing is known',
  );
  await expect(askHistory({ ...here(), resource: 'nothings', object: 'x' })).rejects.toThrow(
    'there is no resource',
  );
});

it('begins with the state before the first change that is kept, of kinds without namespaces, too', async () => {
  const short = await start({
    store: 'memory',
    controllers: false,
    history: { ageMaxMs: 3_600_000, changesMax: 1 },
  });
  const send = (method: string, where: string, body: object) =>
    call(method, where, body, method === 'PATCH' ? 'application/merge-patch+json' : undefined, short.url);
  await send('POST', '/api/v1/namespaces', { metadata: { name: 'shop' } });
  await send('PATCH', '/api/v1/namespaces/shop', { metadata: { labels: { a: 'b' } } });
  const told = async () => {
    const { items }: ToldList = await call(
      'GET',
      '/wherry/changes?resource=ns&name=shop&namespace=other',
      undefined,
      undefined,
      short.url,
    );
    return items.map(({ type, time, fields }) => [type, time !== undefined, fields?.length]);
  };
  const trimmed = [
    ['STATE', false, undefined],
    ['MODIFIED', true, 1],
  ];
  await expect.poll(told, { timeout: 5_000 }).toEqual(trimmed);
  await send('POST', '/api/v1/namespaces', { metadata: { name: 'next' } });
  await expect.poll(told, { timeout: 5_000 }).toEqual([['STATE', false, undefined]]);
  await short.close();
});

it('never tells values of secrets', async () => {
  const text = JSON.stringify(await changes('namespace=shop'));
  expect(text).not.toContain(Buffer.from('hush-1').toString('base64'));
  expect(text).not.toContain(Buffer.from('hush-2').toString('base64'));
  expect(text).toContain('"path":"data.password","before":"(hidden)","after":"(hidden)"');
});

it('tells what happened in a namespace, page by page the same, with events', async () => {
  const { items, oldestTime } = await changes('namespace=shop');
  expect(items.every(({ namespace }) => namespace === 'shop')).toBe(true);
  expect(items.map(({ kind, type }) => `${kind} ${type}`)).toEqual([
    'ServiceAccount ADDED',
    'Deployment ADDED',
    'Deployment MODIFIED',
    'Deployment MODIFIED',
    'Secret ADDED',
    'Secret MODIFIED',
    'Event ADDED',
    'Secret DELETED',
  ]);
  expect(oldestTime).toBe('2026-01-02T10:00:00.000Z');
  const paged: unknown[] = [];
  let more: string | undefined = '';
  while (more !== undefined) {
    const page: ToldList = await changes(`namespace=shop&limit=3${more && `&continue=${more}`}`);
    expect(page.items.length).toBeLessThanOrEqual(3);
    paged.push(...page.items);
    more = page.metadata.continue;
  }
  expect(paged).toEqual(items);
  const text = await askTimeline({ ...here(), since: '5s' });
  expect(text).toContain('Warning BackOff: pulling [31m shop/web:2');
  expect(text).not.toContain('\u001b');
  expect(text).toContain('shop/Secret/key');
  expect(text).not.toContain('kubectl-scale');
  expect(await askTimeline({ ...here(), since: '5m', until: '2m', kinds: ['deploy'] })).toContain('created');
});

it('shows objects as they were at a time', async () => {
  const ask = (moment: string, what = 'deploy', more = {}) =>
    askAt({ ...here(), moment, what, objects: [], ...more });
  expect(await ask(before)).toBe(`There were none of deploy at ${before}.\n`);
  expect(await ask(scaled)).toMatch(/^NAME +READY[^\n]*\nweb +0\/5/);
  const yaml = await ask(scaled, 'deployments.apps/web', { shape: 'yaml' });
  expect(yaml).toContain('replicas: 5');
  expect(yaml).toContain('image: shop/web:1');
  const { items } = JSON.parse(await ask(scaled, 'all', { shape: 'json' })) as { items: { kind: string }[] };
  expect(items.map(({ kind }) => kind)).toEqual(['Deployment']);
  expect(await ask('0s', 'deploy', { shape: 'name', allNamespaces: true })).toBe('deployment.apps/web\n');
  expect(await ask('0s', 'deploy/web', { shape: 'name', objects: ['sa/default'] })).toBe(
    'deployment.apps/web\nserviceaccount/default\n',
  );
  await expect(ask('0s', 'deploy/web', { objects: ['default'] })).rejects.toThrow('KIND/NAME');
  await expect(ask(before, 'deploy/web')).rejects.toThrow('was not there at');
  await expect(ask('24h')).rejects.toThrow('history begins at 2026-01-02T10:00:00.000Z');
  await expect(ask('soon')).rejects.toThrow('the time must be a time such as 15m');
  await expect(
    askAt({ server: 'http://127.0.0.1:1', moment: '1m', what: 'po', objects: [] }),
  ).rejects.toThrow('cannot be reached: no server is running there; wherry list shows clusters');
});

it('answers wrong questions with a sentence', async () => {
  for (const query of ['since=yesterday', 'limit=x', 'continue=1.2.3', `name=${'x'.repeat(400)}`])
    expect((await call('GET', `/wherry/changes?${query}`)).code, query).toBe(400);
  expect((await call('POST', '/wherry/changes', {})).code).toBe(405);
  expect((await call('GET', '/wherry/history?time=2020-01-01T00:00:00Z')).code).toBe(410);
});

it('tells users what they may list, and nothing else', async () => {
  const jane = { 'Impersonate-User': 'jane', 'Impersonate-Group': 'system:authenticated' };
  const told = async (): Promise<string[]> => {
    const answer = await fetch(`${cluster.url}/wherry/changes`, { headers: jane });
    const { items } = (await answer.json()) as ToldList;
    return [...new Set(items.map(({ kind }) => kind))];
  };
  expect(await told()).toEqual([]);
  await call('POST', '/apis/rbac.authorization.k8s.io/v1/namespaces/shop/roles', {
    metadata: { name: 'pods' },
    rules: [{ apiGroups: ['', 'apps'], resources: ['pods', 'deployments'], verbs: ['list'] }],
  });
  await call('POST', '/apis/rbac.authorization.k8s.io/v1/namespaces/shop/rolebindings', {
    metadata: { name: 'jane' },
    roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'Role', name: 'pods' },
    subjects: [{ apiGroup: 'rbac.authorization.k8s.io', kind: 'User', name: 'jane' }],
  });
  expect(await told()).toEqual(['Deployment']);
  // Who may get one object is told its history, and that of no other.
  await call('POST', '/apis/rbac.authorization.k8s.io/v1/namespaces/shop/roles', {
    metadata: { name: 'one' },
    rules: [{ apiGroups: ['apps'], resources: ['deployments'], resourceNames: ['web'], verbs: ['get'] }],
  });
  await call('POST', '/apis/rbac.authorization.k8s.io/v1/namespaces/shop/rolebindings', {
    metadata: { name: 'joe' },
    roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'Role', name: 'one' },
    subjects: [{ apiGroup: 'rbac.authorization.k8s.io', kind: 'User', name: 'joe' }],
  });
  const joe = { 'Impersonate-User': 'joe', 'Impersonate-Group': 'system:authenticated' };
  const ofJoe = async (query: string): Promise<number> => {
    const answer = await fetch(`${cluster.url}/wherry/changes?${query}`, { headers: joe });
    return ((await answer.json()) as ToldList).items.length;
  };
  const known = await ofJoe('namespace=shop&resource=deploy&name=web');
  expect(known).toBeGreaterThan(1);
  expect(await ofJoe('namespace=shop&resource=deploy,deployments,deployments.apps&name=web')).toBe(known);
  for (const other of [
    'namespace=shop',
    'resource=deploy&name=web',
    'namespace=shop&resource=deploy',
    'namespace=shop&name=web',
  ])
    expect(await ofJoe(other), other).toBe(0);
  expect(await ofJoe('namespace=shop&resource=deploy&name=other')).toBe(0);
  const anonymous = { 'Impersonate-User': 'system:anonymous' };
  expect((await fetch(`${cluster.url}/wherry/changes`, { headers: anonymous })).status).toBe(403);
});

it('shows a gap as a gap, and what was found after it as found in it', async () => {
  const gap = {
    fromMs: nowMs,
    toMs: nowMs + 30_000,
    why: 'the connection was lost',
    versions: { first: 2, last: 2 },
  };
  const copy = {
    about: 'a recording',
    isWritable: true,
    kinds: [],
    openStore: (options: ConstructorParameters<typeof VersionedStore>[1]) =>
      new VersionedStore(new MemoryEngine(), options),
    gaps: () => [gap],
  };
  const recorded = await startWith({ controllers: false, like: 'kubernetes' }, undefined, copy);
  const { url } = recorded.cluster;
  const map = (name: string) =>
    call('POST', '/api/v1/namespaces/shop/configmaps', { metadata: { name } }, undefined, url);
  await call('POST', '/api/v1/namespaces', { metadata: { name: 'shop' } }, undefined, url);
  await map('a');
  await map('b');
  const list: ToldList = await call('GET', '/wherry/changes?namespace=shop', undefined, undefined, url);
  await recorded.cluster.close();
  const [from, to] = [gap.fromMs, gap.toMs].map((ms) => new Date(ms).toISOString());
  expect(list.gaps).toEqual([
    { from, to, why: 'the connection was lost', versions: { first: '2', last: '2' } },
  ]);
  expect(list.items.map(({ name, gap: found }) => [name, found])).toEqual([
    ['a', { from, to }],
    ['b', undefined],
  ]);
  const text = timelineText(list, from!);
  expect(text).toMatch(/in the gap +shop\/ConfigMap\/a/);
  expect(text).toContain(`gap until ${to}: nothing was seen of the cluster (the connection was lost)`);
  expect(historyText(list, false)).toContain('gap until');
  const outage = ['pods', 'services', 'nodes', 'jobs.batch'].map((resource, i) => ({
    ...{ from: `2026-01-02T10:00:0${i}Z`, to: `2026-01-02T10:00:1${i}Z`, why: 'no connection' },
    resources: [resource],
  }));
  const later = { from: '2026-01-02T10:01:00Z', why: 'no connection', resources: ['pods'] };
  const lines = timelineText({ ...list, items: [], gaps: [...outage, later] }, from!);
  expect(lines.match(/gap until.*/g)).toEqual([
    'gap until 2026-01-02T10:00:13Z: nothing was seen of 4 kinds (no connection)',
    'gap until now: nothing was seen of pods (no connection)',
  ]);
});

it.each([
  ['adam', 'zoe'],
  ['zoe', 'adam'],
])('tells who took a field in the second in which it was set: %s, then %s', async (first, second) => {
  const map = `/api/v1/namespaces/shop/configmaps/of-${first}`;
  const made = { metadata: { name: `of-${first}` }, data: { a: '1', b: '1' } };
  await call('POST', `/api/v1/namespaces/shop/configmaps?fieldManager=${first}`, made);
  await patch(map, { data: { a: '2' } }, second);
  await patch(map, { data: { c: '3' } }, second);
  const { items } = await call('GET', `/wherry/changes?resource=configmaps&namespace=shop&name=of-${first}`);
  expect(items.map(({ writer }: { writer?: { manager: string } }) => writer?.manager)).toEqual([
    first,
    second,
    second,
  ]);
});
