/** Proves that any query is safe: selectors, versions, continue tokens and options are refused or harmless. */
import { beforeAll, describe, expect, it } from 'vitest';
import { short, useTarget } from '../support/target.ts';

const configMaps = '/api/v1/namespaces/default/configmaps';
const target = useTarget();

beforeAll(async () => {
  await target.post('/api/v1/namespaces', { metadata: { name: 'other' } });
  for (const name of ['a', 'b', 'c']) await target.post(configMaps, { metadata: { name } });
  for (const name of ['a', 'b', 'x'])
    await target.post('/api/v1/namespaces/other/configmaps', { metadata: { name } });
  // A history to read, in which `c` differs from now.
  await target.patch(`${configMaps}/c`, { data: { now: 'yes' } });
});

const query = (name: string, value: string): string => `${configMaps}?${name}=${encodeURIComponent(value)}`;

describe('a label selector', () => {
  for (const [selector, says] of [
    ['a=b=c', /found '=', expected: ',' or 'end of string'/],
    ['a b', /found 'b', expected: in, notin/],
    ['a in b', /expected: '\('/],
    ['a in (', /expected/],
    ['a in ((b))', /found '\('/],
    ['((((a))))', /found '\('/],
    ['(', /found '\('/],
    ['a,', /identifier after ','/],
    [',a', /expected: !, identifier/],
    ['!', /expected: identifier/],
    ['!!a', /expected: identifier/],
    ['a>b', /must be an integer/],
    ['a>99999999999999999999', /must be an integer/],
    ['a/b/c', /valid label key/],
    ['__proto__', /name part must consist/],
    ['a=\u0000', /valid label/],
    ['\u0000', /name part/],
    ['😀', /name part/],
    ['a=😀', /valid label/],
    ['a in (b\r\nX-Evil: 1)', /expected/],
    ['a'.repeat(60_000), /name part must be no more than 63/],
    ['a'.repeat(500_000), /too long/],
    ['('.repeat(60_000), /found '\('/],
    ['!'.repeat(60_000), /expected: identifier/],
    [Array(1025).fill('a').join(), /more than 1024 requirements/],
    [`a in (${'x!,'.repeat(10_000)})`, /expected/],
  ] as const)
    it(`may be ${short(selector)}`, async () => {
      await target.refuses(() => target.get(query('labelSelector', selector)), 400, says);
      await target.refuses(() => target.get(`${query('labelSelector', selector)}&watch=1`), 400, says);
      await target.refuses(() => target.delete(query('labelSelector', selector)), 400, says);
    });

  it('does not take what every object inherits for a label', async () => {
    for (const key of ['constructor', 'toString', 'valueOf', 'hasOwnProperty', 'isPrototypeOf']) {
      expect((await target.get(query('labelSelector', key))).body.items).toEqual([]);
      expect((await target.get(query('labelSelector', `!${key}`))).body.items).toHaveLength(3);
    }
  });
});

