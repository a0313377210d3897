/** Proves that any malformed body, name or query gets a Status, and that nothing is stored. */
import { request } from 'node:http';
import { beforeAll, describe, expect, it } from 'vitest';
import type { Body, Headers, Reply } from '../support/http.ts';
import { useTarget } from '../support/target.ts';

const bodyBytesMax = 3 * 1024 * 1024;
const configMaps = '/api/v1/namespaces/default/configmaps';
const events = '/api/v1/namespaces/default/events';
const yaml = { 'Content-Type': 'application/yaml' };

const target = useTarget();

beforeAll(async () => {
  await target.post('/api/v1/namespaces', { metadata: { name: 'other' } });
  for (const name of ['a', 'b', 'c']) await target.post(configMaps, { metadata: { name } });
  for (const name of ['x', 'y'])
    await target.post('/api/v1/namespaces/other/configmaps', {
      metadata: { name },
      data: { secret: 'of the other' },
    });
});

/** `{"metadata":{"name":"new",…}}` with some members as text, for values that JSON.stringify cannot write. */
const metadataText = (members: string): string => `{"metadata":{"name":"new",${members}}}`;
const metadata = (members: object): object => ({ metadata: { name: 'new', ...members } });

type Attack = readonly [
  what: string,
  body: Body | (() => Body),
  code: number | readonly number[],
  says: RegExp,
];

/** Creates that must fail. */
const creates =
  (path: string, headers?: Headers) =>
  async (...[_what, body, code, says]: Attack) => {
    await target.refuses(
      () => target.post(path, typeof body === 'function' ? body() : body, headers),
      code,
      says,
    );
  };

const unrecognized = /^the object provided is unrecognized \(must be of type ConfigMap\)/;
const unhandled = /^ConfigMap in version "v1" cannot be handled as a ConfigMap: json: cannot unmarshal/;

const jsonAttacks: readonly Attack[] = [
  ['no body', '', 400, unrecognized],
  ['blanks', ' \n\t ', 400, unrecognized],
  ['text', 'hello', 400, /invalid character 'h' looking for beginning of value/],
  ['a truncated object', '{"metadata":{"name":"new"', 400, /unexpected end of JSON input/],
  ['a truncated string', '{"metadata":{"name":"n', 400, /unexpected end of JSON input/],
  ['two values', '{} {}', 400, /after top-level value/],
  ['null', 'null', 400, unrecognized],
  ['a list', '[]', 400, unrecognized],
  ['a string', '"{}"', 400, unrecognized],
  ['a number', '7', 400, unrecognized],
  ['100,000 open lists', '['.repeat(100_000), 400, /exceeded max depth/],
  ['100,000 nested objects', `${'{"a":'.repeat(100_000)}1${'}'.repeat(100_000)}`, 400, /exceeded max depth/],
  ['nesting inside a field', () => `{"data":${'['.repeat(100_000)}`, 400, /exceeded max depth/],
  ['a million numbers for a map', () => ({ data: Array(1_000_000).fill(1) }), 400, unhandled],
  ['700,000 finalizers', () => metadata({ finalizers: Array(700_000).fill('a') }), 422, /./],
  ['150,000 bad labels', () => metadata({ labels: numbered(150_000, '-') }), 422, /./],
  ['60,000 bad annotations', () => metadata({ annotations: numbered(60_000, '-') }), 422, /./],
  ['invalid UTF-8', Buffer.from('{"data":{"a":"\xff"}}', 'latin1'), 400, /invalid UTF-8/],
  ['UTF-16', Buffer.from('{"metadata":{"name":"new"}}', 'utf16le'), 400, unrecognized],
  ['a byte order mark', '\ufeff{"metadata":{"name":"new"}}', 400, unrecognized],
  ['a control character in a string', '{"metadata":{"name":"a\u0001"}}', 400, /in string literal/],
  ['another kind', { kind: 'Secret', ...metadata({}) }, 400, /cannot be handled as a ConfigMap/],
  ['an unknown kind', { kind: '__proto__', ...metadata({}) }, 400, /no kind "__proto__" is registered/],
  ['a kind that is no text', { kind: {}, ...metadata({}) }, 400, /cannot unmarshal/],
  ['a version that is no text', { apiVersion: 1, ...metadata({}) }, 400, /cannot unmarshal number/],
  ['metadata as text', { metadata: 'n' }, 400, unhandled],
  ['metadata as a list', { metadata: [] }, 400, unhandled],
  ['labels as a list', metadata({ labels: ['a'] }), 400, unhandled],
  ['a number as label', metadata({ labels: { a: 1 } }), 400, unhandled],
  ['an object as data', { ...metadata({}), data: { a: {} } }, 400, unhandled],
  ['1e400', metadataText('"generation":1e400'), 400, unhandled],
  ['-1e400', metadataText('"generation":-1e400'), 400, unhandled],
  ['2^63', metadataText('"generation":9223372036854775808'), 400, /number 9223372036854775808 into Go/],
  ['2^64', metadataText('"generation":18446744073709551616'), 400, unhandled],
  ['a fraction', metadataText('"generation":1.5'), 400, unhandled],
  ['a negative number', metadataText('"generation":-1'), 422, /must be greater than or equal to 0/],
  ['a bad time', metadata({ creationTimestamp: 'yesterday' }), 400, /parsing time/],
  ['a version on create', metadata({ resourceVersion: '1' }), 500, /should not be set on objects to be cre/],
  ['another namespace', metadata({ namespace: 'other' }), 400, /does not match the namespace sent/],
  ['a namespace with NUL', metadata({ namespace: 'default\u0000' }), 400, /does not match the namespace/],
  ['__proto__ as label', metadataText('"labels":{"__proto__":"a"}'), 422, /"__proto__"/],
  ['__proto__ as labels', metadataText('"labels":{"__proto__":{"a":"b"}}'), 400, unhandled],
  ['NUL in a label', metadata({ labels: { a: '\u0000' } }), 422, /metadata\.labels/],
];

