/** Proves how exec, attach and portforward are refused before anything is connected, in the order of the checks. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Json } from '../support/http.ts';
import { Kubelet, nodeAt, podOn } from '../support/kubelet.ts';
import { head, parseReplies, readToEnd, useTarget, webSocketHead } from '../support/target.ts';

const target = useTarget();
const pods = '/api/v1/namespaces/default/pods';
let kubelet: Kubelet;

beforeAll(async () => {
  kubelet = await Kubelet.start(target);
  for (const node of [
    nodeAt('n1', kubelet.port),
    nodeAt('dead', 1),
    nodeAt('nowhere', 1, { addresses: [{ type: 'Odd', address: 'x' }] }),
    nodeAt('metadata', 80, { addresses: [{ type: 'InternalIP', address: '169.254.169.254' }] }),
    nodeAt('unknown', 1, { addresses: [{ type: 'Hostname', address: 'no-such-node.invalid' }] }),
  ])
    expect((await target.post('/api/v1/nodes', node)).status).toBe(200);
  const several = { initContainers: [{ name: 'init', image: 'i' }] };
  for (const pod of [
    podOn('p', 'n1'),
    podOn('several', 'n1', ['b', 'a'], several),
    podOn('floating', undefined),
    podOn('lost', 'gone'),
    podOn('dead', 'dead'),
    podOn('nowhere', 'nowhere'),
    podOn('metadata', 'metadata'),
    podOn('unknown', 'unknown'),
  ])
    expect((await target.post(pods, pod)).status, JSON.stringify(pod)).toBe(200);
});
afterAll(() => kubelet?.close());

const spdy = (path: string, ...headers: string[]): string =>
  head(`POST ${path}`, 'Connection: Upgrade', 'Upgrade: SPDY/3.1', 'Content-Length: 0', ...headers);

/** The one answer to a request. */
async function answer(bytes: string) {
  const socket = target.dial();
  socket.write(bytes);
  const replies = parseReplies(await readToEnd(socket));
  expect(replies).toHaveLength(1);
  return replies[0]!;
}

const status = (code: number, reason: string | undefined, message: string, details?: object): Json => ({
  kind: 'Status',
  apiVersion: 'v1',
  metadata: {},
  status: 'Failure',
  message,
  ...(reason ? { reason } : {}),
  ...(details ? { details } : {}),
  code,
});
const bad = (message: string): Json => status(400, 'BadRequest', message);

