/** Proves that logs are streamed from a node's kubelet API, and how its errors reach the client. */
import { once } from 'node:events';
import { get, type IncomingMessage } from 'node:http';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { WebSocket } from 'ws';
import type { Json } from '../support/http.ts';
import { Kubelet, nodeAt, podOn } from '../support/kubelet.ts';
import { head, parseReplies, readToEnd, useTarget, webSocketHead } from '../support/target.ts';

const target = useTarget();
const pods = '/api/v1/namespaces/default/pods';
let kubelet: Kubelet;

beforeAll(async () => {
  kubelet = await Kubelet.start(target);
  await target.post('/api/v1/nodes', nodeAt('n1', kubelet.port));
  await target.post('/api/v1/nodes', nodeAt('dead', 1));
  for (const pod of [
    podOn('p', 'n1'),
    podOn('several', 'n1', ['a', 'b']),
    podOn('floating', undefined),
    podOn('lost', 'gone'),
    podOn('dead', 'dead'),
  ])
    await target.post(pods, pod);
});
afterAll(() => kubelet?.close());

const open = (path: string): Promise<IncomingMessage> =>
  new Promise((resolve, reject) => {
    get(`${target.url}${path}`, { agent: false }, resolve).on('error', reject);
  });

const answers = (code: number, body: string, headers: Record<string, string> = {}): void => {
  kubelet.onRequest = (_request, response) => response.writeHead(code, headers).end(body);
};

describe('a log', () => {
  it("is the kubelet's text, asked for with what was set", async () => {
    answers(200, 'a line\n');
    const query = 'follow=true&tailLines=5&timestamps=1&previous=0&sinceSeconds=9&limitBytes=100&pretty=true';
    const { status, headers, text } = await target.get(`${pods}/p/log?${query}`);
    expect([status, text]).toEqual([200, 'a line\n']);
    expect(headers['content-type']).toBe('text/plain');
    expect(headers['transfer-encoding']).toBe('chunked');
    expect(kubelet.seen.at(-1)).toMatchObject({
      method: 'GET',
      url: '/containerLogs/default/p/main?follow=true&timestamps=true&sinceSeconds=9&tailLines=5&limitBytes=100',
    });
    await target.get(`${pods}/several/log?container=b`, { Authorization: 'Bearer secret' });
    expect(kubelet.seen.at(-1)!.url).toBe('/containerLogs/default/several/b');
    expect(kubelet.seen.at(-1)!.rawHeaders.join(' ')).not.toContain('secret');
  });

  it('is text whatever the client says it accepts', async () => {
    answers(206, 'x');
    const { status, headers } = await target.get(`${pods}/p/log`, { Accept: 'text/plain' });
    expect([status, headers['content-type']]).toEqual([200, 'text/plain']);
  });

  it('begins before its first line, comes piece by piece, and ends when the kubelet ends it', async () => {
    let feed: (text: string) => void;
    let finish: () => void;
    kubelet.onRequest = (_request, response) => {
      response.flushHeaders();
      feed = (text) => void response.write(text);
      finish = () => void response.end();
    };
    const response = await open(`${pods}/p/log?follow=1`);
    expect(response.statusCode).toBe(200);
    for (const line of ['one\n', 'two\n']) {
      feed!(line);
      expect(String((await once(response, 'data'))[0])).toBe(line);
    }
    finish!();
    await once(response, 'end');
    expect(response.complete).toBe(true);
  });

  it('may take as long as it likes, whatever limit other requests have', async () => {
    kubelet.onRequest = (_request, response) => void setTimeout(() => response.end('late'), 300);
    expect((await target.get(`${pods}/p/log?timeout=50ms`)).text).toBe('late');
  });

  it('is no longer asked for when the client has gone', async () => {
    const asked = new Promise<IncomingMessage>((resolve) => {
      kubelet.onRequest = (request, response) => {
        response.write('first\n');
        resolve(request);
      };
    });
    const response = await open(`${pods}/p/log?follow=1`);
    response.on('error', () => undefined);
    const request = await asked;
    const closed = once(request.socket, 'close');
    response.destroy();
    await closed;
  });

  it('is not waited for when the client has gone before the kubelet says anything', async () => {
    const asked = new Promise<IncomingMessage>((resolve) => {
      kubelet.onRequest = (request) => resolve(request);
    });
    const sent = get(`${target.url}${pods}/p/log?follow=1`, { agent: false }).on('error', () => undefined);
    const request = await asked;
    const closed = once(request.socket, 'close');
    sent.destroy();
    await closed;
  });

  it('that breaks off looks like it', async () => {
    kubelet.onRequest = (_request, response) => {
      response.write('half');
      setTimeout(() => response.destroy(), 20);
    };
    const response = await open(`${pods}/p/log`);
    await new Promise((resolve) => {
      response
        .on('error', () => undefined)
        .on('close', resolve)
        .resume();
    });
    expect(response.complete).toBe(false);
  });

  it('of many megabytes comes whole', async () => {
    const block = Buffer.alloc(8 << 20, 'l');
    kubelet.onRequest = (_request, response) => response.end(block);
    const { bytes } = await target.get(`${pods}/p/log`);
    expect(bytes.length).toBe(block.length);
  });

  it('of a pod without a node is empty', async () => {
    const { status, text } = await target.get(`${pods}/floating/log`);
    expect([status, text]).toEqual([204, '']);
  });
});