function numbered(count: number, prefix: string): Record<string, string> {
  return Object.fromEntries(Array.from({ length: count }, (_, i) => [`${prefix}${i}`, '']));
}

describe('a JSON body', () => {
  it.each(jsonAttacks)('may be %s', creates(configMaps));

  it('gets an answer of reasonable size, however much is wrong with it', async () => {
    const body = metadata({ labels: numbered(50_000, '-') });
    const reply = await target.refuses(() => target.post(configMaps, body), 422, /metadata\.labels/);
    expect(reply.bytes.length).toBeLessThan(100_000);
    expect(reply.body.details.causes).toHaveLength(100);
  });

  it('may repeat keys: the last one wins, with a warning, or a refusal when strictness is asked for', async () => {
    const body =
      '{"metadata":{"name":"new","name":"new"},"data":{"a":"1","a":"2","__proto__":"3","__proto__":"4"}}';
    const reply = await target.post(`${configMaps}?dryRun=All`, body);
    expect(reply.text).toContain('"data":{"__proto__":"4","a":"2"}');
    expect(reply.warnings.join()).toContain('duplicate field \\"data.__proto__\\"');
    await target.refuses(
      () => target.post(`${configMaps}?fieldValidation=Strict`, body),
      400,
      /duplicate field/,
    );
  });
});

describe('a body that is too large', () => {
  const full = (size: number): string => {
    const frame = JSON.stringify({ metadata: { name: 'new' }, data: { a: '' } });
    return frame.replace('"a":""', `"a":"${'x'.repeat(size - frame.length)}"`);
  };

  it('is refused when it says so', async () => {
    for (const size of [bodyBytesMax + 1, 5 * bodyBytesMax])
      await target.refuses(() => target.post(configMaps, full(size)), 413, /limit is 3145728/);
  });

  it('is refused when it does not', async () => {
    for (const size of [bodyBytesMax + 1, 5 * bodyBytesMax])
      await target.refuses(() => chunked(full(size)), 413, /limit is 3145728/);
  });

  it('is read to the last byte allowed', async () => {
    await target.refuses(
      () => target.post(configMaps, full(bodyBytesMax).slice(0, -1)),
      400,
      /unexpected end/,
    );
    expect((await target.post(`${configMaps}?dryRun=All`, full(bodyBytesMax))).status).not.toBe(413);
  });

  it('is refused when it only becomes too large by being stored', async () => {
    const text = '\\0'.repeat(1_450_000);
    const body = `metadata: {name: new}\ntemplate: {spec: {containers: [{name: a, image: b, args: ["${text}"]}]}}`;
    const path = '/api/v1/namespaces/default/podtemplates';
    await target.refuses(() => target.post(path, body, yaml), 413, /the object would have \d+ bytes/);
  });

  /** Without Content-Length. */
  function chunked(text: string): Promise<Reply> {
    return new Promise((resolve, reject) => {
      const sent = request(`${target.url}${configMaps}`, { method: 'POST' }, (response) => {
        const chunks: Buffer[] = [];
        response
          .on('data', (chunk: Buffer) => chunks.push(chunk))
          .on('end', () => {
            const body = JSON.parse(Buffer.concat(chunks).toString());
            resolve({ status: response.statusCode!, body } as Reply);
          });
      });
      sent.on('error', reject);
      for (let at = 0; at < text.length; at += 65_536) sent.write(text.slice(at, at + 65_536));
      sent.end();
    });
  }
});