describe('a session', () => {
  it.each([
    ['p/exec?dryRun=All', bad('dryRun is not supported')],
    ['none/exec', status(404, 'NotFound', 'pods "none" not found', { name: 'none', kind: 'pods' })],
    ['several/exec', bad('a container name must be specified for pod several, choose one of: [init b a]')],
    ['p/exec?container=c', bad('container c is not valid for pod p')],
    ['p/exec?container=..%2f..%2frun', bad('container ../../run is not valid for pod p')],
    ['floating/exec', bad('pod floating does not have a host assigned')],
    ['lost/exec', status(404, 'NotFound', 'nodes "gone" not found', { name: 'gone', kind: 'nodes' })],
    ['nowhere/exec', status(500, undefined, 'no preferred addresses found; known addresses: [{Odd x}]')],
    [
      'dead/exec',
      status(500, undefined, 'error dialing backend: dial tcp 127.0.0.1:1: connect: connection refused'),
    ],
    ['metadata/exec', bad('address not allowed')],
    ['p/attach?container=c', bad('container c is not valid for pod p')],
    [
      'none/portforward?ports=abc',
      bad('cannot convert to []int32: strconv.ParseUint: parsing "abc": invalid syntax'),
    ],
    ['floating/portforward', bad('pod floating does not have a host assigned')],
    [
      'dead/portforward',
      status(500, undefined, 'error dialing backend: dial tcp 127.0.0.1:1: connect: connection refused'),
    ],
  ])('%s', async (path, body) => {
    const { status: code, headers, body: said } = await answer(spdy(`${pods}/${path}`));
    expect(said).toEqual(body);
    expect(code).toBe(body.code);
    expect(headers.get('content-type')).toBe('application/json');
    // A WebSocket client gets the same over HTTP.
    if (!path.startsWith('dead/'))
      expect((await answer(webSocketHead(`${pods}/${path}`))).body).toEqual(body);
    expect(kubelet.seen).toEqual([]);
  });

  it('on a node whose name means nothing', async () => {
    const { body } = await answer(spdy(`${pods}/unknown/exec`));
    expect(body.code).toBe(500);
    expect(body.message).toMatch(/^error dialing backend: dial tcp: lookup no-such-node\.invalid/);
  });

  it('without an upgrade, once everything else is right', async () => {
    for (const method of ['GET', 'POST'])
      for (const part of ['exec', 'attach', 'portforward'])
        expect((await target.request(method, `${pods}/p/${part}`)).body).toEqual(
          bad('Upgrade request required'),
        );
    expect((await target.get(`${pods}/lost/exec`)).body.message).toBe('nodes "gone" not found');
    const { body } = await target.get(`${pods}/p/exec`, { Connection: 'Upgrade' });
    expect(body.message).toBe(
      'unable to upgrade: missing upgrade headers in request: map[Connection:[Upgrade] Upgrade:[]]',
    );
  });

  it('with another method', async () => {
    for (const method of ['PUT', 'PATCH', 'DELETE'])
      for (const part of ['exec', 'attach', 'portforward'])
        expect((await target.request(method, `${pods}/p/${part}`)).body).toMatchObject({
          code: 405,
          reason: 'MethodNotAllowed',
          message: 'the server does not allow this method on the requested resource',
        });
    expect((await answer(spdy(`${pods}/p/exec`).replace('POST', 'DELETE'))).status).toBe(405);
  });

  it('from another host or page', async () => {
    const foreign = spdy(`${pods}/p/exec`).replace('Host: localhost', 'Host: evil.example');
    expect((await answer(foreign)).status).toBe(403);
    expect((await answer(webSocketHead(`${pods}/p/exec`, 'Origin: http://evil.example'))).status).toBe(403);
    expect(kubelet.seen).toEqual([]);
  });

  it('with a token that is not one', async () => {
    const prefix = 'base64url.bearer.authorization.k8s.io.';
    for (const protocols of [
      `${prefix}dA`,
      `${prefix}dA, ${prefix}dA, v4.channel.k8s.io`,
      `${prefix}@, v4`,
    ]) {
      const { body } = await answer(webSocketHead(`${pods}/p/exec`, `Sec-WebSocket-Protocol: ${protocols}`));
      expect(body).toMatchObject({ code: 401, reason: 'Unauthorized' });
    }
    expect(kubelet.seen).toEqual([]);
  });

  it('with two ways to tell how long its body is', async () => {
    const both = spdy(`${pods}/p/exec`, 'Transfer-Encoding: chunked');
    expect((await answer(both)).body).toMatchObject({ code: 400, reason: 'BadRequest' });
    const chunked = both.replace('Content-Length: 0\r\n', '');
    expect((await answer(chunked)).body).toMatchObject({ code: 400, reason: 'BadRequest' });
    expect(kubelet.seen).toEqual([]);
  });
});

it('discovery tells of all connections', async () => {
  const { body } = await target.get('/api/v1');
  const found = Object.fromEntries(body.resources.map((it: Json) => [it.name, it]));
  const connects = ['create', 'get'];
  const proxies = ['create', 'delete', 'get', 'patch', 'update'];
  for (const [name, kind, verbs, namespaced] of [
    ['pods/exec', 'PodExecOptions', connects, true],
    ['pods/attach', 'PodAttachOptions', connects, true],
    ['pods/portforward', 'PodPortForwardOptions', connects, true],
    ['pods/log', 'Pod', ['get'], true],
    ['pods/proxy', 'PodProxyOptions', proxies, true],
    ['services/proxy', 'ServiceProxyOptions', proxies, true],
    ['nodes/proxy', 'NodeProxyOptions', proxies, false],
  ] as const)
    expect(found[name]).toEqual({ name, singularName: '', namespaced, kind, verbs });
});
