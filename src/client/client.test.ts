/** Proves that the client implements the verbs, throws refusals as Status, and recovers from server failures. */
import { createServer, type Server } from 'node:http';
import { type AddressInfo, createServer as createTcpServer } from 'node:net';
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest';
import { StatusError } from '../api/errors/errors.ts';
import type { ConfigMap } from '../api/generated/types.ts';
import { type Cluster, start } from '../cluster/index.ts';
import { Client } from './client.ts';
import { eventSink } from './event-sink.ts';
import { EventRecorder } from './events.ts';
import { Informer } from './informer.ts';
import { configMaps, events, pods } from './resources.ts';

let cluster: Cluster;
let client: Client;
const closing: { close(): void }[] = [];

beforeAll(async () => {
  cluster = await start({ store: 'memory' });
  client = new Client(cluster.url);
});

afterEach(() => {
  for (const one of closing.splice(0)) one.close();
});

afterAll(async () => {
  client.close();
  await cluster.close();
});

const make = (
  name: string,
  data: Record<string, string> = {},
  labels?: Record<string, string>,
): ConfigMap => ({
  metadata: { name, labels },
  data,
});

describe('verbs', () => {
  it('create, get, list, replace, patch, delete', async () => {
    const made = await client.create(configMaps, 'default', make('verbs', { a: '1' }, { l: 'x' }));
    expect(made.metadata.uid).toBeDefined();
    expect(await client.get(configMaps, 'default', 'verbs')).toEqual(made);
    const { items } = await client.list(configMaps, { namespace: 'default', labelSelector: 'l=x' });
    expect(items.map(({ metadata }) => metadata.name)).toEqual(['verbs']);
    expect((await client.list(configMaps, { labelSelector: 'l=y' })).items).toEqual([]);
    const replaced = await client.replace(configMaps, 'default', { ...made, data: { a: '2' } });
    expect(replaced.data).toEqual({ a: '2' });
    expect((await client.patch(configMaps, 'default', 'verbs', { data: { b: '3' } })).data).toEqual({
      a: '2',
      b: '3',
    });
    const operations = [{ op: 'remove', path: '/data/a' }];
    expect((await client.patch(configMaps, 'default', 'verbs', operations, 'json')).data).toEqual({ b: '3' });
    await client.delete(configMaps, 'default', 'verbs', { preconditions: { uid: made.metadata.uid } });
    const gone = client.get(configMaps, 'default', 'verbs');
    await expect(gone).rejects.toMatchObject({
      code: 404,
      reason: 'NotFound',
      message: 'configmaps "verbs" not found',
    });
    await expect(gone).rejects.toBeInstanceOf(StatusError);
  });

  it('refuses a status of another pod of the name', async () => {
    await client.create(pods, 'default', {
      metadata: { name: 'p' },
      spec: { nodeName: 'n', containers: [{ name: 'c', image: 'i' }] },
    });
    const patch = { metadata: { uid: 'another' }, status: { phase: 'Running' } };
    await expect(client.patch(pods, 'default', 'p', patch, 'strategic', 'status')).rejects.toMatchObject({
      code: 422,
    });
  });

  it('says when there is nobody, and when the answer is none', async () => {
    const nobody = createTcpServer();
    await new Promise<void>((resolve) => nobody.listen(0, '127.0.0.1', resolve));
    const { port } = nobody.address() as AddressInfo;
    await new Promise((resolve) => nobody.close(resolve));
    const lost = new Client(`http://127.0.0.1:${port}`);
    closing.push(lost);
    await expect(lost.list(pods)).rejects.toMatchObject({ code: 'ECONNREFUSED' });
    await expect(
      listening((_request, response) => response.writeHead(502).end('bad gateway')).then((odd) =>
        odd.list(pods),
      ),
    ).rejects.toMatchObject({ code: 502, message: 'bad gateway' });
  });

  it('tries again when a kept connection was closed just then, but never sends a POST twice', async () => {
    let requests = 0;
    const seen: string[] = [];
    const odd = await listening((request, response) => {
      requests++;
      seen.push(request.method!);
      // Every second request finds its kept connection closed.
      if (requests % 2 === 0) return void request.socket.destroy();
      response.end('{"items":[],"metadata":{"resourceVersion":"1"}}');
    });
    await odd.list(pods);
    await odd.list(pods);
    expect(seen).toEqual(['GET', 'GET', 'GET']);
    await expect(odd.create(pods, 'default', { metadata: { name: 'x' } })).rejects.toMatchObject({
      code: 'ECONNRESET',
    });
    expect(seen).toEqual(['GET', 'GET', 'GET', 'POST']);
  });
});