describe('a log is refused', () => {
  const bad = (message: string): Json => ({ code: 400, reason: 'BadRequest', message });
  it.each([
    ['none/log?tailLines=x', bad('strconv.ParseInt: parsing "x": invalid syntax')],
    [
      'none/log?tailLines=-1',
      {
        code: 422,
        reason: 'Invalid',
        message:
          'PodLogOptions "none" is invalid: tailLines: Invalid value: -1: must be greater than or equal to 0',
      },
    ],
    ['none/log', { code: 404, reason: 'NotFound', message: 'pods "none" not found' }],
    ['several/log', bad('a container name must be specified for pod several, choose one of: [a b]')],
    ['p/log?container=x', bad('container x is not valid for pod p')],
    ['lost/log', { code: 404, reason: 'NotFound', message: 'nodes "gone" not found' }],
    [
      'dead/log?follow=1',
      {
        code: 500,
        message:
          'Get "https://127.0.0.1:1/containerLogs/default/dead/main?follow=true": dial tcp 127.0.0.1:1: connect: connection refused',
      },
    ],
  ])('at %s', async (path, expected) => {
    const { status, body } = await target.get(`${pods}/${path}`);
    expect(body).toMatchObject({ kind: 'Status', ...expected });
    expect(body.reason).toBe(expected.reason);
    expect(status).toBe(expected.code);
  });

  it.each(['POST', 'PUT', 'DELETE', 'HEAD'])('with %s', async (method) => {
    expect((await target.request(method, `${pods}/p/log`)).status).toBe(405);
  });

  const named = { name: 'p', kind: 'pods/log' };
  it.each([
    [400, 'container "main" in pod "p" is waiting to start: X', 'BadRequest', undefined, undefined],
    [500, 'oops', 'InternalError', 'Internal error occurred: oops', { causes: [{ message: 'oops' }] }],
    [
      404,
      'pod "p" does not exist',
      'NotFound',
      'the server could not find the requested resource ( pods/log p)',
      named,
    ],
    [
      503,
      'x',
      'ServiceUnavailable',
      'the server is currently unable to handle the request ( pods/log p)',
      named,
    ],
    [403, 'Forbidden (user=u)', 'Forbidden', 'Forbidden (user=u) ( pods/log p)', named],
    [
      401,
      'Unauthorized',
      'Unauthorized',
      'the server has asked for the client to provide credentials ( pods/log p)',
      named,
    ],
    [
      502,
      'bad "gate"',
      'InternalError',
      'an error on the server ("bad \\"gate\\"") has prevented the request from succeeding ( pods/log p)',
      named,
    ],
  ])('by a kubelet with %s', async (code, text, reason, message, details) => {
    answers(code, text);
    const { status, body } = await target.get(`${pods}/p/log`);
    expect(status).toBe(code);
    expect(body).toEqual({
      kind: 'Status',
      apiVersion: 'v1',
      metadata: {},
      status: 'Failure',
      message: message ?? text,
      reason,
      ...(details ? { details } : {}),
      code,
    });
  });

  it('by a kubelet that sends it elsewhere', async () => {
    answers(302, '', { Location: 'https://127.0.0.1:1/' });
    const { body } = await target.get(`${pods}/p/log`);
    expect(body).toMatchObject({
      code: 500,
      message: `Get "https://127.0.0.1:${kubelet.port}/containerLogs/default/p/main": redirects forbidden`,
    });
    expect(body.reason).toBeUndefined();
  });

  it('by a kubelet at great length, of which the beginning is told', async () => {
    answers(400, 'x'.repeat(1_000_000));
    expect((await target.get(`${pods}/p/log`)).body.message).toBe('x'.repeat(50_000));
  });

  it('by a kubelet that hangs up', async () => {
    kubelet.onRequest = (request) => void request.socket.destroy();
    expect((await target.get(`${pods}/p/log`)).body.message).toMatch(/^Get "https:.*": unexpected EOF$/);
  });
});