const laughs = ['a0: &a0 [x, x, x, x, x, x, x, x, x, x]']
  .concat(
    Array.from({ length: 12 }, (_, i) => `a${i + 1}: &a${i + 1} [${Array(10).fill(`*a${i}`).join(', ')}]`),
  )
  .join('\n');

const yamlAttacks: readonly Attack[] = [
  ['a billion laughs', laughs, 400, /excessive aliasing/],
  ['an alias of itself', 'data: &a {b: *a}', 400, /contains itself/],
  ['an unknown alias', 'data: *nobody', 400, /nobody/],
  ['merges without end', `a: &a {x: 1}\n${'b: {<<: *a, <<: *a}\n'.repeat(30_000)}`, 400, /./],
  ['100,000 open lists', '['.repeat(100_000), 400, /exceeded max depth/],
  ['100,000 indented maps', () => '? '.repeat(100_000), 400, /exceeded max depth|too many parts/],
  ['too many parts', 'a: [1,2,3]\n'.repeat(50_000), 400, /too many parts/],
  ['two documents', 'metadata: {name: new}\n---\nmetadata: {name: m}', 400, /found more/],
  ['tabs', '\tmetadata: {name: new}', 400, /yaml/],
  ['a list as key', '? [a]\n: b', 400, /./],
  ['an infinite number', 'metadata: {name: new, generation: .inf}', 400, /unsupported value/],
  ['a class', 'metadata: !!js/function "function () {}"', 400, unhandled],
  ['__proto__ as labels', 'metadata: {name: new, labels: {__proto__: {a: b}}}', 400, unhandled],
  ['nothing', '# nothing', 400, /./],
  ['invalid UTF-8', Buffer.from('metadata: {name: new}\ndata: {a: "\xff"}', 'latin1'), 400, /invalid UTF-8/],
  ['invalid UTF-8 as JSON', Buffer.from('{"data":{"a":"\xff"}}', 'latin1'), 400, /invalid UTF-8/],
  [
    'half a character',
    Buffer.from('6d657461646174613a207b6e616d653a206e65777d0a646174613a207b613a20eda0807d', 'hex'),
    400,
    /invalid UTF-8/,
  ],
  ['half a pair', 'metadata: {name: new}\ndata: {a: "\\ud800"}', 400, /invalid Unicode character escape/],
  ['half a pair as key', 'metadata: {name: new}\ndata: {"\\udc00": b}', 400, /invalid Unicode character/],
  ['a number of too many digits', 'metadata: {name: new, generation: 1.0000000000000000001}', 400, unhandled],
  ['2^63', 'metadata: {name: new, generation: 9223372036854775808}', 400, unhandled],
];

describe('a YAML body', () => {
  it.each(yamlAttacks)('may be %s', creates(configMaps, yaml));
});

const envelope = (...rest: (number | string)[]): Buffer =>
  Buffer.concat([
    Buffer.from([0x6b, 0x38, 0x73, 0x00]),
    ...rest.map((part) => (typeof part === 'string' ? Buffer.from(part, 'latin1') : Buffer.from([part]))),
  ]);
const typeMeta = (kind: string): string => {
  const meta = `\x0a\x02v1\x12${String.fromCharCode(kind.length)}${kind}`;
  return `\x0a${String.fromCharCode(meta.length)}${meta}`;
};

const protobufAttacks: readonly Attack[] = [
  ['JSON', '{"metadata":{"name":"new"}}', 400, /does not appear to be a protobuf message/],
  ['half of the magic bytes', Buffer.from('k8'), 400, /./],
  ['magic bytes alone', envelope(), 400, /./],
  ['an unknown kind', envelope(typeMeta('Nobody')), 400, /Nobody/],
  ['another kind', envelope(typeMeta('Secret'), '\x12\x00'), 400, /./],
  ['a message longer than the body', envelope(typeMeta('ConfigMap'), '\x12\x7f\x0a'), 400, /./],
  ['a length without end', envelope(typeMeta('ConfigMap'), `\x12${'\xff'.repeat(11)}`), 400, /./],
  [
    'a negative length',
    envelope(typeMeta('ConfigMap'), '\x12\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01'),
    400,
    /./,
  ],
  ['field zero', envelope(typeMeta('ConfigMap'), '\x12\x02\x00\x00'), 400, /./],
  ['a group without end', envelope(typeMeta('ConfigMap'), `\x12\x04${'\x0b'.repeat(4)}`), 400, /./],
  ['the wrong wire type', envelope(typeMeta('ConfigMap'), '\x12\x02\x08\x01'), 400, /./],
  ['invalid UTF-8', envelope(typeMeta('ConfigMap'), '\x12\x05\x0a\x03\x0a\x01\xff'), 400, /./],
  ['3 MB of varints', () => envelope(typeMeta('ConfigMap'), '\xff'.repeat(3_000_000)), 400, /./],
];

