/**
 * Proves that a list of any size is streamed in every form, with the same content as one that is built as a whole.
 */
import { once } from 'node:events';
import { type IncomingMessage, request } from 'node:http';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { gunzipSync } from 'node:zlib';
import { beforeAll, describe, expect, it } from 'vitest';
import type { Headers } from '../../../test/support/http.ts';
import { parseMetrics } from '../../../test/support/metrics.ts';
import { useProxied } from '../pods/proxying.fixture.ts';

/** More items and bytes than lists that are built as a whole have. */
const count = 1_200;
const ballast = `é"\n${'x'.repeat(3_700)}`;
const api = useProxied();
/** A server whose requests time out soon. */
const hasty = useProxied({ requestTimeoutMs: 3_000 });
const path = '/api/v1/namespaces/big/configmaps';

beforeAll(async () => {
  const data = { ballast, tail: '- x: "y"' };
  const plant = (server: typeof api, namespace: string, name: string) =>
    server.seed('configmaps', namespace, { metadata: { name, labels: { a: 'b' } }, data });
  const names = Array.from({ length: count }, (_, i) => `c-${String(i).padStart(4, '0')}`);
  await Promise.all([api, hasty].flatMap((server) => names.map((name) => plant(server, 'big', name))));
  await Promise.all([plant(api, 'small', 'a'), plant(api, 'small', 'b')]);
});

const table = 'application/json;as=Table;v=v1;g=meta.k8s.io';
const metadata = 'application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io';

/** How a form is requested, where the items are in its text, and their separator. */
const forms: [form: string, headers: Headers, query: string, items: RegExp, between: string][] = [
  ['plain', {}, '', /(?<="items":\[).*(?=\]\}\n$)/s, ','],
  ['pretty', {}, '?pretty=true', /(?<="items": \[).*(?=\n {2}\]\n\}$)/s, ','],
  ['yaml', { Accept: 'application/yaml' }, '', /(?<=\nitems:\n).*(?=kind: ConfigMapList\n)/s, ''],
  ['table', { Accept: table }, '', /(?<="rows":\[).*(?=\]\}\n$)/s, ','],
  ['pretty table', { Accept: table }, '?pretty=1', /(?<="rows": \[).*(?=\n {2}\]\n\}$)/s, ','],
  ['yaml table', { Accept: table.replace('json', 'yaml') }, '', /(?<=\nrows:\n).*$/s, ''],
  ['metadata', { Accept: metadata }, '', /(?<="items":\[).*(?=\]\}\n$)/s, ','],
];

/** Ages in tables change between two reads. */
const withoutAges = (text: string): string => text.replaceAll(/(?<=["\s])\d+s(?=["\s])/g, 'age');

describe.each(forms)('a long list, %s', (form, headers, query, items, between) => {
  const steady = (text: string): string => (form.includes('table') ? withoutAges(text) : text);

  it('is, byte by byte, what its pages are, and the same compressed', async () => {
    // Proves that the streamed form agrees with short lists, which are built as a whole.
    const whole = await api.get(`${path}${query}`, headers);
    expect(whole.status).toBe(200);
    const limited = `${path}${query}${query ? '&' : '?'}limit=600`;
    const page = await api.get(limited, headers);
    const token = /"?continue"?: ?"?([\w-]+)/.exec(page.text)![1];
    const rest = await api.get(`${limited}&continue=${token}`, headers);
    expect(whole.headers['content-type']).toBe(page.headers['content-type']);
    const [all, first, second] = [whole, page, rest].map(({ text }) => items.exec(steady(text))![0]);
    expect(all!.length).toBeGreaterThan(100_000);
    expect(all === `${first}${between}${second}`).toBe(true);
    // Apart from its items the last page equals the whole list: neither has a continue token.
    const around = (text: string): string => text.replace(items, '');
    expect(around(whole.text)).toBe(around(rest.text));
    const zipped = await api.get(`${path}${query}`, { ...headers, 'Accept-Encoding': 'gzip' });
    expect(zipped.headers['content-encoding']).toBe('gzip');
    expect(zipped.headers.vary).toBe('Accept-Encoding');
    expect(steady(gunzipSync(zipped.bytes).toString()) === steady(whole.text)).toBe(true);
  });
});

