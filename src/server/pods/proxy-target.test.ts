/**
 * Targets of proxying: which pod, service or node an id leads to, at which address and port. Streaming contract, 5.
 */
import { createServer } from 'node:http';
import { afterAll, describe, expect, it } from 'vitest';
import { failure, machineAddress, ns, useProxied } from './proxying.fixture.ts';

const api = useProxied();
const address = machineAddress ?? '';

// Every refusal below is intended: no internal error is reported.
afterAll(() => expect(api.failures).toEqual([]));

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
});

describe.skipIf(!machineAddress)('pods', () => {
  it('are reached under the first port they declare otherwise', async () => {
    // Proves the choice of the port.
    const port = await api.echo();
    const pod = api.fresh('pod');
    await api.pod(pod, address, { ports: [port, 1] });
    for (const id of [pod, `${pod}:`, `:${pod}:`, `http:${pod}:`])
      expect((await api.get(`${ns}/pods/${id}/proxy/x`)).body?.url, id).toBe('/x');
  });

  it('have an address among several', async () => {
    // Proves that the first of podIPs is used when podIP is missing.
    const port = await api.echo();
    const pod = api.fresh('pod');
    await api.pod(pod, undefined, { ips: [address, '127.0.0.1'] });
    expect((await api.get(`${ns}/pods/${pod}:${port}/proxy/x`)).body.url).toBe('/x');
  });

  it('that refuse the connection are a 503', async () => {
    // Proves the message of a failed dial, also for the default port.
    const pod = api.fresh('pod');
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
  for (const ip of ['127.0.0.1', '::1', '169.254.169.254', '0.0.0.0', '::ffff:127.0.0.1', 'localhost'])
    it(`at ${ip} are refused`, async () => {
      // Proves that the server cannot be made to connect to itself or to a cloud's metadata service.
      const port = await api.echo('127.0.0.1');
      const pod = api.fresh('pod');
      await api.pod(pod, ip);
      for (const path of [
        `${ns}/pods/${pod}:${port}/proxy/`,
        `/api/v1/proxy/namespaces/ns/pods/${pod}:${port}/`,
      ])
        expect(failure(await api.get(path))).toBe('400 BadRequest address not allowed');
    });

  it('without an address are not there yet', async () => {
    // Proves that a client is asked to retry, except in the new form for an unscheduled pod.
    const [bound, floating] = [api.fresh('pod'), api.fresh('pod')];
    await api.pod(bound, undefined, { nodeName: 'far' });
    await api.pod(floating, undefined);
    const asked = async (pod: string, ...paths: string[]): Promise<string[]> =>
      Promise.all(paths.map(async (path) => failure(await api.get(path)).replace(pod, 'POD')));
    const none = '503 ServiceUnavailable no address available for pod "POD"';
    const old = '/api/v1/proxy/namespaces/ns/pods';
    expect(await asked(bound, `${ns}/pods/${bound}/proxy/`, `${old}/${bound}:80/`)).toEqual([none, none]);
    expect(await asked(floating, `${ns}/pods/${floating}/proxy/`, `${old}/${floating}:80/`)).toEqual([
      '400 BadRequest address not allowed',
      none,
    ]);
  });

  for (const port of ['http', '0', '65536', '-1', '1e3', '080000', '%2B80'])
    it(`under the port ${port} are refused`, async () => {
      // Proves that only valid port numbers are accepted.
      const pod = api.fresh('pod');
      await api.pod(pod, '10.1.1.1');
      expect(failure(await api.get(`${ns}/pods/${pod}:${port}/proxy/`))).toBe(
        `400 BadRequest invalid pod request "${pod}:${decodeURIComponent(port)}"`,
      );
    });
});

describe('services', () => {
  const service = async (
    subsets: object[] | undefined,
    ports: object[] = [{ port: 80 }],
  ): Promise<string> => {
    const name = api.fresh('svc');
    await api.seed('services', 'ns', { metadata: { name }, spec: { ports } });
    if (subsets) await api.seed('endpoints', 'ns', { metadata: { name }, subsets });
    return name;
  };
  const ref = (name: string, namespace = 'ns') => ({ kind: 'Pod', namespace, name });
  const call = async (id: string) => failure(await api.get(`${ns}/services/${id}/proxy/`));

  it('without endpoints are not found, or not available', async () => {
    // Proves the errors of services without endpoints.
    const bare = await service(undefined);
    expect(await call(bare)).toBe(`404 NotFound services "${bare}" not found`);
    const empty = await service([]);
    expect(await call(`${empty}:`)).toBe(
      `503 ServiceUnavailable no endpoints available for service "${empty}"`,
    );
    await api.seed('endpoints', 'ns', { metadata: { name: 'orphan' }, subsets: [] });
    expect(await call('orphan')).toBe('404 NotFound services "orphan" not found');
  });

  it('have no port that they do not declare', async () => {
    // Proves the refusal of a number, with Go's formatting.
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
    // Proves that addresses without a pod, of other pods, on other nodes, or not ready are skipped.
    const pod = api.fresh('pod');
    await api.pod(pod, '10.1.1.1');
    await api.seed('pods', 'other', { metadata: { name: pod }, status: { podIP: '10.2.2.2' } });
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
    // Proves that the address policy also holds for services.
    const pod = api.fresh('pod');
    await api.pod(pod, '127.0.0.1');
    const port = await api.echo('127.0.0.1');
    const id = await service([{ addresses: [{ ip: '127.0.0.1', targetRef: ref(pod) }], ports: [{ port }] }]);
    expect(await call(id)).toBe('400 BadRequest address not allowed');
  });

  it.skipIf(!machineAddress)('are reached by number, name, or no port at all', async () => {
    // Proves steps 1 to 4: the endpoint port has the name of the service port.
    const [first, second] = [await api.echo(), await api.echo()];
    const pod = api.fresh('pod');
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
    // Proves that an endpoint is chosen at random, each time.
    const ports = await Promise.all(
      ['a', 'b', 'c'].map((name) => api.listen(address, (_request, response) => response.end(name))),
    );
    const pod = api.fresh('pod');
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
    const name = api.fresh('node');
    await api.seed('nodes', '', {
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
    // Proves that the agent is used for any scheme, at the port in the Node object.
    const name = await node([{ type: 'InternalIP', address: '10.3.3.3' }], 10_333);
    agent(name);
    for (const id of [name, `${name}:`, `${name}:10333`, `http:${name}:10333`, `https:${name}:`]) {
      expect((await api.get(`/api/v1/nodes/${id}/proxy/healthz?a`)).text).toBe('agent GET /healthz?a');
      expect((await api.post(`/api/v1/proxy/nodes/${id}/run/x`, '')).text).toBe('agent POST /run/x');
    }
    expect(api.agents.asked.at(-1)).toMatchObject({ name, host: '10.3.3.3', port: 10_333 });
  });

  it('that cannot be reached are a 503', async () => {
    // Proves that a failed connection to the node is reported.
    const name = await node([{ type: 'InternalIP', address: '10.3.3.4' }]);
    expect(failure(await api.get(`/api/v1/nodes/${name}/proxy/healthz`))).toBe(
      '503 ServiceUnavailable error trying to reach service: dial tcp 10.3.3.4:10250: connect: connection refused',
    );
  });

  it('without an address are a failure', async () => {
    // Proves the error of a node without an address.
    const name = await node([]);
    expect(failure(await api.get(`/api/v1/nodes/${name}/proxy/`))).toBe(
      '500 - no preferred addresses found; known addresses: []',
    );
  });

  it('are dialled themselves under other ports, but not on loopback', async () => {
    // Proves the address policy for nodes, by address and by name.
    const port = await api.echo('127.0.0.1');
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
    const open = await api.echo();
    const name = await node([{ type: 'InternalIP', address }]);
    expect((await api.get(`/api/v1/nodes/${name}:${open}/proxy/x`)).body.url).toBe('/x');
    expect(failure(await api.get(`/api/v1/nodes/${name}:http/proxy/x`))).toBe(
      `400 BadRequest invalid node request "${name}:http"`,
    );
  });
});
