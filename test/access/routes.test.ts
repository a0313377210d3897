/**
 * Walks every route of the router as users without any rights: each must be refused by a decision, and no handler may even be
 * looked for. A route that is answered without a decision fails here.
 */
import { once } from 'node:events';
import { connect } from 'node:net';
import { afterAll, afterEach, beforeAll, expect, it, vi } from 'vitest';
import type { User } from '../../src/api/values/user.ts';
import { Discovery } from '../../src/server/discovery/discovery.ts';
import { sentBy } from '../../src/server/doors/named-door.fixture.ts';
import type { ResourceRoutes, Route } from '../../src/server/http/routes.ts';
import { computedVersions, type Resources, RouteTable } from '../../src/server/route-table.ts';
import { Router } from '../../src/server/router.ts';
import { AccessServer } from './access-server.ts';

const methods = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'];
/** Requests that are sent at the same time. */
const width = 40;

interface Asked {
  readonly method: string;
  readonly path: string;
}

const server = new AccessServer();
beforeAll(() => server.start());
afterAll(() => server.close());
afterEach(() => void vi.restoreAllMocks());

const methodsOf = (route: Route): string[] => (typeof route === 'function' ? methods : [...route.keys()]);

/** All ways to ask for one resource. */
function* asksFor(apiVersion: string, resource: string, routes: ResourceRoutes): Iterable<Asked> {
  const root = apiVersion === 'v1' ? '/api/v1' : `/apis/${apiVersion}`;
  const places = routes.namespaced || routes.all ? ['', '/namespaces/default'] : [''];
  for (const place of places) {
    const base = `${root}${place}/${resource}`;
    const object = `${base}/x`;
    const all = (path: string, route: Route | undefined): Asked[] =>
      route ? methodsOf(route).map((method) => ({ method, path })) : [];
    yield* all(base, routes.all ?? routes.collection);
    yield* all(object, routes.all ?? routes.object);
    for (const [part, route] of routes.parts) yield* all(`${object}/${part}`, route);
    if (!routes.watch) continue;
    yield { method: 'GET', path: `${base}?watch=true` };
    yield { method: 'GET', path: `${base}?watch=1&fieldSelector=metadata.name%3Dx` };
    yield { method: 'GET', path: `${root}/watch${place}/${resource}` };
    yield { method: 'GET', path: `${root}/watch${place}/${resource}/x` };
  }
}

function allAsked(): Asked[] {
  const { kinds } = server.registry;
  const resources = { serving: { registry: server.registry }, components: [] } as unknown as Resources;
  const asked: Asked[] = [];
  for (const { apiVersion, resource, routes } of new RouteTable(resources).entries()) {
    if (resource !== undefined && typeof routes !== 'function')
      asked.push(...asksFor(apiVersion, resource, routes));
    else
      for (const { name, namespaced } of computedVersions.get(apiVersion) ?? [])
        for (const method of methods) {
          const place = namespaced ? '/namespaces/default' : '';
          asked.push({ method, path: `/apis/${apiVersion}${place}/${name}` });
        }
  }
  const paths = [
    ...new Discovery(kinds, computedVersions).paths(),
    '/',
    '/healthz/ping',
    '/readyz/poststarthook/rbac/bootstrap-roles',
    '/wherry/backup',
    '/wherry/changes',
    '/wherry/history',
    '/wherry/import',
    '/wherry/problems',
    '/wherry/search',
    '/wherry/snapshots',
    '/.well-known/openid-configuration',
    '/openid/v1/jwks',
    '/openapi/v3/apis/apps/v1',
    '/swaggerapi/api/v1',
    '/api/v1/proxy/namespaces/default/pods/x/y',
    '/api/v1/namespaces/default/services/x/proxy/y',
    '/api/v1/nodes/x/proxy/metrics',
    '/no/such/path',
  ];
  for (const path of paths) for (const method of methods) asked.push({ method, path });
  return asked;
}

/** Sends all, and answers with those whose status is another one than 403. */
async function notRefused(asked: readonly Asked[], user: User): Promise<string[]> {
  const found: string[] = [];
  const left = [...asked];
  const worker = async (): Promise<void> => {
    for (let one = left.pop(); one; one = left.pop()) {
      const { status } = await server.request(one.method, one.path, undefined, sentBy(user));
      if (status !== 403) found.push(`${status} ${one.method} ${one.path}`);
    }
  };
  await Promise.all(Array.from({ length: width }, worker));
  return found;
}

const nobody: User = { name: 'nobody', groups: [] };
const known: User = { name: 'known', groups: ['system:authenticated'] };
const timeout = 120_000;

it('refuses all of them, and looks for no handler', { timeout }, async () => {
  const find = vi.spyOn(Router.prototype, 'find').mockClear();
  const asked = allAsked();
  expect(asked.length).toBeGreaterThan(1_000);
  expect(await notRefused(asked, nobody)).toEqual([]);
  expect(find).not.toHaveBeenCalled();
});

it('lets known users do no more than the default roles say', { timeout }, async () => {
  const allowed = (await notRefused(allAsked(), known)).map((text) => text.replace(/^\d+ (HEAD|GET)? ?/, ''));
  const isDocument = (text: string): boolean =>
    /^\/(api|apis|openapi|healthz|livez|readyz|version)(\/|$)/.test(text) &&
    !/^\/(api\/v1|apis\/[^/]+\/[^/]+)\/./.test(text);
  expect(allowed.filter((text) => !isDocument(text)).sort()).toEqual([
    '/wherry/changes',
    '/wherry/history',
    '/wherry/problems',
    '/wherry/search',
    'POST /apis/authentication.k8s.io/v1/selfsubjectreviews',
    'POST /apis/authorization.k8s.io/v1/selfsubjectaccessreviews',
    'POST /apis/authorization.k8s.io/v1/selfsubjectrulesreviews',
  ]);
});

it('refuses upgrades of the connection, too', async () => {
  const { hostname, port } = new URL(server.url);
  const find = vi.spyOn(Router.prototype, 'find').mockClear();
  for (const path of [
    '/api/v1/namespaces/default/pods/x/exec?command=sh',
    '/api/v1/namespaces/default/pods/x/portforward',
    '/api/v1/namespaces/default/pods/x/proxy/',
    '/api/v1/pods?watch=true',
    '/no/such/path',
  ]) {
    const socket = connect(Number(port), hostname);
    const headers = {
      Host: 'x',
      Connection: 'Upgrade',
      Upgrade: 'websocket',
      'Sec-WebSocket-Version': '13',
      'Sec-WebSocket-Key': `${'A'.repeat(22)}==`,
      ...sentBy(nobody),
    };
    const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
    socket.write(`GET ${path} HTTP/1.1\r\n${lines.join('')}\r\n`);
    const [first] = (await once(socket, 'data')) as [Buffer];
    expect(first.toString().split('\r\n')[0], path).toBe('HTTP/1.1 403 Forbidden');
    socket.destroy();
  }
  expect(find).not.toHaveBeenCalled();
});