describe('one large object', () => {
  /** Turns of the event loop until the head of an answer is there, which comes when most of it is made. */
  async function turnsOf(where: string, headers: Headers): Promise<number> {
    let turns = 0;
    let isOver = false;
    const count = (): void => {
      turns++;
      if (!isOver) setImmediate(count);
    };
    count();
    const sent = request(`${api.url}/api/v1/namespaces/large/${where}`, { agent: false, headers }).end();
    const [response] = (await once(sent, 'response')) as [IncomingMessage];
    isOver = true;
    response.resume();
    await once(response, 'end');
    return turns;
  }

  it('in YAML, alone or in a list, is made in many turns', async () => {
    // Proves that others are served meanwhile. JSON is what is stored, and takes few turns.
    const data = Object.fromEntries(Array.from({ length: 80_000 }, (_, i) => [`key-${i}`, `v: "${i}"`]));
    await api.seed('configmaps', 'large', { metadata: { name: 'one' }, data });
    for (const where of ['configmaps/one', 'configmaps']) {
      const plain = await turnsOf(where, {});
      expect(await turnsOf(where, { Accept: 'application/yaml' })).toBeGreaterThan(plain + 5);
    }
  });
});

describe('a client that does not read', () => {
  /** Requests the long list, and reads only the header. */
  async function paused(server = api): Promise<IncomingMessage> {
    const sent = request(`${server.url}${path}`, { agent: false }).end();
    const [response] = (await once(sent, 'response')) as [IncomingMessage];
    response.pause().on('error', () => undefined);
    server.closing(() => response.destroy());
    return response;
  }

  const read = async (response: IncomingMessage): Promise<Buffer> => {
    const chunks: Buffer[] = [];
    for await (const chunk of response) chunks.push(chunk as Buffer);
    return Buffer.concat(chunks);
  };

  it('does not have its answer made in advance', async () => {
    // Proves back-pressure: of thirty lists of five megabytes each only a little is buffered.
    setFlagsFromString('--expose-gc');
    const collect = runInNewContext('gc') as () => void;
    const held = (): number => {
      // A second collection waits for what the first one frees beside the program.
      collect();
      collect();
      return process.memoryUsage().arrayBuffers;
    };
    const before = held();
    const responses = await Promise.all(Array.from({ length: 30 }, () => paused()));
    // By the time another client has its whole answer, text built in advance for the stalled ones would be in memory.
    expect((await api.get(path)).body.items).toHaveLength(count);
    expect(held() - before).toBeLessThan(75 * 1024 * 1024);
    // A stalled client that reads again gets the whole list.
    expect(JSON.parse((await read(responses[0]!)).toString()).items).toHaveLength(count);
  });

  it('is let go of when the time of a request is over', async () => {
    // Proves that stalled answers time out, are not reported as server errors, and count as under way until then.
    const metrics = async () => parseMetrics((await hasty.get('/metrics')).text);
    const reads = async (): Promise<number> =>
      // This request counts, too.
      (await metrics()).value('apiserver_current_inflight_requests', { request_kind: 'readOnly' }) - 1;
    const response = await paused(hasty);
    expect(await reads()).toBe(1);
    while ((await reads()) > 0) await new Promise((resolve) => setTimeout(resolve, 100));
    await expect(read(response)).rejects.toThrow(/aborted|reset/i);
    expect(
      (await metrics()).value('wherry_limit_reached_total', { limit: 'request-timeout' }),
    ).toBeGreaterThan(0);
    expect(hasty.failures).toEqual([]);
  });
});

describe('a short list', () => {
  it('has a length', async () => {
    // Proves that answers built as a whole have a Content-Length.
    for (const [, headers, query] of forms) {
      const reply = await api.get(`/api/v1/namespaces/small/configmaps${query}`, headers);
      expect(Number(reply.headers['content-length'])).toBe(reply.bytes.length);
    }
    const long = await api.get(path);
    expect(Number(long.headers['content-length'])).toBe(long.bytes.length);
  });
});
