/**
 * Proxying through the API: the request that a target gets, and the answer that the client gets. Streaming contract,
 * 5.
 */
import { once } from 'node:events';
import { createServer } from 'node:http';
import { connect } from 'node:net';
import { describe, expect, it } from 'vitest';
import { WebSocket, WebSocketServer } from 'ws';
import { failure, machineAddress, ns, useProxied } from './proxying.fixture.ts';

const api = useProxied();
const address = machineAddress ?? '';

describe('ids', () => {
  it('that are incomplete are no path of the API', async () => {
    // Proves that a prefix path is not taken for another resource.
    for (const path of [
      '/api/v1/proxy',
      '/api/v1/proxy/nodes',
      '/api/v1/proxy/namespaces/ns/pods',
      '/api/v1/proxy/pods/x',
    ])
      expect((await api.get(path)).status, path).toBe(404);
    expect((await api.get('/api/v1/proxy/nodes?watch=true')).status).toBe(404);
  });
});

describe.skipIf(!machineAddress)('pods', () => {
  it('are reached under the port that is asked for, in both forms', async () => {
    // Proves both forms of path end to end.
    const port = await api.echo();
    const pod = api.fresh('pod');
    await api.pod(pod, address);
    for (const path of [
      `${ns}/pods/${pod}:${port}/proxy/a/b?c`,
      `/api/v1/proxy/namespaces/ns/pods/http:${pod}:${port}/a/b?c`,
    ]) {
      const { status, body } = await api.get(path);
      expect([status, body.method, body.url]).toEqual([200, 'GET', '/a/b?c']);
      expect(body.headers['x-forwarded-uri']).toBe(path.replace('?c', ''));
    }
  });
});

describe('methods', () => {
  it.skipIf(!machineAddress)('pass, seven of them, on both forms', async () => {
    // Proves that all methods are forwarded with their body.
    const port = await api.echo();
    const pod = api.fresh('pod');
    await api.pod(pod, address);
    for (const base of [`${ns}/pods/${pod}:${port}/proxy`, `/api/v1/proxy/namespaces/ns/pods/${pod}:${port}`])
      for (const method of ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']) {
        const body = method === 'GET' || method === 'HEAD' ? '' : 'sent';
        const reply = await api.request(method, `${base}/x`, body);
        expect(reply.status).toBe(200);
        if (method !== 'HEAD') expect(reply.body).toMatchObject({ method, url: '/x', body });
      }
  });

  it('beyond those are not allowed', async () => {
    // Proves the 405, before any lookup.
    for (const method of ['TRACE', 'PROPFIND', 'LOCK'])
      for (const path of [`${ns}/pods/nope/proxy/x`, '/api/v1/proxy/nodes/nope/x'])
        expect(failure(await api.request(method, path))).toBe(
          '405 MethodNotAllowed the server does not allow this method on the requested resource',
        );
  });
});

