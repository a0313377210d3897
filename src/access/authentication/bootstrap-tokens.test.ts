/** Bootstrap tokens let joining nodes in as long as their secret says so; every defect is the same refusal. */
import { afterAll, beforeAll, expect, it } from 'vitest';
import { TestCluster } from './authentication.fixture.ts';
import { BootstrapTokens } from './bootstrap-tokens.ts';

let cluster: TestCluster;
let tokens: BootstrapTokens;
beforeAll(async () => {
  cluster = await TestCluster.open();
  tokens = new BootstrapTokens(cluster.writing.registry, ['server']);
});
afterAll(() => cluster.close());

const good = {
  'token-id': 'aaaaaa',
  'token-secret': '0123456789abcdef',
  'usage-bootstrap-authentication': 'true',
};

const ask = (text: string) =>
  tokens.authenticateToken({ sent: { text }, audiences: ['server'], warnings: [], annotations: {} });

async function userOf(data: Record<string, string>, more: object = {}) {
  const name = 'bootstrap-token-aaaaaa';
  const encoded = Object.entries(data).map(([key, value]) => [key, Buffer.from(value).toString('base64')]);
  await cluster.seed('secrets', 'kube-system', {
    metadata: { name },
    type: 'bootstrap.kubernetes.io/token',
    data: Object.fromEntries(encoded),
    ...more,
  });
  const answer = await ask('aaaaaa.0123456789abcdef');
  await cluster.remove('secrets', 'kube-system', name);
  return answer?.user;
}

it('are of a user and groups, sorted', async () => {
  const groups = 'system:bootstrappers:workers,system:bootstrappers:a';
  expect(await userOf({ ...good, 'auth-extra-groups': groups, expiration: '2030-06-01T12:00:01Z' })).toEqual({
    name: 'system:bootstrap:aaaaaa',
    groups: ['system:bootstrappers', 'system:bootstrappers:a', 'system:bootstrappers:workers'],
  });
});

it.each<[string, Record<string, string>, object?]>([
  ['with another secret', { ...good, 'token-secret': '0123456789abcdee' }],
  ['with an empty secret', { ...good, 'token-secret': '' }],
  ['with another id', { ...good, 'token-id': 'bbbbbb' }],
  ['that are over', { ...good, expiration: '2030-06-01T12:00:00Z' }],
  ['with a time that is none', { ...good, expiration: 'tomorrow' }],
  [
    'for signing only',
    { ...good, 'usage-bootstrap-authentication': 'false', 'usage-bootstrap-signing': 'true' },
  ],
  ['with a usage in other letters', { ...good, 'usage-bootstrap-authentication': 'True' }],
  ['with groups that they may not give', { ...good, 'auth-extra-groups': 'system:masters' }],
  [
    'with one bad group among good ones',
    { ...good, 'auth-extra-groups': 'system:bootstrappers:a,system:bootstrappers:' },
  ],
  ['in secrets of another type', good, { type: 'Opaque' }],
  [
    'being deleted',
    good,
    { metadata: { name: 'bootstrap-token-aaaaaa', deletionTimestamp: '2030-06-01T11:00:00Z' } },
  ],
])('%s are refused', async (_, data, more) => {
  expect(await userOf(data, more)).toBeUndefined();
});

it('of another form are not looked for', async () => {
  for (const token of [
    'aaaaaa',
    'AAAAAA.0123456789abcdef',
    'aaaaaa.0123456789abcdef0',
    '../../x.0123456789abcdef',
  ])
    expect(await ask(token)).toBeUndefined();
});