describe('a field selector', () => {
  for (const [selector, says] of [
    ['foo', /can't understand 'foo'/],
    ['data.a=b', /not a known field selector/],
    ['__proto__=a', /not a known field selector/],
    ['constructor=a', /not a known field selector/],
    ['=a', /not a known field selector/],
    ['metadata.name=a=b', /unescaped character/],
    ['metadata.name=\\', /invalid escape sequence/],
    ['metadata.name=\\n', /invalid escape sequence/],
    ['metadata.name=a,', undefined],
    ['a'.repeat(60_000), /can't understand/],
    ['a'.repeat(500_000), /too long/],
    [Array(257).fill('metadata.name=a').join(), /more than 256 terms/],
  ] as const)
    it(`may be ${short(selector)}`, async () => {
      if (says) await target.refuses(() => target.get(query('fieldSelector', selector)), 400, says);
      else expect((await target.get(query('fieldSelector', selector))).status).toBe(200);
    });

  it('finds nothing by a name nobody has', async () => {
    for (const name of ['\u0000', 'b\u0000', '../a', '__proto__', 'other\u0000x'])
      expect((await target.get(query('fieldSelector', `metadata.name=${name}`))).body.items).toEqual([]);
  });
});

describe('a version', () => {
  const bad = ['abc', '-1', '1e9', '0x10', '1.5', ' 1', '\u0000', '१', '9'.repeat(21), '9'.repeat(100_000)];

  for (const version of bad)
    it(`may be ${short(version)}`, async () => {
      const problem = /^9+$/.test(version) ? 'value out of range' : 'invalid syntax';
      const says = new RegExp(String.raw`strconv\.ParseUint: parsing .*: ${problem}`, 's');
      await target.refuses(() => target.get(query('resourceVersion', version)), 400, says);
      await target.refuses(() => target.get(`${query('resourceVersion', version)}&watch=true`), 422, says);
      const one = `${configMaps}/a?resourceVersion=${encodeURIComponent(version)}`;
      await target.refuses(() => target.get(one), 500, says);
      const body = { metadata: { name: 'a', resourceVersion: version }, data: { stolen: 'yes' } };
      await target.refuses(() => target.put(`${configMaps}/a`, body), [409, 500]);
      await target.refuses(() => target.patch(`${configMaps}/a`, body), [409, 500]);
      await target.refuses(
        () => target.delete(`${configMaps}/a`, { preconditions: { resourceVersion: version } }),
        409,
      );
    });

  it('may be one that will not come', async () => {
    const before = await target.version();
    const paths = ['', '/a', '?resourceVersionMatch=Exact', '?limit=1'].flatMap((rest) =>
      ['18446744073709551615', '9007199254740993', '1000000'].map(
        (version) => `${configMaps}${rest}${rest.includes('?') ? '&' : '?'}resourceVersion=${version}`,
      ),
    );
    paths.push(
      `${configMaps}?watch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&resourceVersion=1000000`,
    );
    const replies = await Promise.all(paths.map((path) => target.get(path)));
    for (const reply of replies) {
      expect(reply.status).toBe(504);
      expect(reply.headers['retry-after']).toBe('1');
      expect(reply.body.message).toMatch(/^Timeout: Too large resource version: \d+, current: \d+$/);
    }
    await target.unharmed(before);
  });
});

describe('a continue token', () => {
  const token = (value: unknown): string =>
    Buffer.from(typeof value === 'string' ? value : JSON.stringify(value)).toString('base64url');
  const v = 'meta.k8s.io/v1';

  it.each([
    ['no base64', '!!!', /continue key is not valid/],
    ['no JSON', token('hello'), /continue key is not valid/],
    ['bytes', Buffer.from([0xff, 0xfe, 0]).toString('base64url'), /continue key is not valid/],
    ['null', token('null'), /does not recognize this encoded version/],
    ['a list', token([]), /does not recognize/],
    ['a text', token('"x"'), /does not recognize/],
    ['another version', token({ v: 'v2', rv: 1, start: 'a' }), /does not recognize/],
    ['inherited', token('{"__proto__":{"v":"meta.k8s.io/v1","rv":1,"start":""}}'), /does not recognize/],
    ['without a snapshot', token({ v, start: 'a' }), /incorrect encoded start resourceVersion/],
    ['a snapshot in words', token({ v, rv: '1', start: 'a' }), /incorrect encoded start/],
    ['half a snapshot', token({ v, rv: 1.5, start: 'a' }), /incorrect encoded start/],
    ['a negative snapshot', token({ v, rv: -2, start: 'a' }), /incorrect encoded start/],
    ['a huge snapshot', token(`{"v":"${v}","rv":1e300,"start":""}`), /incorrect encoded start/],
    ['a snapshot to come', token({ v, rv: 1e9, start: 'a' }), /has not happened yet/],
    ['without a key', token({ v, rv: 1 }), /start key empty or invalid/],
    ['a key that is no text', token({ v, rv: 1, start: { toString: 'a' } }), /start key empty or invalid/],
    ['nested', token(`${'['.repeat(100_000)}`), /continue key is not valid/],
  ])('may be %s', async (_what, text, says) => {
    await target.refuses(() => target.get(query('continue', text)), 400, says);
  });

  it('never shows another namespace, whatever key it names', async () => {
    const keys = [
      '',
      '\u0000',
      '\u0001',
      'default',
      'default\u0000',
      'default\u0001',
      'other',
      'other\u0000',
    ];
    keys.push(
      'other\u0000a',
      '../other',
      'configmaps\u0000other\u0000a',
      '\uffff',
      '\ud800',
      'default\u0000b',
    );
    const versions = [-1, Number(await target.version()), Number(await target.version()) - 1];
    for (const start of keys)
      for (const rv of versions)
        for (const rest of ['', '&limit=1', '&labelSelector=!a', '&fieldSelector=metadata.name%3Dx']) {
          const reply = await target.get(`${query('continue', token({ v, rv, start }))}${rest}`);
          expect(reply.status).toBe(200);
          for (const item of reply.body.items) expect(item.metadata.namespace).toBe('default');
          // Nor does the next token lead there.
          const next = reply.body.metadata.continue;
          if (next)
            expect(JSON.parse(Buffer.from(next, 'base64url').toString()).start).toMatch(/^default\u0000/);
        }
  });

  it('of another collection shows this one', async () => {
    const other = await target.get('/api/v1/namespaces/other/configmaps?limit=1');
    const all = await target.get('/api/v1/configmaps?limit=4');
    for (const { continue: next } of [other.body.metadata, all.body.metadata]) {
      expect(next).toBeTruthy();
      expect((await target.get(query('continue', next))).body.items).toEqual([]);
    }
  });
});

describe('options', () => {
  for (const [text, code, says] of [
    ['limit=abc', 400, /strconv\.ParseInt/],
    ['limit=1e5', 400, /strconv\.ParseInt/],
    ['limit=99999999999999999999', 400, /value out of range/],
    ['limit=%00', 400, /strconv\.ParseInt/],
    ['timeout=abc', 400, /invalid duration/],
    [`timeout=${'1h'.repeat(1000)}`, 400, /invalid duration/],
    ['timeout=1s%0d%0aX', 400, /invalid duration/],
    ['resourceVersionMatch=Exact', 422, /forbidden unless resourceVersion is provided/],
    ['resourceVersion=1&resourceVersionMatch=__proto__', 422, /Unsupported value: "__proto__"/],
    ['sendInitialEvents=true', 422, /forbidden for list/],
    ['watch=1&sendInitialEvents=true', 422, /NotOlderThan/],
    ['watch=1&timeoutSeconds=abc', 400, /strconv\.ParseInt/],
    ['watch=1&limit=1&fieldSelector=nonsense', 400, /can't understand/],
    [Array(1001).fill('a=b').join('&'), 400, /at most 1000 query parameters/],
    ['&'.repeat(100_000), undefined, /./],
    ['%'.repeat(1000), undefined, /./],
    ['=&=&__proto__=1&constructor[prototype]=1', undefined, /./],
    ['limit=-5&pretty=maybe&unknown=😀'.replace('😀', '%F0%9F%98%80'), undefined, /./],
    [`x=${'y'.repeat(1_000_000)}`, undefined, /./],
  ] as const)
    it(`of a list may be ${short(text)}`, async () => {
      const list = () => target.get(`${configMaps}?${text}`);
      if (code) await target.refuses(list, code, says);
      else expect((await list()).body.items).toHaveLength(3);
    });

  it('that are too many may ask for an answer that is easy to read', async () => {
    // Proves that a refused query's `pretty` does not affect the refusal.
    const text = `pretty=1&${'a=b&'.repeat(1001)}`;
    for (const path of [configMaps, `${configMaps}/a`, '/version'])
      await target.refuses(() => target.get(`${path}?${text}`), 400, /at most 1000 query parameters/);
    await target.refuses(
      () => target.get(`${configMaps}?watch=1&${text}`),
      400,
      /at most 1000 query parameters/,
    );
  });

  for (const [text, code, says] of [
    ['dryRun=Some', 422, /dryRun: Unsupported value/],
    ['dryRun=All&dryRun=__proto__', 422, /dryRun: Unsupported value/],
    ['fieldValidation=strict', 422, /fieldValidation: Unsupported value/],
    ['fieldManager=a%0d%0aX-Evil:%201', 422, /invalid character U\+000D \(at position 1\)/],
    ['fieldManager=%00', 422, /invalid character U\+0000/],
    ['fieldManager=%e2%80%ae', 422, /invalid character U\+202E/],
    [`fieldManager=${'a'.repeat(129)}`, 422, /Too long/],
    [`fieldManager=${'a'.repeat(500_000)}`, 422, /Too long/],
  ] as const)
    it(`of a write may be ${short(text)}`, async () => {
      const body = { metadata: { name: 'new' } };
      await target.refuses(() => target.post(`${configMaps}?${text}`, body), code, says);
      await target.refuses(
        () => target.put(`${configMaps}/a?${text}`, { metadata: { name: 'a' }, data: { a: 'b' } }),
        code,
      );
      await target.refuses(() => target.patch(`${configMaps}/a?${text}`, { data: { a: 'b' } }), code);
    });

  for (const [text, body, code, says] of [
    ['propagationPolicy=__proto__', undefined, 422, /Unsupported value: "__proto__"/],
    ['gracePeriodSeconds=abc', undefined, 400, /strconv\.ParseInt/],
    ['dryRun=Some', undefined, 422, /dryRun/],
    ['', '{', 400, /unexpected end of JSON input/],
    ['', '[]', 400, /unrecognized/],
    ['', 'null', 400, /unrecognized/],
    ['', '{"kind":"Pod"}', 400, /no kind "Pod"/],
    ['', '{"kind":{}}', 400, /no kind/],
    ['', '{"apiVersion":7}', 400, /cannot unmarshal/],
    ['', '{"preconditions":7}', 400, /cannot unmarshal/],
    ['', '{"preconditions":{"uid":"nobody"}}', 409, /does not match the UID/],
    ['', '{"gracePeriodSeconds":1e400}', 400, /cannot unmarshal/],
    ['', '{"gracePeriodSeconds":"0"}', 400, /cannot unmarshal/],
    ['', '{"dryRun":[null]}', 422, /dryRun/],
    ['', '{"propagationPolicy":"Orphan","orphanDependents":true}', 422, /cannot be both set/],
    ['', '['.repeat(100_000), 400, /exceeded max depth/],
  ] as const)
    it(`of a delete may be ${short(text || body || '')}`, async () => {
      await target.refuses(() => target.delete(`${configMaps}/a?${text}`, body), code, says);
      await target.refuses(
        () => target.delete(`${configMaps}?${text}`, body),
        code === 409 ? 409 : code,
        says,
      );
    });

  it('may ask for a grace period without end', async () => {
    const pods = '/api/v1/namespaces/default/pods';
    const pod = { metadata: { name: 'p' }, spec: { nodeName: 'n', containers: [{ name: 'c', image: 'i' }] } };
    expect((await target.post(pods, pod)).status).toBe(200);
    const reply = await target.delete(`${pods}/p`, { gracePeriodSeconds: Number.MAX_SAFE_INTEGER });
    expect(reply.status).toBe(200);
    expect(reply.body.metadata.deletionTimestamp).toMatch(/^2\d{3}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/);
    expect((await target.delete(`${pods}/p`, { gracePeriodSeconds: 0 })).status).toBe(200);
  });
});