type Handler = Parameters<typeof createServer>[1];

async function listening(handler: Handler): Promise<Client> {
  const server: Server = createServer(handler as never);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const odd = new Client(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
  closing.push(odd, {
    close: () => {
      server.closeAllConnections();
      server.close();
    },
  });
  return odd;
}

describe('an informer', () => {
  it('tells what is there, then what becomes of it', async () => {
    await client.create(configMaps, 'default', make('first', {}, { of: 'informer' }));
    const told: string[] = [];
    const informer = new Informer(client, configMaps, {
      namespace: 'default',
      labelSelector: 'of=informer',
      changed: (object, previous) =>
        void told.push(
          `${previous?.data?.['v'] ?? '-'} > ${object ? `${object.metadata.name} ${object.data?.['v'] ?? ''}` : 'gone'}`,
        ),
      onError: (error) => told.push(String(error)),
    });
    closing.push(informer);
    await informer.start();
    expect(told).toEqual(['- > first ']);
    await client.create(configMaps, 'default', make('second', { v: '1' }, { of: 'informer' }));
    await client.patch(configMaps, 'default', 'second', { data: { v: '2' } });
    await client.delete(configMaps, 'default', 'second');
    await expect.poll(() => told.slice(1)).toEqual(['- > second 1', '1 > second 2', '2 > gone']);
    expect([...informer.all()].map(({ metadata }) => metadata.name)).toEqual(['first']);
    expect(informer.get('default', 'first')).toBeDefined();
  });

  it('survives watches that end, history that is lost, and servers that fail', async () => {
    const object = (name: string, version: number, uid = name) => ({
      metadata: { name, namespace: 'default', uid, resourceVersion: String(version) },
    });
    const lists = [
      { code: 500, items: [] as object[], version: 0 },
      { code: 200, items: [object('a', 1), object('b', 2)], version: 2 },
      { code: 200, items: [object('b', 9, 'another'), object('c', 8)], version: 9 },
    ];
    const watched: string[] = [];
    const odd = await listening((request, response) => {
      const { searchParams } = new URL(request.url!, 'http://x');
      if (!searchParams.has('watch')) {
        const { code, items, version } = lists.shift()!;
        return void response
          .writeHead(code)
          .end(JSON.stringify({ items, metadata: { resourceVersion: `${version}` } }));
      }
      watched.push(searchParams.get('resourceVersion')!);
      const line = (type: string, object: object) => response.write(`${JSON.stringify({ type, object })}\n`);
      if (watched.length === 1) {
        line('MODIFIED', object('a', 3));
        line('BOOKMARK', object('', 5));
        response.end();
      } else if (watched.length === 2)
        line('ERROR', { kind: 'Status', code: 410, reason: 'Expired', message: 'too old' }) && response.end();
      else response.flushHeaders();
    });
    const told: string[] = [];
    const errors: string[] = [];
    const informer = new Informer(odd, configMaps, {
      changed: (now, previous) =>
        void told.push(
          `${previous?.metadata.uid ?? '-'} > ${now ? `${now.metadata.uid} ${now.metadata.resourceVersion}` : 'gone'}`,
        ),
      onError: (error) => errors.push(error.message),
    });
    closing.push(informer);
    await informer.start();
    await expect.poll(() => watched).toEqual(['2', '5', '9']);
    expect(told).toEqual([
      '- > a 1',
      '- > b 2',
      'a > a 3',
      'b > gone',
      '- > another 9',
      '- > c 8',
      'a > gone',
    ]);
    expect(errors).toHaveLength(1);
  });

  it('that is closed before it began is done', async () => {
    const odd = await listening(() => undefined);
    const informer = new Informer(odd, configMaps, { changed: () => undefined, onError: () => undefined });
    const started = informer.start();
    informer.close();
    await started;
    expect([...informer.all()]).toEqual([]);
  });
});

describe('events', () => {
  it('are written, counted, and not missed where their namespace is gone', async () => {
    const errors: Error[] = [];
    const recorder = new EventRecorder(eventSink(client), {
      component: 'kubelet',
      host: 'n1',
      now: Date.now,
      onError: (error) => errors.push(error),
    });
    const subject = {
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: { name: 'told', namespace: 'default', uid: 'u' },
    };
    recorder.warning(subject, 'BackOff', 'again', 'spec.containers{c}');
    recorder.warning(subject, 'BackOff', 'again', 'spec.containers{c}');
    recorder.normal({ ...subject, metadata: { ...subject.metadata, namespace: 'nowhere' } }, 'Killing', 'x');
    await recorder.flushed();
    const { items } = await client.list(events, {
      namespace: 'default',
      fieldSelector: 'involvedObject.name=told',
    });
    expect(items).toMatchObject([
      { reason: 'BackOff', count: 2, type: 'Warning', involvedObject: { fieldPath: 'spec.containers{c}' } },
    ]);
    expect(errors).toEqual([]);
  });
});

describe('a server of the same process', () => {
  const at = (path: string): string => `/api/v1/namespaces/default/configmaps${path}`;

  it('is handed requests, and its refusals are thrown', async () => {
    const seen: unknown[] = [];
    const handing = new Client(
      'http://127.0.0.1:1',
      { userAgent: 'test', token: 't' },
      {
        handOver: async (...sent) => {
          seen.push(sent);
          if (sent[0] === 'GET')
            return { code: 404, text: '{"kind":"Status","code":404,"reason":"NotFound"}' };
          return { code: 200, text: sent[0] === 'DELETE' ? '' : '{"metadata":{"name":"é"}}' };
        },
      },
    );
    closing.push(handing);
    const about = {
      host: '127.0.0.1:1',
      accept: 'application/json',
      'user-agent': 'test',
      authorization: 'Bearer t',
    };
    await expect(handing.get(configMaps, 'default', 'x')).rejects.toMatchObject({
      code: 404,
      reason: 'NotFound',
    });
    expect((await handing.patch(configMaps, 'default', 'x', { data: {} })).metadata.name).toBe('é');
    await handing.delete(configMaps, 'default', 'x');
    expect(seen).toEqual([
      ['GET', at('/x'), about, undefined],
      [
        'PATCH',
        at('/x'),
        { ...about, 'content-type': 'application/merge-patch+json' },
        Buffer.from('{"data":{}}'),
      ],
      ['DELETE', at('/x'), { ...about, 'content-type': 'application/json' }, Buffer.from('{}')],
    ]);
    expect(seen.every((sent) => Object.isFrozen((sent as unknown[])[2]))).toBe(true);
  });

  it('is asked by a connection for what it does not take', async () => {
    const handing = new Client(cluster.url, {}, { handOver: () => undefined });
    closing.push(handing);
    const made = await handing.create(configMaps, 'default', make('by-connection', { a: '1' }));
    expect(made.data).toEqual({ a: '1' });
    expect(handing.underWay).toBe(0);
  });

  it('is given up when it does not answer for a minute', async () => {
    vi.useFakeTimers();
    try {
      const handing = new Client('http://127.0.0.1:1', {}, { handOver: () => new Promise(() => undefined) });
      closing.push(handing);
      const asked = expect(handing.get(configMaps, 'default', 'x')).rejects.toThrow(/no answer/);
      await vi.advanceTimersByTimeAsync(60_000);
      await asked;
      expect(handing.underWay).toBe(0);
    } finally {
      vi.useRealTimers();
    }
  });

  it('has sixteen requests at once, as by connections, and the next with each answer', async () => {
    const answers: ((answer: { code: number; text: string }) => void)[] = [];
    const handing = new Client(
      'http://127.0.0.1:1',
      {},
      {
        handOver: () => new Promise((resolve) => answers.push(resolve)),
      },
    );
    closing.push(handing);
    const done: number[] = [];
    const asked = Array.from({ length: 40 }, (_, i) =>
      handing.get(configMaps, 'default', `c-${i}`).then(() => done.push(i)),
    );
    expect(handing.underWay).toBe(40);
    const answer = async (at: number): Promise<void> => {
      answers[at]!({ code: 200, text: '{}' });
      await new Promise(setImmediate);
    };
    expect(answers).toHaveLength(16);
    await answer(3);
    expect([done, answers.length]).toEqual([[3], 17]);
    for (let at = 0; at < 40; at++) await answer(at);
    await Promise.all(asked);
    expect(done).toHaveLength(40);
    expect(handing.underWay).toBe(0);
  });
});
