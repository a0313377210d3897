/** Versions of the API that another server serves: forwarding, identities, availability and discovery. */

import type { IncomingMessage, ServerResponse } from 'node:http';
import { createServer, type Server } from 'node:https';
import { type AddressInfo, connect } from 'node:net';
import type { TLSSocket } from 'node:tls';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Authority, clientUsages, makeAuthority, servingUsages } from '../../src/pki/authority.ts';
import { sentBy } from '../../src/server/doors/named-door.fixture.ts';
import type { Json } from '../support/http.ts';
import { WatchesClient } from '../support/watches-client.ts';
import { AggregatedServer } from './aggregated-server.ts';

const lifeMs = 3600_000;
const waitMs = 60_000;
const name = 'v1.things.example.com';
const services = '/apis/apiregistration.k8s.io/v1/apiservices';
const watched = '/apis/things.example.com/v1/things?watch=true';
const anna = {
  name: 'anna',
  uid: '7',
  groups: ['dev', 'ops'],
  extra: { 'scopes.example.com/a': ['x', 'y'] },
};

describe('a version of another server', () => {
  const authority = new Authority(makeAuthority('test', Date.now()));
  const certificate = authority.issue(
    { subject: { commonName: 'front-proxy-client' }, usages: clientUsages, lifeMs },
    Date.now(),
  );
  const api = new AggregatedServer(
    () => (other.address() as AddressInfo).port,
    () => certificate,
  );
  const seen: {
    url: string;
    method: string;
    headers: IncomingMessage['headersDistinct'];
    peer: string;
    body: string;
  }[] = [];
  let failing = false;
  const serving = authority.issue(
    { subject: { commonName: 'things' }, usages: servingUsages, hosts: ['things.team.svc'], lifeMs },
    Date.now(),
  );
  const other: Server = createServer(
    { ...serving, ca: authority.pem.cert, requestCert: true, rejectUnauthorized: false },
    async (request: IncomingMessage, response: ServerResponse) => {
      const chunks: Buffer[] = [];
      for await (const chunk of request) chunks.push(chunk as Buffer);
      const { url, method, headersDistinct } = request;
      const peer = String((request.socket as TLSSocket).getPeerCertificate().subject?.CN);
      seen.push({
        url: url!,
        method: method!,
        headers: headersDistinct,
        peer,
        body: Buffer.concat(chunks).toString(),
      });
      if (failing) return void response.writeHead(500).end();
      if (url === '/apis/things.example.com/v1') return void response.end(JSON.stringify(resources));
      if (url === watched) {
        response.write('{"type":"ADDED","obj');
        setImmediate(() =>
          response.end('ect":{"n":9007199254740993},"id":"spoofed"}\n{"type":"DELETED","object":{}}\n'),
        );
        return;
      }
      if (url === '/apis/things.example.com/v1/moved')
        return void response.writeHead(302, { Location: 'https://elsewhere.example.com/' }).end();
      response.writeHead(418, { 'X-Other': 'yes' }).end('from the other server');
    },
  );
  other.on('upgrade', (_request, socket) => {
    socket.write('HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: echo\r\n\r\n');
    socket.pipe(socket);
  });
  const resources = {
    kind: 'APIResourceList',
    groupVersion: 'things.example.com/v1',
    resources: [
      // What cannot be is left out.
      { name: 'red\u001b[31m', kind: 'Thing', verbs: [] },
      { name: 'five', kind: 'Thing', verbs: [5] },
      { name: 'short', kind: 'Thing', verbs: [], shortNames: 5 },
      { name: 'grouped', kind: 'Thing', verbs: [], group: {} },
      { name: 'things', singularName: 'thing', namespaced: true, kind: 'Thing', verbs: ['get', 'list'] },
    ],
  };
  const caBundle = Buffer.from(authority.pem.cert).toString('base64');
  const spec = {
    group: 'things.example.com',
    version: 'v1',
    groupPriorityMinimum: 17_900,
    versionPriority: 10,
    caBundle,
    service: { namespace: 'team', name: 'things' },
  };

  beforeAll(async () => {
    await new Promise<void>((resolve) => other.listen(0, '127.0.0.1', resolve));
    await api.start();
    await api.post('/api/v1/namespaces', { metadata: { name: 'team' } });
  });
  afterAll(async () => {
    await api.close();
    other.closeAllConnections();
    await new Promise((resolve) => other.close(resolve));
    expect(api.failures).toEqual([]);
  });

  /** Waits for the condition of the APIService. */
  async function reason(wanted: string): Promise<Json> {
    const end = Date.now() + waitMs;
    for (;;) {
      const { body } = await api.get(`${services}/${name}`);
      const condition = body.status?.conditions?.[0];
      if (condition?.reason === wanted) return condition;
      if (Date.now() > end) throw new Error(`the condition is ${JSON.stringify(condition)}`);
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
  }

  it('is not available before its service has endpoints', async () => {
    await api.post(services, { metadata: { name }, spec });
    expect((await reason('ServiceNotFound')).message).toBe('service/things in "team" is not present');
    const ports = [{ name: 'https', port: 444 }];
    await api.post('/api/v1/namespaces/team/services', {
      metadata: { name: 'things' },
      spec: { clusterIP: 'None', ports },
    });
    expect((await reason('ServicePortError')).message).toBe(
      'service/things in "team" is not listening on port 443',
    );
    await api.patch('/api/v1/namespaces/team/services/things', {
      spec: { ports: [{ name: 'https', port: 443 }] },
    });
    await reason('EndpointsNotFound');
    const endpoints = {
      metadata: { name: 'things' },
      subsets: [{ addresses: [{ ip: '10.9.9.9' }], ports: [{ name: 'other', port: 8443 }] }],
    };
    await api.post('/api/v1/namespaces/team/endpoints', endpoints);
    expect((await reason('MissingEndpoints')).message).toBe(
      'endpointslices for service/things in "team" have no addresses with port name "https"',
    );
    expect((await api.get('/apis/things.example.com/v1/things')).text).toBe('service unavailable\n');
    endpoints.subsets[0]!.ports[0]!.name = 'https';
    await api.put('/api/v1/namespaces/team/endpoints/things', endpoints);
    expect(await reason('Passed')).toMatchObject({ status: 'True', message: 'all checks passed' });
    expect(seen[0]!.headers).toMatchObject({
      'x-remote-user': ['system:kube-aggregator'],
      'x-remote-group': ['system:masters'],
    });
  });

  it('gets requests of any method as they came, with the user in headers', async () => {
    seen.length = 0;
    const path = '/apis/things.example.com/v1/namespaces/a/things/x%2Fy?watch=no&a=%20';
    const reply = await api.request('PROPFIND', path, 'hello', {
      ...sentBy(anna),
      Authorization: 'Bearer secret',
      'X-Remote-User': 'root',
      'Content-Type': 'text/plain',
    });
    expect([reply.status, reply.text, reply.headers['x-other']]).toEqual([
      418,
      'from the other server',
      'yes',
    ]);
    const { url, method, headers, peer, body } = seen.find((one) => one.method === 'PROPFIND')!;
    expect({ url, method, peer, body }).toEqual({
      url: path,
      method: 'PROPFIND',
      peer: 'front-proxy-client',
      body: 'hello',
    });
    expect(headers).toMatchObject({
      'x-remote-user': ['anna'],
      'x-remote-uid': ['7'],
      'x-remote-group': ['dev', 'ops'],
      'x-remote-extra-scopes.example.com%2fa': ['x', 'y'],
    });
    expect(headers.authorization).toBeUndefined();
    expect((await api.get('/apis/things.example.com/v1')).body).toEqual(resources);
  });

  it('gets upgrades', async () => {
    const { port } = new URL(api.url);
    const socket = connect(Number(port), '127.0.0.1');
    const lines = [
      'GET /apis/things.example.com/v1/stream HTTP/1.1',
      'Host: x',
      'Connection: Upgrade',
      'Upgrade: echo',
    ];
    socket.write(`${lines.join('\r\n')}\r\n\r\n`);
    let text = '';
    for await (const chunk of socket) {
      text += String(chunk);
      if (text.endsWith('\r\n\r\n')) socket.write('ping');
      if (text.endsWith('ping')) break;
    }
    expect(text).toMatch(/^HTTP\/1\.1 101 /);
  });

  it('cannot send clients elsewhere', async () => {
    const reply = await api.get('/apis/things.example.com/v1/moved');
    expect(reply.status).toBe(502);
    expect(reply.text).toBe('the backend attempted to redirect this request, which is not permitted');
    expect(reply.headers.location).toBeUndefined();
  });

  it('gets watches of a connection of several', async () => {
    seen.length = 0;
    const client = await WatchesClient.open(api.url, [], { headers: sentBy(anna) });
    client.start('one', watched);
    client.start('two', `${watched}&refused=1`);
    for (const id of ['one', 'two'])
      await client.next((message) => message.id === id && /ENDED|REFUSED/.test(message.type));
    client.close();
    // Written anew: what is no part of an event is left out, and numbers stay exact.
    expect(client.texts.filter((text) => text.includes('"one"'))).toEqual([
      '{"id":"one","type":"STARTED"}',
      '{"id":"one","type":"ADDED","object":{"n":9007199254740993}}\n',
      '{"id":"one","type":"DELETED","object":{}}\n',
      '{"id":"one","type":"ENDED"}',
    ]);
    const status = { kind: 'Status', code: 418, message: 'from the other server' };
    expect(client.ofWatch('two')).toMatchObject([{ type: 'REFUSED', object: status }]);
    expect(seen.find(({ url }) => url === watched)!.headers).toMatchObject({ 'x-remote-user': ['anna'] });
  });

  it('is listed where its priority puts it, with the resources it has', async () => {
    const groups = (await api.get('/apis')).body.groups.map((one: Json) => one.name);
    expect(groups.slice(0, 3)).toEqual(['apiregistration.k8s.io', 'things.example.com', 'apps']);
    const Accept = 'application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList';
    const { items } = (await api.get('/apis', { Accept })).body;
    expect(items[1].versions[0].resources).toHaveLength(1);
    expect(items[1]).toMatchObject({
      metadata: { name: 'things.example.com' },
      versions: [
        { version: 'v1', freshness: 'Current', resources: [{ resource: 'things', verbs: ['get', 'list'] }] },
      ],
    });
  });

  it('is described by the OpenAPI document of its server', async () => {
    const place = '/openapi/v3/apis/things.example.com/v1';
    const { paths } = (await api.get('/openapi/v3')).body;
    expect(paths['apis/things.example.com/v1']).toEqual({ serverRelativeURL: place });
    expect((await api.get(place)).text).toBe('from the other server');
  });

  it('is available, and cannot be reached, when its certificate is not trusted', async () => {
    const stranger = makeAuthority('stranger', Date.now());
    await api.patch(`${services}/${name}`, {
      spec: { caBundle: Buffer.from(stranger.cert).toString('base64') },
    });
    await reason('Passed');
    const { status, text } = await api.get('/apis/things.example.com/v1/things');
    expect([status, text]).toEqual([
      503,
      'error trying to reach service: tls: failed to verify certificate: x509: certificate signed by unknown authority\n',
    ]);
    await api.patch(`${services}/${name}`, { spec: { caBundle } });
  });

  it('has a status of known values', async () => {
    const wrong = { status: { conditions: [{ type: 'Available', status: 'Maybe' }] } };
    const { body } = await api.patch(`${services}/${name}/status`, wrong);
    expect(body.message).toContain(
      'status.conditions[0].status: Unsupported value: "Maybe": supported values: "True", "False", "Unknown"',
    );
  });

  it('is not available when its server fails, and gone with its APIService', async () => {
    failing = true;
    await api.patch(`${services}/${name}`, { metadata: { labels: { look: 'again' } } });
    expect((await reason('FailedDiscoveryCheck')).message).toMatch(
      /^failing or missing response from https:\/\/things\.team\.svc:443\/apis\/things\.example\.com\/v1: bad status from https:\/\/things\.team\.svc:443\/apis\/things\.example\.com\/v1: 500$/,
    );
    expect((await api.get('/apis/things.example.com/v1/things')).status).toBe(503);
    await api.delete(`${services}/${name}`);
    expect((await api.get('/apis/things.example.com/v1/things')).text).toBe('404 page not found\n');
  });

  it('takes the place of one that is served here', async () => {
    failing = false;
    const local = 'v1.scheduling.k8s.io';
    await api.patch(`${services}/${local}`, {
      spec: { caBundle, service: { namespace: 'team', name: 'things' } },
    });
    const path = '/apis/scheduling.k8s.io/v1/priorityclasses';
    const end = Date.now() + waitMs;
    while ((await api.get(path)).status !== 418) {
      expect(Date.now()).toBeLessThan(end);
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
    await api.patch(`${services}/${local}`, { spec: { caBundle: null, service: null } });
    expect((await api.get(path)).body.kind).toBe('PriorityClassList');
    expect((await api.get(`${services}/${local}`)).body.status.conditions[0].reason).toBe('Local');
  });
});
