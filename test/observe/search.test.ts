/** Proves what `GET /wherry/search` finds, now and in the past, and that each user finds no more than is theirs. */
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { Cluster } from '../../src/cluster/index.ts';
import { startBuilt } from '../dashboard/browser.ts';

let cluster: Cluster;
const uids = new Map<string, string>();

const send = async (method: string, path: string, body?: object, headers: Record<string, string> = {}) => {
  const type = method === 'PATCH' ? 'application/merge-patch+json' : 'application/json';
  const answer = await fetch(`${cluster.url}${path}`, {
    method,
    headers: { 'Content-Type': type, ...headers },
    body: body && JSON.stringify(body),
  });
  return { status: answer.status, body: (await answer.json()) as any };
};
const as = (user: string) => ({ 'Impersonate-User': user, 'Impersonate-Group': 'system:authenticated' });
const search = async (words: string, query = '', headers = {}) =>
  (await send('GET', `/wherry/search?q=${encodeURIComponent(words)}${query}`, undefined, headers)).body;
/** `Pod one/web-1 by name one/web-1` */
const found = async (words: string, query = '', headers = {}): Promise<string[]> =>
  (await search(words, query, headers)).items.map(
    ({ kind, namespace, name, match }: any) =>
      `${kind} ${namespace ? `${namespace}/` : ''}${name} by ${match.by} ${match.text}`,
  );

beforeAll(async () => {
  cluster = await startBuilt({ port: 0, controllers: false, secure: true });
  for (const name of ['one', 'two']) {
    await send('POST', '/api/v1/namespaces', { metadata: { name } });
    const path = `/api/v1/namespaces/${name}`;
    const { body } = await send('POST', `${path}/pods`, {
      metadata: { name: 'shop-1', labels: { tier: 'Front' } },
      spec: { containers: [{ name: 'main', image: 'registry.example/cart:7' }] },
    });
    uids.set(name, body.metadata.uid);
    await send('PATCH', `${path}/pods/shop-1/status`, { status: { podIP: `10.9.0.${name.length}` } });
  }
  await send('POST', '/apis/apps/v1/namespaces/one/deployments', {
    metadata: { name: 'shop' },
    spec: {
      selector: { matchLabels: { a: 'b' } },
      template: {
        metadata: { labels: { a: 'b' } },
        spec: { containers: [{ name: 'c', image: 'shop-image' }] },
      },
    },
  });
  await send('POST', '/api/v1/namespaces/one/secrets', {
    metadata: { name: 'key' },
    stringData: { host: 'hidden.example' },
  });
  await send('POST', '/api/v1/namespaces/one/endpoints', { metadata: { name: 'hull' } });
  const spec = { selector: { a: 'b' }, ports: [{ port: 80 }] };
  await send('POST', '/api/v1/namespaces/one/services', { metadata: { name: 'hull' }, spec });
  const roles = '/apis/rbac.authorization.k8s.io/v1';
  const rules = [{ apiGroups: [''], resources: ['pods'], verbs: ['list'] }];
  await send('POST', `${roles}/clusterroles`, { metadata: { name: 'reader' }, rules });
  await send('POST', `${roles}/namespaces/one/rolebindings`, {
    metadata: { name: 'viewer' },
    roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'reader' },
    subjects: [{ kind: 'User', apiGroup: 'rbac.authorization.k8s.io', name: 'viewer' }],
  });
});
afterAll(() => cluster?.close());

it('finds objects of every kind by name, the best first, and by label, image, address and uid', async () => {
  expect(await found('shop')).toEqual([
    'Deployment one/shop by name one/shop',
    'Pod one/shop-1 by name one/shop-1',
    'Pod two/shop-1 by name two/shop-1',
  ]);
  expect(await found('tier=front two')).toEqual(['Pod two/shop-1 by label tier=Front']);
  expect(await found('cart:7 one')).toEqual(['Pod one/shop-1 by image registry.example/cart:7']);
  expect(await found('10.9.0.3')).toEqual([
    'Pod one/shop-1 by address 10.9.0.3',
    'Pod two/shop-1 by address 10.9.0.3',
  ]);
  expect(await found(uids.get('two')!)).toEqual([`Pod two/shop-1 by uid ${uids.get('two')}`]);
  expect(await found('two/shop')).toEqual(['Pod two/shop-1 by name two/shop-1']);
  expect(await found('deploy shop')).toEqual(['Deployment one/shop by name one/shop']);
  // What controllers write comes after what people write.
  expect(await found('hull')).toEqual([
    'Service one/hull by name one/hull',
    'Endpoints one/hull by name one/hull',
  ]);
  expect((await found('viewer'))[0]).toBe('RoleBinding one/viewer by name one/viewer');
});

it('finds neither values of secrets nor anything without words', async () => {
  expect(await found('hidden.example')).toEqual([]);
  expect(await found('aGlkZGVu')).toEqual([]);
  expect(await found('')).toEqual([]);
});

it('finds for each user what the user may list', async () => {
  expect(await found('shop', '', as('viewer'))).toEqual(['Pod one/shop-1 by name one/shop-1']);
  expect(await found('shop', '', as('stranger'))).toEqual([]);
  expect(await found('shop', '&namespace=two')).toEqual(['Pod two/shop-1 by name two/shop-1']);
  expect(
    (await send('GET', '/wherry/search?q=a', undefined, { 'Impersonate-User': 'system:anonymous' })).status,
  ).toBe(403);
});

it('finds what was there in the past, and what changed since', async () => {
  const { metadata } = await search('late');
  const path = '/api/v1/namespaces/one/configmaps';
  await send('POST', path, { metadata: { name: 'late', labels: { turn: 'first' } } });
  const before = (await search('late')).metadata.resourceVersion;
  await send('PATCH', `${path}/late`, { metadata: { labels: { turn: 'second' } } });
  expect(await found('turn=second')).toEqual(['ConfigMap one/late by label turn=second']);
  expect(await found('turn=first')).toEqual([]);
  await send('DELETE', `${path}/late`);
  expect(await found('late')).toEqual([]);
  expect(await found('turn=first', `&resourceVersion=${before}`)).toEqual([
    'ConfigMap one/late by label turn=first',
  ]);
  expect(await found('late', `&resourceVersion=${metadata.resourceVersion}`)).toEqual([]);
});

it('says how many more there are, and refuses what makes no sense', async () => {
  const { items, metadata } = await search('shop', '&limit=2');
  expect([items.length, metadata.remainingItemCount]).toEqual([2, 1]);
  expect((await send('POST', '/wherry/search?q=a', {})).status).toBe(405);
  expect((await send('GET', '/wherry/search?q=a&limit=x')).status).toBe(400);
  expect((await send('GET', '/wherry/search?q=a&resourceVersion=x')).status).toBe(400);
  expect(await found('x'.repeat(10_000))).toEqual([]);
});
