/**
 * Proves that nothing is created without the right to create, for every kind and at both doors: not by a PUT of a name that
 * is free, nor by an apply, with force or without.
 */
import { Agent, request } from 'node:https';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Cluster, start } from '../../src/cluster/index.ts';
import { samples } from '../contract/samples.ts';
import { Client, type Json } from '../support/http.ts';

const rbac = '/apis/rbac.authorization.k8s.io/v1';
const apply = 'application/apply-patch+yaml';
const name = 'made-by-writer';
const users = [{ name: 'writer', token: 'writer-token' }];
const agent = new Agent({ keepAlive: true, rejectUnauthorized: false });
let cluster: Cluster;
const client = new Client(() => cluster.url);

interface Resource {
  readonly path: string;
  readonly body: Json;
  /** Whether one who may create it gets it. */
  readonly isGood: boolean;
}

/** Every kind that can be updated or patched, with an object of it. */
const resources: Resource[] = [];

beforeAll(async () => {
  cluster = await start({ store: 'memory', controllers: false, secure: true, users });
  const roleRef = { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'writer' };
  const rules = [{ apiGroups: ['*'], resources: ['*'], verbs: ['get', 'list', 'watch', 'update', 'patch'] }];
  await client.post(`${rbac}/clusterroles`, { metadata: { name: 'writer' }, rules });
  const subjects = [{ apiGroup: 'rbac.authorization.k8s.io', kind: 'User', name: 'writer' }];
  await client.post(`${rbac}/clusterrolebindings`, { metadata: { name: 'writer' }, roleRef, subjects });
  const { groups } = (await client.get('/apis')).body;
  const versions = groups.flatMap((group: Json) => group.versions.map((one: Json) => one.groupVersion));
  for (const apiVersion of ['v1', ...versions] as string[]) {
    const base = apiVersion === 'v1' ? '/api/v1' : `/apis/${apiVersion}`;
    for (const { name: plural, kind, namespaced, verbs } of (await client.get(base)).body.resources) {
      if (plural.includes('/') || !verbs.some((verb: string) => verb === 'update' || verb === 'patch'))
        continue;
      const namespace = namespaced ? 'default' : '';
      const made = samples[kind]?.manifest(namespace, name) ?? {};
      const metadata = { ...made.metadata, name, ...(namespaced ? { namespace } : {}) };
      const path = `${base}${namespaced ? '/namespaces/default' : ''}/${plural}/${name}`;
      const body = { ...made, apiVersion, kind, metadata };
      const tried = await client.patch(`${path}?fieldManager=t&dryRun=All`, body, apply);
      resources.push({ path, body, isGood: tried.status < 300 });
    }
  }
});

afterAll(async () => {
  agent.destroy();
  await cluster.close();
});

type Send = (
  method: string,
  path: string,
  type: string,
  body: Json,
) => Promise<{ code: number; text: string }>;

/** At the secure door, as the user. */
const securely: Send = (method, path, type, body) =>
  new Promise((resolve, reject) => {
    const headers = { authorization: 'Bearer writer-token', 'content-type': type };
    const options = { method, headers, agent };
    const sent = request(`${cluster.secureUrl}${path}`, options, (answer) => {
      let text = '';
      answer.setEncoding('utf8').on('data', (chunk) => {
        text += chunk;
      });
      answer.on('end', () => resolve({ code: answer.statusCode!, text })).on('error', reject);
    });
    sent.on('error', reject).end(JSON.stringify(body));
  });

/** At the local door, by an administrator who acts as the user. */
const locally: Send = async (method, path, type, body) => {
  const headers = { 'Impersonate-User': 'writer', 'Content-Type': type };
  const { status: code, text } = await client.request(method, path, JSON.stringify(body), headers);
  return { code, text };
};

describe.each([
  ['the secure door', securely],
  ['the local door, for others', locally],
])('at %s', (_door, send) => {
  it('nothing is created by those who may only update and patch', async () => {
    expect(resources.length).toBeGreaterThan(60);
    let refused = 0;
    for (const { path, body, isGood } of resources) {
      const tries = [
        ['PUT', '', 'application/json'],
        ['PATCH', '?fieldManager=t', apply],
        ['PATCH', '?fieldManager=t&force=true', apply],
        ['PUT', '?dryRun=All', 'application/json'],
        ['PATCH', '?fieldManager=t&dryRun=All', apply],
        ['PATCH', '', 'application/merge-patch+json'],
      ] as const;
      for (const [method, query, type] of tries) {
        const { code, text } = await send(method, path + query, type, body);
        expect([path, method, query, code >= 400]).toEqual([path, method, query, true]);
        // Where the object is good, the right is what is missing.
        if (!isGood || type === 'application/merge-patch+json') continue;
        if (method === 'PATCH')
          expect([path, code, text]).toEqual([path, 403, expect.stringContaining('cannot create')]);
        else expect([path, [403, 404, 405, 409, 422].includes(code)]).toEqual([path, true]);
        refused++;
      }
      expect([path, (await client.get(path)).status]).toEqual([path, 404]);
    }
    expect(refused).toBeGreaterThan(150);
  }, 120_000);
});
