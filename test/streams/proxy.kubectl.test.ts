/** Proves that pods and services are reached through the API server, and through `kubectl proxy` in front of it. */
import { once } from 'node:events';
import { request } from 'node:http';
import { pipeline } from 'node:stream/promises';
import { beforeAll, describe, expect, it } from 'vitest';
import { WebSocket } from 'ws';
import { Client } from '../support/http.ts';
import { describeWith } from '../support/tools.ts';
import { much, Noise, sumUp } from './bytes.ts';
import { unusedPort } from './port-server.ts';
import { isReady, podOf, podsPath, shell, useRunningCluster } from './running.ts';
import { webServer } from './web-server.ts';

const cluster = useRunningCluster();
const services = '/api/v1/namespaces/default/services';
let port = 0;
let pod = '';

beforeAll(async () => {
  port = await unusedPort();
  pod = `${podsPath}/web:${port}/proxy`;
  await cluster.run(podOf('web', webServer(port)));
});

describe('a pod', () => {
  it('answers what it is asked, and never sees credentials', async () => {
    const headers = { Authorization: 'Bearer secret', 'Impersonate-User': 'root', 'X-Mine': 'yes' };
    const { status, body } = await cluster.client.post(`${pod}/some/path?a=b`, 'body', headers);
    expect(status).toBe(200);
    expect(body).toMatchObject({
      pod: 'web',
      method: 'POST',
      url: '/some/path?a=b',
      headers: { 'x-mine': 'yes' },
    });
    expect(JSON.stringify(body)).not.toMatch(/secret|impersonate/i);
  });

  it('is found at its first port when none is given', async () => {
    expect((await cluster.client.get(`${podsPath}/web/proxy/`)).body).toMatchObject({ pod: 'web', url: '/' });
    expect((await cluster.client.get('/api/v1/proxy/namespaces/default/pods/web/old')).body.url).toBe('/old');
  });

  it('has its bare path sent on, its redirects and links kept below it', async () => {
    const bare = await cluster.client.get(`${pod}?x=1`);
    expect([bare.status, bare.headers.location]).toEqual([301, `${pod}/?x=1`]);
    const redirect = await cluster.client.get(`${pod}/redirect`);
    expect([redirect.status, redirect.headers.location]).toEqual([302, `${pod}/target?a=b`]);
    const page = await cluster.client.get(`${pod}/page`);
    expect(page.text).toContain(`<a href="${pod}/target">`);
    expect(page.text).toMatch(/<img src=["']rel\.png["']>/);
    expect(await cluster.client.get(`${pod}/missing`)).toMatchObject({ status: 404, text: 'not here' });
  });

  it('gets many megabytes and gives them back', async () => {
    const noise = new Noise(much);
    const sent = request(`${cluster.client.url}${pod}/mirror`, { method: 'POST' });
    const answered = once(sent, 'response');
    const sum = answered.then(([response]) => sumUp(response));
    await pipeline(noise, sent);
    expect(await sum).toEqual(noise.sum);
  });

  it('talks over a WebSocket', async () => {
    const socket = new WebSocket(`${cluster.client.url.replace('http', 'ws')}${pod}/socket?q=1`);
    await once(socket, 'open');
    socket.send('hello');
    const [data] = await once(socket, 'message');
    expect(String(data)).toBe('hello');
    socket.close(1000);
    expect((await once(socket, 'close'))[0]).toBe(1000);
  });

  it('that does not listen, or says it is this machine, is refused', async () => {
    const free = await unusedPort();
    const refused = await cluster.client.get(`${podsPath}/web:${free}/proxy/`);
    expect(refused.body).toMatchObject({ code: 503, reason: 'ServiceUnavailable' });
    expect(refused.body.message).toMatch(/^error trying to reach service: dial tcp .*connection refused$/);
    await cluster.client.post(podsPath, podOf('liar', shell('true'), { nodeSelector: { no: 'node' } }));
    await cluster.client.patch(`${podsPath}/liar/status`, { status: { podIP: '127.0.0.1' } });
    const loopback = await cluster.client.get(`${podsPath}/liar:${port}/proxy/`);
    expect(loopback.body).toMatchObject({ code: 400, message: 'address not allowed' });
  });
});

describeWith('kubectl')('a service', () => {
  it('of a replication controller answers by its pods, whichever they are', async () => {
    const free = await unusedPort();
    const template = { ...podOf('x', webServer(free)), metadata: { labels: { app: 'many' } } };
    const { kubectl } = cluster;
    const rc = { apiVersion: 'v1', kind: 'ReplicationController', metadata: { name: 'many' } };
    await kubectl.run('create', '-f', kubectl.file('rc.json', { ...rc, spec: { replicas: 1, template } }));
    await kubectl.run('expose', 'rc', 'many', '--port=80', '--target-port=web');
    const ask = async () => (await cluster.client.get(`${services}/many/proxy/`)).body;
    await expect.poll(ask).toMatchObject({ url: '/' });
    const { pod: first } = await ask();
    const endpoints = await kubectl.json('get', 'endpoints', 'many');
    expect(endpoints.subsets).toMatchObject([
      { addresses: [{ targetRef: { kind: 'Pod', name: first } }], ports: [{ port: free }] },
    ]);
    // Ports may also be given by number.
    expect((await cluster.client.get(`${services}/many:80/proxy/a`)).body.url).toBe('/a');
    await kubectl.run('delete', 'pod', first);
    await expect
      .poll(async () => (await ask())?.pod ?? first)
      .toMatch(new RegExp(`^many-(?!${first.slice(5)})`));
    await kubectl.run('scale', 'rc', 'many', '--replicas=0');
    await expect.poll(ask).toMatchObject({ code: 503, message: 'no endpoints available for service "many"' });
  });

  it('without anybody behind it says so', async () => {
    await cluster.client.post(services, {
      metadata: { name: 'empty' },
      spec: { selector: { app: 'none' }, ports: [{ port: 80 }] },
    });
    await expect
      .poll(async () => (await cluster.client.get(`${services}/empty/proxy/`)).body)
      .toMatchObject({
        code: 503,
        reason: 'ServiceUnavailable',
        message: 'no endpoints available for service "empty"',
      });
    expect((await cluster.client.get(`${services}/nothing/proxy/`)).body).toMatchObject({ code: 404 });
  });
});

describe('the node', () => {
  it('answers as a kubelet', async () => {
    expect((await cluster.client.get('/api/v1/nodes/here/proxy/healthz')).text).toBe('ok');
    const { body } = await cluster.client.get('/api/v1/nodes/here/proxy/pods');
    expect(body.items.map((item: { metadata: { name: string } }) => item.metadata.name)).toContain('web');
  });
});

describeWith('kubectl')('kubectl proxy', () => {
  it('leads to pods and services', async () => {
    const command = cluster.command('proxy', '--port=0');
    const [, address] = await command.until(/Starting to serve on (\S+)/);
    const client = new Client(`http://${address}`);
    expect((await client.get(`${pod}/through?it=1`)).body).toMatchObject({
      pod: 'web',
      url: '/through?it=1',
    });
    const spec = { selector: { app: 'web' }, ports: [{ port: 80, targetPort: 'web' }] };
    await cluster.client.post(services, { metadata: { name: 'web' }, spec });
    await expect
      .poll(async () => (await client.get(`${services}/web/proxy/service`)).body)
      .toMatchObject({ pod: 'web', url: '/service' });
    expect((await client.get(`${podsPath}/web`)).body).toSatisfy(isReady);
    await command.end();
  });
});