describe('a log over a WebSocket', () => {
  const dial = (query = '', protocols: string[] = []) =>
    new WebSocket(`${target.url.replace('http', 'ws')}${pods}/p/log${query}`, protocols);

  it.each([
    ['no subprotocol', [], true, ''],
    ['binary.k8s.io', ['binary.k8s.io'], true, 'binary.k8s.io'],
    ['base64.binary.k8s.io', ['unknown', 'base64.binary.k8s.io'], false, 'base64.binary.k8s.io'],
  ])(
    'comes with %s: an empty message, small ones, and a proper end',
    async (_what, protocols, binary, chosen) => {
      const text = 'line\n'.repeat(2_000);
      answers(200, text);
      const client = dial('?tailLines=3', protocols);
      const messages: { data: Buffer; isBinary: boolean }[] = [];
      client.on('message', (data: Buffer, isBinary) => messages.push({ data, isBinary }));
      const [code] = await once(client, 'close');
      expect(code).toBe(1000);
      expect(client.protocol).toBe(chosen);
      expect(messages[0]!.data.length).toBe(0);
      expect(messages.every(({ isBinary }) => isBinary === binary)).toBe(true);
      const bytes = messages.map(({ data }) => (binary ? data : Buffer.from(data.toString(), 'base64')));
      expect(Math.max(...bytes.map(({ length }) => length))).toBeLessThanOrEqual(2_048);
      expect(Buffer.concat(bytes).toString()).toBe(text);
      expect(kubelet.seen.at(-1)!.url).toBe('/containerLogs/default/p/main?tailLines=3');
    },
  );

  it('is refused over HTTP', async () => {
    const refused = async (path: string, ...headers: string[]) => {
      const socket = target.dial();
      socket.write(webSocketHead(`${pods}/${path}`, ...headers));
      return parseReplies(await readToEnd(socket))[0]!;
    };
    expect((await refused('none/log')).body).toMatchObject({ code: 404, message: 'pods "none" not found' });
    expect(await refused('p/log', 'Sec-WebSocket-Protocol: v4.channel.k8s.io')).toMatchObject({
      status: 403,
      body: '',
    });
    expect((await refused('floating/log')).status).toBe(204);
    answers(400, 'is waiting to start');
    expect((await refused('p/log')).body).toMatchObject({ code: 400, message: 'is waiting to start' });
    const socket = target.dial();
    socket.write(head(`GET ${pods}/p/log`, 'Connection: Upgrade', 'Upgrade: SPDY/3.1'));
    expect(parseReplies(await readToEnd(socket))[0]!.status).toBe(400);
  });

  it('ends with its client', async () => {
    const asked = new Promise<IncomingMessage>((resolve) => {
      kubelet.onRequest = (request, response) => {
        response.write('first\n');
        resolve(request);
      };
    });
    const client = dial('?follow=1');
    await once(client, 'message');
    const request = await asked;
    const closed = once(request.socket, 'close');
    client.close(1000);
    await closed;
  });
});
