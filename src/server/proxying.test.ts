/** Proxying through the API: which target is chosen, what it is asked for, and every refusal. Streaming contract, 5. */
import { once } from 'node:events';
import { createServer } from 'node:http';
import { connect } from 'node:net';
import { describe, expect, it } from 'vitest';
import { WebSocket, WebSocketServer } from 'ws';
import type { Reply } from '../../test/http.ts';
import { machineAddress, useProxied } from './proxying.case.ts';

const api = useProxied();
const address = machineAddress ?? '';
const ns = '/api/v1/namespaces/ns';
let count = 0;
const fresh = (what: string): string => `${what}-${++count}`;

/** A target that tells what it was asked for. */
const echo = (where = address) =>
  api.listen(where, async (request, response) => {
    let body = '';
    for await (const chunk of request) body += chunk;
    const { method, url, headers } = request;
    response.setHeader('Content-Type', 'application/json');
    response.end(JSON.stringify({ method, url, headers, body }));
  });

const failure = ({ body }: Reply): string => `${body.code} ${body.reason ?? '-'} ${body.message}`;

describe('ids', () => {
  for (const [resource, what] of [
    ['pods', 'pod'],
    ['services', 'service'],
  ] as const)
    for (const id of ['ftp:x:80', ':80', '::', ':x', 'a:b:c:d', 'https::443', 'HTTP:x:1'])
      it(`${id} is no ${what}`, async () => {
        // Proves the grammar, in both forms of path, with raw and encoded colons.
        const message = `400 BadRequest invalid ${what} request ${JSON.stringify(id)}`;
        expect(failure(await api.get(`${ns}/${resource}/${id}/proxy/`))).toBe(message);
        const encoded = id.replaceAll(':', '%3A');
        expect(failure(await api.get(`/api/v1/proxy/namespaces/ns/${resource}/${encoded}/`))).toBe(message);
      });

  it('of nodes follow the same grammar', async () => {
    // Proves the message for nodes.
    expect(failure(await api.get('/api/v1/nodes/a:b:c:d/proxy/'))).toBe(
      '400 BadRequest invalid node request "a:b:c:d"',
    );
    expect(failure(await api.get('/api/v1/proxy/nodes/x:y:z/'))).toBe(
      '400 BadRequest invalid node request "x:y:z"',
    );
  });

  it('that name nothing are not found', async () => {
    // Proves the 404 of each kind.
    expect(failure(await api.get(`${ns}/pods/nope:80/proxy/`))).toBe('404 NotFound pods "nope" not found');
    expect(failure(await api.get(`${ns}/services/nope/proxy/`))).toBe(
      '404 NotFound services "nope" not found',
    );
    expect(failure(await api.get('/api/v1/nodes/nope/proxy/'))).toBe('404 NotFound nodes "nope" not found');
    expect(failure(await api.get('/api/v1/proxy/nodes/nope'))).toBe('404 NotFound nodes "nope" not found');
  });

  it('that are incomplete are no path of the API', async () => {
    // Proves that the prefix form is taken for nothing else.
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
    const port = await echo();
    const pod = fresh('pod');
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

  it('are reached under the first port they declare otherwise', async () => {
    // Proves the choice of the port.
    const port = await echo();
    const pod = fresh('pod');
    await api.pod(pod, address, { ports: [port, 1] });
    for (const id of [pod, `${pod}:`, `:${pod}:`, `http:${pod}:`])
      expect((await api.get(`${ns}/pods/${id}/proxy/x`)).body?.url, id).toBe('/x');
  });

  it('have an address among several', async () => {
    // Proves that the first of podIPs stands in for podIP.
    const port = await echo();
    const pod = fresh('pod');
    await api.pod(pod, undefined, { ips: [address, '127.0.0.1'] });
    expect((await api.get(`${ns}/pods/${pod}:${port}/proxy/x`)).body.url).toBe('/x');
  });

  it('that refuse the connection are a 503', async () => {
    // Proves the words of a failed dial, also for the port that goes without saying.
    const pod = fresh('pod');
    await api.pod(pod, address);
    const why = `error trying to reach service: dial tcp ${address}`;
    expect(failure(await api.get(`${ns}/pods/${pod}:1/proxy/`))).toBe(
      `503 ServiceUnavailable ${why}:1: connect: connection refused`,
    );
    expect(failure(await api.get(`${ns}/pods/https:${pod}:/proxy/`))).toBe(
      `503 ServiceUnavailable ${why}:443: connect: connection refused`,
    );
    expect(failure(await api.post(`${ns}/pods/${pod}:1/proxy`, 'body'))).toContain('connection refused');
  });
});

describe('pods elsewhere', () => {
  for (const ip of [
    '127.0.0.1',
    '::1',
    '169.254.169.254',
    '0.0.0.0',
    '::ffff:127.0.0.1',
    'localhost',
    undefined,
  ])
    it(`at ${ip ?? 'no address'} are refused`, async () => {
      // Proves that the server cannot be sent to itself or to a cloud's metadata.
      const port = await echo('127.0.0.1');
      const pod = fresh('pod');
      await api.pod(pod, ip);
      for (const path of [
        `${ns}/pods/${pod}:${port}/proxy/`,
        `/api/v1/proxy/namespaces/ns/pods/${pod}:${port}/`,
      ])
        expect(failure(await api.get(path))).toBe('400 BadRequest address not allowed');
    });

  for (const port of ['http', '0', '65536', '-1', '1e3', '080000', '%2B80'])
    it(`under the port ${port} are refused`, async () => {
      // Proves that a port is a number that ports have.
      const pod = fresh('pod');
      await api.pod(pod, '10.1.1.1');
      expect(failure(await api.get(`${ns}/pods/${pod}:${port}/proxy/`))).toBe(
        `400 BadRequest invalid pod request "${pod}:${decodeURIComponent(port)}"`,
      );
    });
});

describe('methods', () => {
  it.skipIf(!machineAddress)('pass, seven of them, on both forms', async () => {
    // Proves that whatever the target takes is handed on with its body.
    const port = await echo();
    const pod = fresh('pod');
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
    // Proves the 405, before anything is looked up.
    for (const method of ['TRACE', 'PROPFIND', 'LOCK'])
      for (const path of [`${ns}/pods/nope/proxy/x`, '/api/v1/proxy/nodes/nope/x'])
        expect(failure(await api.request(method, path))).toBe(
          '405 MethodNotAllowed the server does not allow this method on the requested resource',
        );
  });
});

describe.skipIf(!machineAddress)('paths', () => {
  const reached = async (): Promise<string> => {
    const port = await echo();
    const pod = fresh('pod');
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
    // Proves that a pod is looked up first.
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
    // Proves the rule for `path`: the tail wins, and the parameter is consumed only where it counts.
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
    // Proves that watch, timeout, dryRun and pretty are the target's business.
    const id = await reached();
    const query = 'watch=true&timeout=never&dryRun=x&pretty=1&limit=a&a=b=c&&d';
    expect((await api.get(`${ns}/pods/${id}/proxy/x?${query}`)).body.url).toBe(`/x?${query}`);
  });
});

describe.skipIf(!machineAddress)('headers', () => {
  it('keep the host, and no credentials', async () => {
    // Proves that what authenticates at the API never reaches the target.
    const port = await echo();
    const pod = fresh('pod');
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
    // Proves Location, HTML and CORS end to end, in both forms.
    const port = await api.listen(address, (request, response) => {
      response.setHeader('Access-Control-Allow-Origin', '*');
      response.setHeader('Location', '/next?a');
      response.setHeader('Content-Type', 'text/html');
      if (request.url === '/page') response.removeHeader('Location');
      response.end('<a href="/x">x</a>');
    });
    const pod = fresh('pod');
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

describe('services', () => {
  const service = async (
    subsets: object[] | undefined,
    ports: object[] = [{ port: 80 }],
  ): Promise<string> => {
    const name = fresh('svc');
    await api.plant('services', 'ns', { metadata: { name }, spec: { ports } });
    if (subsets) await api.plant('endpoints', 'ns', { metadata: { name }, subsets });
    return name;
  };
  const ref = (name: string, namespace = 'ns') => ({ kind: 'Pod', namespace, name });
  const call = async (id: string) => failure(await api.get(`${ns}/services/${id}/proxy/`));

  it('without endpoints are not found, or not available', async () => {
    // Proves the refusals before an endpoint is looked for.
    const bare = await service(undefined);
    expect(await call(bare)).toBe(`404 NotFound services "${bare}" not found`);
    const empty = await service([]);
    expect(await call(`${empty}:`)).toBe(
      `503 ServiceUnavailable no endpoints available for service "${empty}"`,
    );
    await api.plant('endpoints', 'ns', { metadata: { name: 'orphan' }, subsets: [] });
    expect(await call('orphan')).toBe('404 NotFound services "orphan" not found');
  });

  it('have no port that they do not declare', async () => {
    // Proves the refusal of a number, in Go's way of writing it.
    const name = await service([]);
    for (const port of ['99', '%2B099', '99'])
      expect(await call(`${name}:${port}`)).toBe(
        `503 ServiceUnavailable no service port 99 found for service "${name}"`,
      );
    expect(await call(`${name}:-1`)).toBe(
      `503 ServiceUnavailable no service port -1 found for service "${name}"`,
    );
  });

  it('use no endpoint that is not a pod of the namespace', async () => {
    // Proves that addresses without a pod, of other pods, elsewhere, or not ready are passed over.
    const pod = fresh('pod');
    await api.pod(pod, '10.1.1.1');
    await api.plant('pods', 'other', { metadata: { name: pod }, status: { podIP: '10.2.2.2' } });
    const ports = [{ port: 1 }];
    const id = await service([
      { addresses: [{ ip: '10.1.1.1' }], ports },
      { addresses: [{ ip: '10.9.9.9', targetRef: ref(pod) }], ports },
      { addresses: [{ ip: '10.2.2.2', targetRef: ref(pod, 'other') }], ports },
      { addresses: [{ ip: '10.1.1.1', targetRef: ref(pod, 'other') }], ports },
      { addresses: [{ ip: '10.1.1.1', targetRef: ref('gone') }], ports },
      { addresses: [{ ip: '10.1.1.1', targetRef: { ...ref(pod), kind: 'Node' } }], ports },
      { notReadyAddresses: [{ ip: '10.1.1.1', targetRef: ref(pod) }], ports },
      { addresses: [{ ip: '10.1.1.1', targetRef: ref(pod) }], ports: [{ name: 'other', port: 1 }] },
    ]);
    expect(await call(`${id}:80`)).toBe(
      `503 ServiceUnavailable no endpoints available for service "${id}:80"`,
    );
    expect(await call(`http:${id}:nope`)).toBe(
      `503 ServiceUnavailable no endpoints available for service "http:${id}:nope"`,
    );
  });

  it('on loopback are refused', async () => {
    // Proves that the address policy holds behind services too.
    const pod = fresh('pod');
    await api.pod(pod, '127.0.0.1');
    const port = await echo('127.0.0.1');
    const id = await service([{ addresses: [{ ip: '127.0.0.1', targetRef: ref(pod) }], ports: [{ port }] }]);
    expect(await call(id)).toBe('400 BadRequest address not allowed');
  });

  it.skipIf(!machineAddress)('are reached by number, name, or no port at all', async () => {
    // Proves steps 1 to 4: the endpoint's port under the name that the service port has.
    const [first, second] = [await echo(), await echo()];
    const pod = fresh('pod');
    await api.pod(pod, address);
    const addresses = [
      { ip: '10.9.9.9', targetRef: ref('gone') },
      { ip: address, targetRef: ref(pod) },
    ];
    const named = await service(
      [
        { addresses: [], ports: [{ name: 'web', port: 1 }] },
        {
          addresses,
          ports: [
            { name: 'web', port: first },
            { name: 'admin', port: second },
          ],
        },
      ],
      [
        { name: 'web', port: 80 },
        { name: 'admin', port: 81 },
      ],
    );
    const targetOf = async (id: string) =>
      (await api.get(`/api/v1/proxy/namespaces/ns/services/${id}/x`)).body?.url as string;
    for (let i = 0; i < 8; i++)
      for (const id of [`${named}:80`, `${named}:web`, `http:${named}:81`, `${named}:admin`])
        expect(await targetOf(id), id).toBe('/x');
    expect(await call(named)).toBe(`503 ServiceUnavailable no endpoints available for service "${named}"`);
    const unnamed = await service([{ addresses, ports: [{ port: first }] }], [{ port: 80 }]);
    for (const id of [unnamed, `${unnamed}:80`, `:${unnamed}:`]) expect(await targetOf(id), id).toBe('/x');
  });

  it.skipIf(!machineAddress)('spread over their endpoints', async () => {
    // Proves that an endpoint is chosen by chance, each time.
    const ports = await Promise.all(
      ['a', 'b', 'c'].map((name) => api.listen(address, (_request, response) => response.end(name))),
    );
    const pod = fresh('pod');
    await api.pod(pod, address);
    const id = await service(
      ports.map((port) => ({ addresses: [{ ip: address, targetRef: ref(pod) }], ports: [{ port }] })),
    );
    const seen = new Set<string>();
    for (let i = 0; i < 100 && seen.size < 3; i++)
      seen.add((await api.get(`${ns}/services/${id}/proxy/x`)).text);
    expect([...seen].sort()).toEqual(['a', 'b', 'c']);
  });
});

describe('nodes', () => {
  const node = async (addresses: object[], port?: number): Promise<string> => {
    const name = fresh('node');
    await api.plant('nodes', '', {
      metadata: { name },
      status: { addresses, ...(port ? { daemonEndpoints: { kubeletEndpoint: { Port: port } } } : {}) },
    });
    return name;
  };
  const agent = (name: string): void => {
    const server = createServer((request, response) =>
      response.end(`agent ${request.method} ${request.url}`),
    );
    api.agents.servers.set(name, server);
  };

  it('are reached through their agent, without a port or under its own', async () => {
    // Proves that the agent is asked whatever the scheme, at the port that the node tells.
    const name = await node([{ type: 'InternalIP', address: '10.3.3.3' }], 10_333);
    agent(name);
    for (const id of [name, `${name}:`, `${name}:10333`, `http:${name}:10333`, `https:${name}:`]) {
      expect((await api.get(`/api/v1/nodes/${id}/proxy/healthz?a`)).text).toBe('agent GET /healthz?a');
      expect((await api.post(`/api/v1/proxy/nodes/${id}/run/x`, '')).text).toBe('agent POST /run/x');
    }
    expect(api.agents.asked.at(-1)).toMatchObject({ name, host: '10.3.3.3', port: 10_333 });
  });

  it('that cannot be reached are a 503', async () => {
    // Proves that the failure of the way to the node is told.
    const name = await node([{ type: 'InternalIP', address: '10.3.3.4' }]);
    expect(failure(await api.get(`/api/v1/nodes/${name}/proxy/healthz`))).toBe(
      '503 ServiceUnavailable error trying to reach service: dial tcp 10.3.3.4:10250: connect: connection refused',
    );
  });

  it('without an address are a failure', async () => {
    // Proves that there is nothing to dial.
    const name = await node([]);
    expect(failure(await api.get(`/api/v1/nodes/${name}/proxy/`))).toBe(
      '500 - no preferred addresses found; known addresses: []',
    );
  });

  it('are dialled themselves under other ports, but not on loopback', async () => {
    // Proves the address policy for nodes, by address and by name.
    const port = await echo('127.0.0.1');
    for (const addresses of [
      [{ type: 'InternalIP', address: '127.0.0.1' }],
      [{ type: 'Hostname', address: 'localhost' }],
      [{ type: 'InternalIP', address: '169.254.169.254' }],
    ]) {
      const name = await node(addresses);
      expect(failure(await api.get(`/api/v1/nodes/${name}:${port}/proxy/`))).toBe(
        '400 BadRequest address not allowed',
      );
    }
    if (!machineAddress) return;
    const open = await echo();
    const name = await node([{ type: 'InternalIP', address }]);
    expect((await api.get(`/api/v1/nodes/${name}:${open}/proxy/x`)).body.url).toBe('/x');
    expect(failure(await api.get(`/api/v1/nodes/${name}:http/proxy/x`))).toBe(
      `400 BadRequest invalid node request "${name}:http"`,
    );
  });
});

describe.skipIf(!machineAddress)('upgrades', () => {
  it('carry a WebSocket, in both forms', async () => {
    // Proves a WebSocket echo through the API, without the token of the browser.
    const server = createServer();
    const sockets = new WebSocketServer({ server });
    let seen: string[] = [];
    sockets.on('connection', (socket, request) => {
      seen = [request.url!, String(request.headers['sec-websocket-protocol'])];
      socket.on('message', (data) => socket.send(`echo ${data}`));
    });
    const port = await api.listen(address, server);
    const pod = fresh('pod');
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
    // Proves that failures before the tunnel are answers.
    const pod = fresh('pod');
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
    // Proves that an endless answer and a tunnel do not keep the server from closing, nor outlive it.
    const { Proxied } = await import('./proxying.case.ts');
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
    // Proves that whatever was refused above was meant to be.
    expect(api.failures).toEqual([]);
  });
});