describe.skipIf(!machineAddress)('paths', () => {
  const reached = async (): Promise<string> => {
    const port = await api.echo();
    const pod = api.fresh('pod');
    await api.pod(pod, address);
    return `${pod}:${port}`;
  };

  it('that end at the name are completed with a slash', async () => {
    // Proves the 301, its query, and that it is for GET and HEAD only.
    const id = await reached();
    for (const base of [`${ns}/pods/${id}/proxy`, `/api/v1/proxy/namespaces/ns/pods/${id}`]) {
      const reply = await api.get(`${base}?x=1&y=%2F`);
      expect([reply.status, reply.headers.location, reply.text]).toEqual([301, `${base}/?x=1&y=%2F`, '']);
      expect((await api.request('HEAD', base)).headers.location).toBe(`${base}/`);
      for (const method of ['POST', 'PUT', 'DELETE', 'PATCH', 'OPTIONS'])
        expect((await api.request(method, `${base}?x`)).body.url).toBe('/?x');
      expect((await api.get(`${base}/?x`)).body.url).toBe('/?x');
    }
  });

  it('are not redirected when there is no target', async () => {
    // Proves that the pod is looked up before redirecting.
    expect((await api.get(`${ns}/pods/nope/proxy`)).status).toBe(404);
  });

  it('cannot leave the target', async () => {
    // Proves that dot segments are resolved, plain or encoded, and that slashes stay where they were.
    const id = await reached();
    for (const base of [`${ns}/pods/${id}/proxy`, `/api/v1/proxy/namespaces/ns/pods/${id}`])
      for (const [tail, path] of [
        ['/../../../../../../etc', '/etc'],
        ['/a/../b', '/b'],
        ['/%2e%2e/exec/ns', '/exec/ns'],
        ['/..%2f..%2Fexec', '/exec'],
        ['/x/%2E%2E%2fy', '/y'],
        ['/@scope%2Fname', '/@scope%2Fname'],
        ['/a//b/', '/a//b/'],
        ['//host/x', '//host/x'],
        ['/%FF%00', '/%FF%00'],
        ['/http://other/', '/http://other/'],
        ['%2Fa', '/a'],
      ] as const)
        expect((await api.get(`${base}${tail}`)).body?.url, tail).toBe(path);
  });

  it('may be given as a parameter when they end at the name', async () => {
    // Proves the rule for `path`: the path's tail wins, and the parameter is consumed only when it is used.
    const id = await reached();
    const base = `${ns}/pods/${id}/proxy`;
    for (const [tail, url] of [
      ['?path=a/b', '/a/b'],
      ['?x=1&path=/a&y=2', '/a?x=1&y=2'],
      ['?%70ath=a', '/a'],
      ['?path=a%3Fb%23c%252F', '/a%3Fb%23c%252F'],
      ['?path=../../x', '/x'],
      ['?path=a+b', '/a%20b'],
      ['?path=a&path=b', '/a'],
      ['/?path=a', '/?path=a'],
      ['/x?path=a', '/x?path=a'],
    ] as const)
      expect((await api.get(`${base}${tail}`)).body?.url, tail).toBe(url);
    expect((await api.get(`${base}?path=`)).headers.location).toBe(`${base}/?path=`);
    expect((await api.get(`${base}?xpath=a`)).status).toBe(301);
    const old = `/api/v1/proxy/namespaces/ns/pods/${id}`;
    expect((await api.get(`${old}?path=a`)).headers.location).toBe(`${old}/?path=a`);
  });

  it('pass queries that mean something to the API', async () => {
    // Proves that watch, timeout, dryRun and pretty are passed to the target.
    const id = await reached();
    const query = 'watch=true&timeout=never&dryRun=x&pretty=1&limit=a&a=b=c&&d';
    expect((await api.get(`${ns}/pods/${id}/proxy/x?${query}`)).body.url).toBe(`/x?${query}`);
  });
});

describe.skipIf(!machineAddress)('headers', () => {
  it('keep the host, and no credentials', async () => {
    // Proves that credentials for the API never reach the target.
    const port = await api.echo();
    const pod = api.fresh('pod');
    await api.pod(pod, address);
    const { body } = await api.get(`${ns}/pods/${pod}:${port}/proxy/`, {
      Authorization: 'Bearer secret',
      'Impersonate-User': 'secret',
      'X-Remote-Group': 'secret',
      Host: 'localhost:1234',
    });
    expect(JSON.stringify(body.headers)).not.toContain('secret');
    expect(body.headers).toMatchObject({ host: 'localhost:1234', 'x-forwarded-for': '127.0.0.1' });
  });

  it('of answers get the prefix, and lose CORS in the connect form', async () => {
    // Proves that Location, HTML and CORS are rewritten, in both forms.
    const port = await api.listen(address, (request, response) => {
      response.setHeader('Access-Control-Allow-Origin', '*');
      response.setHeader('Location', '/next?a');
      response.setHeader('Content-Type', 'text/html');
      if (request.url === '/page') response.removeHeader('Location');
      response.end('<a href="/x">x</a>');
    });
    const pod = api.fresh('pod');
    await api.pod(pod, address);
    for (const [form, base] of [
      ['connect', `${ns}/pods/${pod}:${port}/proxy`],
      ['prefix', `/api/v1/proxy/namespaces/ns/pods/${pod}%3A${port}`],
    ] as const) {
      const reply = await api.get(`${base}/`);
      expect(reply.headers.location).toBe(`${base}/next?a`);
      expect(reply.headers['access-control-allow-origin']).toBe(form === 'connect' ? undefined : '*');
      expect(reply.headers['x-content-type-options']).toBe('nosniff');
      expect((await api.get(`${base}/page`)).text).toBe(`<a href="${base}/x">x</a>`);
    }
  });
});