describe('a protobuf body', () => {
  it.each(protobufAttacks)(
    'may be %s',
    creates(configMaps, { 'Content-Type': 'application/vnd.kubernetes.protobuf' }),
  );
});

const badNames = [
  '',
  '.',
  '..',
  '/',
  'a/b',
  '%',
  'A',
  'a_b',
  '-a',
  'a..b',
  'ä',
  '😀',
  'a\u0000b',
  '\ud800',
  ' a',
  'a\n',
];

describe('a name', () => {
  it.each(badNames)('may not be %j', async (name) => {
    await target.refuses(() => target.post(configMaps, { metadata: { name } }), 422, /metadata\.name/);
  });

  it('may not be very long', async () => {
    for (const name of ['a'.repeat(254), 'a'.repeat(100_000), 'a'.repeat(3_000_000)])
      await target.refuses(() => target.post(configMaps, { metadata: { name } }), 422, /no more than 253/);
  });

  it('may be any text where a kind says so, as long as it can be stored', async () => {
    const involvedObject = { namespace: 'default', kind: 'Pod', name: 'p' };
    const create = (name: string) => target.post(events, { metadata: { name }, involvedObject });
    for (const name of ['a'.repeat(2000), 'ä'.repeat(1000), '😀'.repeat(700_000)])
      await target.refuses(() => create(name), 422, /metadata\.name: Too long/);
    for (const name of ['a/b', 'a%b', '.', '..', 'a\u0000b']) await target.refuses(() => create(name), 422);
    const halfPair =
      'metadata: {name: "a\\uD800b"}\ninvolvedObject: {namespace: default, kind: Pod, name: p}';
    await target.refuses(() => target.post(events, halfPair, yaml), 400, /invalid Unicode character/);
    const long = 'a'.repeat(2000);
    await target.refuses(
      () => target.put(`${events}/${long}`, { metadata: { name: long }, involvedObject }),
      422,
    );
    for (const name of ['ä', '😀', 'A b"c\\d', '__proto__']) {
      expect((await create(name)).status).toBe(200);
      expect((await target.get(`${events}/${encodeURIComponent(name)}`)).body.metadata.name).toBe(name);
    }
  });

  it.each([
    ['%', '%25', 400, /may not contain '%'/],
    ['..', '%2e%2e', 400, /may not be '\.\.'/],
    ['a/b', 'a%2Fb', 404, /could not find/],
    ['a broken escape', '%zz', 400, /percent-encoding/],
    ['bytes that are no UTF-8', '%c3%28', 400, /percent-encoding/],
    ['NUL', 'a%00b', 404, /not found/],
    ['half a surrogate pair', '%ed%a0%80', 400, /percent-encoding/],
    ['100,000 characters', 'a'.repeat(100_000), 404, /not found/],
  ] as const)('in a path may be %s', async (_what, name, code, says) => {
    for (const method of ['GET', 'PUT', 'DELETE'])
      await target.refuses(() => target.request(method, `${configMaps}/${name}`, '{}'), code, says);
  });

  it('of a namespace in a path may be anything', async () => {
    for (const namespace of ['..', '%00', 'a%00b', 'default%00', '%20', '😀', 'a'.repeat(10_000)]) {
      const path = `/api/v1/namespaces/${encodeURI(decodeURIComponent(namespace))}/configmaps`;
      await target.refuses(() => target.post(path, metadata({})), 404, /namespaces .* not found/s);
      expect((await target.get(path)).body.items).toEqual([]);
    }
  });
});

/** Each of these fails until the rule in `src/api` that it names is fixed; then remove `fails`. */
describe('rules that still give way', () => {
  const own = useTarget();

  it('owner references that are all controllers get an answer of reasonable size', async () => {
    const ownerReferences = Array.from({ length: 300 }, (_, i) => ({
      apiVersion: 'v1',
      kind: 'Pod',
      name: 'p',
      uid: `uid-${i}`,
      controller: true,
    }));
    const reply = await own.post(configMaps, metadata({ ownerReferences }));
    expect(reply.status).toBe(422);
    expect(reply.bytes.length).toBeLessThan(1_000_000);
  });

  it('a requirement without a key is refused', async () => {
    const template = {
      metadata: { labels: { a: 'b' } },
      spec: { restartPolicy: 'Never', containers: [{ name: 'c', image: 'i' }] },
    };
    const job = { metadata: { name: 'new' }, spec: { template, selector: { matchExpressions: [{}] } } };
    const reply = await own.post('/apis/extensions/v1beta1/namespaces/default/jobs', job);
    expect(reply.status).toBe(422);
  });
});
