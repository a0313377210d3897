/** Proves that a list of any size goes out in every form, part by part, and is the same as if it had been made whole. */
import { once } from 'node:events';
import { type IncomingMessage, request } from 'node:http';
import { gunzipSync } from 'node:zlib';
import { beforeAll, describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import type { Headers, Json } from '../../test/http.ts';
import { parseMetrics } from '../../test/metrics.ts';
import { useProxied } from './proxying.case.ts';

/** More than are made whole, by number and by size. */
const count = 1_200;
const ballast = `é"\n${'x'.repeat(8_000)}`;
const api = useProxied({ requestTimeoutMs: 1_500 });
const path = '/api/v1/namespaces/big/configmaps';
const names = Array.from({ length: count }, (_, i) => `c-${String(i).padStart(4, '0')}`);

beforeAll(async () => {
  for (const name of names)
    await api.plant('configmaps', 'big', {
      metadata: { name, labels: { a: 'b' } },
      data: { ballast, tail: '- x: "y"' },
    });
  for (const name of ['a', 'b'])
    await api.plant('configmaps', 'small', { metadata: { name }, data: { ballast } });
});

/** The list without what is different every time. */
const items = (list: Json): Json[] => list.items ?? list.rows;

const forms: [string, Headers, string][] = [
  ['plain', {}, ''],
  ['pretty', {}, '?pretty=true'],
  ['yaml', { Accept: 'application/yaml' }, ''],
  ['table', { Accept: 'application/json;as=Table;v=v1;g=meta.k8s.io' }, ''],
  [
    'pretty table',
    { Accept: 'application/json;as=Table;v=v1;g=meta.k8s.io' },
    '?pretty=1&includeObject=Object',
  ],
  ['metadata', { Accept: 'application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io' }, ''],
];

describe.each(forms)('a long list, %s', (form, headers, query) => {
  const read = (text: string): Json => (form === 'yaml' ? parse(text) : JSON.parse(text));

  it('holds what its pages hold', async () => {
    // Proves that the streamed form agrees, object by object and byte by byte around them, with short lists made whole.
    const whole = await api.get(`${path}${query}`, headers);
    expect(whole.status).toBe(200);
    const joint = query ? '&' : '?';
    const page = await api.get(`${path}${query}${joint}limit=600`, headers);
    const token = encodeURIComponent(read(page.text).metadata.continue);
    const rest = await api.get(`${path}${query}${joint}limit=600&continue=${token}`, headers);
    const list = read(whole.text);
    const pages = [page, rest].map(({ text }) => read(text));
    expect(items(list)).toHaveLength(count);
    expect(items(list)).toEqual(pages.flatMap(items));
    const { items: _items, rows: _rows, metadata, ...envelope } = list;
    const { items: _i, rows: _r, metadata: pageMetadata, ...pageEnvelope } = pages[1];
    expect(envelope).toEqual(pageEnvelope);
    expect(metadata).toEqual(pageMetadata);
    expect(whole.headers['content-type']).toBe(page.headers['content-type']);
    // The text is laid out as that of a short list: the same beginning and end, and the same for one item.
    const layout = (text: string): string =>
      text.replaceAll(/,"continue":"[^"]*","remainingItemCount":\d+/g, '');
    expect(layout(page.text).slice(0, 20)).toBe(whole.text.slice(0, 20));
    expect(rest.text.slice(-5)).toBe(whole.text.slice(-5));
    const last = rest.text.slice(-6_000);
    expect(whole.text.endsWith(last)).toBe(true);
  });

  it('is the same compressed', async () => {
    const plain = await api.get(`${path}${query}`, headers);
    const zipped = await api.get(`${path}${query}`, { ...headers, 'Accept-Encoding': 'gzip' });
    expect(zipped.headers['content-encoding']).toBe('gzip');
    expect(zipped.headers.vary).toBe('Accept-Encoding');
    // Ages in tables go on while this is read.
    const text = (bytes: Buffer): string => bytes.toString().replaceAll(/"\d+s"/g, '"age"');
    expect(text(gunzipSync(zipped.bytes)) === text(plain.bytes)).toBe(true);
  });
});

describe('a client that does not read', () => {
  /** Asks for the long list, and reads nothing but the header. */
  async function paused(): Promise<IncomingMessage> {
    const sent = request(`${api.url}${path}`, { agent: false }).end();
    const [response] = (await once(sent, 'response')) as [IncomingMessage];
    response.pause().on('error', () => undefined);
    api.closing(() => response.destroy());
    return response;
  }

  const buffers = (): number => process.memoryUsage().arrayBuffers;

  it('does not have its answer made in advance', async () => {
    // Proves back-pressure: of twenty lists of ten megabytes each next to nothing waits in memory.
    const before = buffers();
    const responses = await Promise.all(Array.from({ length: 20 }, paused));
    await new Promise((resolve) => setTimeout(resolve, 300));
    expect(buffers() - before).toBeLessThan(100 * 1024 * 1024);
    // One that reads after all gets all of it.
    const chunks: Buffer[] = [];
    for await (const chunk of responses[0]!) chunks.push(chunk as Buffer);
    expect(JSON.parse(Buffer.concat(chunks).toString()).items).toHaveLength(count);
  });

  it('is let go of when the time of a request is over', async () => {
    // Proves that stalled answers end, are no failure of the server, and count among requests until then.
    const response = await paused();
    const reads = async (): Promise<number> =>
      parseMetrics((await api.get('/metrics')).text).value('apiserver_current_inflight_requests', {
        request_kind: 'readOnly',
      });
    // The one that asks counts too.
    expect(await reads()).toBe(2);
    await once(response.socket, 'close');
    expect(response.complete).toBe(false);
    expect(await reads()).toBe(1);
    const metrics = parseMetrics((await api.get('/metrics')).text);
    expect(metrics.value('wherry_limit_reached_total', { limit: 'request-timeout' })).toBeGreaterThan(0);
    expect(api.failures).toEqual([]);
  });
});

describe('a short list', () => {
  it('has a length', async () => {
    // Proves that what is made whole says how long it is.
    for (const [, headers, query] of forms) {
      const reply = await api.get(`/api/v1/namespaces/small/configmaps${query}`, headers);
      expect(Number(reply.headers['content-length'])).toBe(reply.bytes.length);
    }
    const long = await api.get(path);
    expect(Number(long.headers['content-length'])).toBe(long.bytes.length);
  });
});