describe.skipIf(!machineAddress)('upgrades', () => {
  it('carry a WebSocket, in both forms', async () => {
    // Proves a WebSocket echo through the API, without the browser's token.
    const server = createServer();
    const sockets = new WebSocketServer({ server });
    let seen: string[] = [];
    sockets.on('connection', (socket, request) => {
      seen = [request.url!, String(request.headers['sec-websocket-protocol'])];
      socket.on('message', (data) => socket.send(`echo ${data}`));
    });
    const port = await api.listen(address, server);
    const pod = api.fresh('pod');
    await api.pod(pod, address);
    for (const base of [`${ns}/pods/${pod}:${port}/proxy`, `/api/v1/proxy/namespaces/ns/pods/${pod}:${port}`])
      for (const [tail, url] of [
        ['/ws?a=b', '/ws?a=b'],
        ['', '/'],
      ]) {
        const client = new WebSocket(`${api.url.replace('http', 'ws')}${base}${tail}`, [
          'base64url.bearer.authorization.k8s.io.c2VjcmV0',
          'chat',
        ]);
        await once(client, 'open');
        client.send('hello');
        expect(String((await once(client, 'message'))[0])).toBe('echo hello');
        expect(seen).toEqual([url, 'chat']);
        client.close(1000);
        await once(client, 'close');
      }
  });

  it('without a target are refused with a Status', async () => {
    // Proves that failures before the tunnel are HTTP answers.
    const pod = api.fresh('pod');
    await api.pod(pod, address);
    const upgraded = async (path: string): Promise<string> => {
      const socket = connect(Number(new URL(api.url).port), '127.0.0.1').on('error', () => undefined);
      socket.write(
        `GET ${path} HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n`,
      );
      let text = '';
      for await (const chunk of socket) text += chunk;
      const body = JSON.parse(text.slice(text.indexOf('\r\n\r\n')));
      return `${body.code} ${body.reason ?? '-'} ${body.message}`;
    };
    expect(await upgraded(`${ns}/pods/${pod}:1/proxy/`)).toBe(
      `500 - error dialing backend: dial tcp ${address}:1: connect: connection refused`,
    );
    expect(await upgraded(`${ns}/pods/nope/proxy/`)).toBe('404 NotFound pods "nope" not found');
    expect(await upgraded(`${ns}/services/a:b:c:d/proxy/`)).toBe(
      '400 BadRequest invalid service request "a:b:c:d"',
    );
  });
});

describe.skipIf(!machineAddress)('the server', () => {
  it('cuts what is proxied when it closes', async () => {
    // Proves that an endless answer and a tunnel neither keep the server from closing nor outlive it.
    const { Proxied } = await import('./proxying.fixture.ts');
    const own = new Proxied();
    await own.start();
    let over: Promise<unknown> | undefined;
    const port = await own.listen(address, (_request, response) => {
      over = new Promise((resolve) => response.on('close', resolve));
      response.write('endless');
    });
    await own.pod('endless', address);
    const socket = connect(Number(new URL(own.url).port), '127.0.0.1').on('error', () => undefined);
    socket.write(`GET ${ns}/pods/endless:${port}/proxy/ HTTP/1.1\r\nHost: localhost\r\n\r\n`);
    let text = '';
    while (!text.includes('endless')) text += (await once(socket, 'data'))[0];
    await own.stop();
    await over;
    own.closeAll();
    expect(own.failures).toEqual([]);
  });

  it('meets no failure of its own in all of this', () => {
    // Proves that every refusal above was intended: no internal error was reported.
    expect(api.failures).toEqual([]);
  });
});
