/**
 * Proves that watches end within a minute after their credential: its account is deleted, its token has expired, its
 * authority is taken out of the file of clients' authorities; over HTTP, on the shared socket, and when it acts for others.
 */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { request } from 'node:https';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { type Cluster, start } from '../../src/cluster/index.ts';
import { Authority, clientUsages, makeAuthority, yearMs } from '../../src/pki/authority.ts';
import { Client, type Headers } from '../support/http.ts';
import { WatchesClient } from '../support/watches-client.ts';

/** What is promised, and some time for a machine that is busy. */
const endMaxMs = 60_000 + 30_000;
const rbac = '/apis/rbac.authorization.k8s.io/v1';
const watched = '/api/v1/namespaces/default/configmaps';
const secretPath = '/api/v1/namespaces/kube-system/secrets';
const pem = (): Authority => new Authority(makeAuthority('clients', Date.now()));
const clients = pem();

let folder: string;
let cluster: Cluster;
let client: Client;

beforeAll(async () => {
  folder = await mkdtemp(path.join(tmpdir(), 'wherry-ends-'));
  const clientCAFile = path.join(folder, 'clients.crt');
  await writeFile(clientCAFile, clients.pem.cert);
  cluster = await start({ store: 'memory', controllers: false, secure: { clientCAFile } });
  client = new Client(cluster.url);
  const rules = [
    { apiGroups: [''], resources: ['configmaps'], verbs: ['get', 'list', 'watch'] },
    { apiGroups: [''], resources: ['users'], verbs: ['impersonate'] },
    { nonResourceURLs: ['/wherry/watches'], verbs: ['get'] },
  ];
  await client.post(`${rbac}/clusterroles`, { metadata: { name: 'reader' }, rules });
  const roleRef = { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'reader' };
  const subjects = [{ apiGroup: 'rbac.authorization.k8s.io', kind: 'Group', name: 'system:authenticated' }];
  const bound = await client.post(`${rbac}/clusterrolebindings`, {
    metadata: { name: 'readers' },
    roleRef,
    subjects,
  });
  expect(bound.status, bound.text).toBe(200);
});
afterAll(async () => {
  await cluster.close();
  await rm(folder, { recursive: true, force: true });
});

interface Credential {
  readonly headers?: Headers;
  readonly cert?: string;
  readonly key?: string;
}

async function account(name: string): Promise<Credential> {
  const accounts = '/api/v1/namespaces/default/serviceaccounts';
  await client.post(accounts, { metadata: { name } });
  const asked = await client.post(`${accounts}/${name}/token`, { spec: { expirationSeconds: 3600 } });
  return { headers: { authorization: `Bearer ${asked.body.status.token}` } };
}

async function bootstrapToken(): Promise<Credential> {
  const [id, secret] = ['abcdef', '0123456789abcdef'];
  const stringData = { 'token-id': id, 'token-secret': secret, 'usage-bootstrap-authentication': 'true' };
  const object = {
    metadata: { name: `bootstrap-token-${id}` },
    type: 'bootstrap.kubernetes.io/token',
    stringData,
  };
  const made = await client.post(secretPath, object);
  expect(made.status, made.text).toBeLessThan(300);
  return { headers: { authorization: `Bearer ${id}.${secret}` } };
}

interface Opened {
  /** Events that came. */
  seen: string;
  readonly ended: Promise<string>;
  close(): void;
}

/** A watch over HTTP that has sent its first event. */
const watch = (what: string, { headers, ...tls }: Credential): Promise<Opened> =>
  new Promise((resolve, reject) => {
    const options = { ...tls, headers, rejectUnauthorized: false, agent: false };
    const sent = request(`${cluster.secureUrl}${watched}?watch=true`, options, (answer) => {
      const opened: Opened = {
        seen: '',
        ended: new Promise((done) => answer.once('close', () => done(what)).on('error', () => undefined)),
        close: () => sent.destroy(),
      };
      answer.setEncoding('utf8').on('data', (chunk) => {
        opened.seen += chunk;
        resolve(opened);
      });
      if (answer.statusCode !== 200) reject(new Error(`${what}: ${answer.statusCode}`));
    });
    sent.on('error', reject).end();
  });

const socketOf = ({ headers, ...tls }: Credential): Promise<WatchesClient> =>
  WatchesClient.open(cluster.secureUrl!, [], {
    ...tls,
    headers: headers as Record<string, string>,
    rejectUnauthorized: false,
  });

it('watches end with their credential, and others go on', async () => {
  await client.post(watched, { metadata: { name: 'first' } });
  const certified = clients.issue(
    { subject: { commonName: 'carla' }, usages: clientUsages, lifeMs: yearMs },
    Date.now(),
  );
  const robot = await account('robot');
  const actor = await account('actor');
  const credentials: Record<string, Credential> = {
    'a deleted account': robot,
    'a deleted account that acts for another': {
      headers: { ...actor.headers, 'Impersonate-User': 'anna' },
    },
    'a token that has expired': await bootstrapToken(),
    'a certificate whose authority is gone': certified,
  };
  const stays = await watch('stays', await account('lasting'));
  const ends: Promise<string>[] = [];
  const sockets: WatchesClient[] = [];
  for (const [what, credential] of Object.entries(credentials)) {
    ends.push((await watch(what, credential)).ended);
    const socket = await socketOf(credential);
    await socket.watch('w', `${watched}?watch=true`);
    sockets.push(socket);
    ends.push(socket.closed.then(() => `${what}, on a shared socket`));
  }

  const begunMs = performance.now();
  for (const name of ['robot', 'actor'])
    await client.delete(`/api/v1/namespaces/default/serviceaccounts/${name}`);
  const expiration = Buffer.from('2020-01-01T00:00:00Z').toString('base64');
  await client.patch(`${secretPath}/bootstrap-token-abcdef`, { data: { expiration } });
  await writeFile(path.join(folder, 'clients.crt'), pem().pem.cert);
  // A socket starts no watch any more, even before it ends.
  sockets[0]!.start('late', `${watched}?watch=true`);
  expect(await sockets[0]!.next(({ id }) => id === 'late')).toMatchObject({
    type: 'REFUSED',
    object: { code: 401 },
  });

  const whats = Object.keys(credentials);
  expect((await Promise.all(ends)).sort()).toEqual(
    whats.flatMap((what) => [what, `${what}, on a shared socket`]).sort(),
  );
  expect(performance.now() - begunMs).toBeLessThan(endMaxMs);
  await client.post(watched, { metadata: { name: 'second' } });
  await expect.poll(() => stays.seen, { timeout: 60_000 }).toContain('"second"');
  stays.close();
}, 150_000);
