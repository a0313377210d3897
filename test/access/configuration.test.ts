/** Proves over TLS that a changed authorization configuration file counts, and that AlwaysAllow in it ends anonymous access. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { request } from 'node:https';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { type Cluster, start } from '../../src/cluster/index.ts';

let folder: string;
let cluster: Cluster;
const told: string[] = [];

const choose = (...types: string[]): Promise<void> =>
  writeFile(
    path.join(folder, 'authorization.yaml'),
    JSON.stringify({
      apiVersion: 'apiserver.config.k8s.io/v1',
      kind: 'AuthorizationConfiguration',
      authorizers: types.map((type) => ({ type, name: type.toLowerCase() })),
    }),
  );

beforeAll(async () => {
  folder = await mkdtemp(path.join(tmpdir(), 'wherry-configuration-'));
  await choose('Node', 'RBAC');
  cluster = await start({
    store: 'memory',
    controllers: false,
    secure: { authorizationConfigFile: path.join(folder, 'authorization.yaml') },
    users: [{ name: 'eve', token: 'eve-token' }],
    onWarning: (message) => void told.push(message),
  });
});
afterAll(async () => {
  await cluster.close();
  await rm(folder, { recursive: true });
});

const codeOf = (url: string, headers: Record<string, string> = {}): Promise<number> =>
  new Promise((resolve, reject) => {
    request(cluster.secureUrl + url, { headers, agent: false, rejectUnauthorized: false }, ({ statusCode }) =>
      resolve(statusCode!),
    )
      .on('error', reject)
      .end();
  });
const eve = { Authorization: 'Bearer eve-token' };

it('changes what users may do, and who is let in without credentials', async () => {
  expect([await codeOf('/version'), await codeOf('/api/v1/pods', eve)]).toEqual([200, 403]);
  await choose('Node', 'RBAC', 'AlwaysAllow');
  await expect.poll(() => codeOf('/api/v1/pods', eve)).toBe(200);
  expect(await codeOf('/version')).toBe(401);
  await choose('Node', 'RBAC');
  await expect.poll(() => codeOf('/api/v1/pods', eve)).toBe(403);
  expect(await codeOf('/version')).toBe(200);
  expect(told.filter((text) => text.includes('has changed'))).toEqual([
    expect.stringContaining('is decided by Node, RBAC, AlwaysAllow'),
    expect.stringContaining('is decided by Node, RBAC'),
  ]);
});
