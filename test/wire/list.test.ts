/** Lists: shape, selectors, query parameters and versions. Wire contract, sections 7.1 to 7.4 and 7.6. */
import { beforeAll, describe, expect, it } from 'vitest';
import { type Json, useCluster } from '../support/http.ts';
import { expectFailure, expectInvalidOptions } from './failure.ts';
import { configMap, configMaps, created, currentVersion, job, jobs, pod, pods } from './objects.ts';

const client = useCluster();
const here = '/api/v1/namespaces/kube-public/configmaps';

async function names(path: string, query: Record<string, string> = {}): Promise<string[]> {
  const reply = await client.get(`${path}?${new URLSearchParams(query)}`);
  expect(reply.status, reply.text).toBe(200);
  return reply.body.items.map((item: Json) => item.metadata.name);
}

const refused = (path: string, query: Record<string, string>) =>
  client.get(`${path}?${new URLSearchParams(query)}`);

beforeAll(async () => {
  await created(client, here, configMap('b', {}, { labels: { tier: 'web', size: '5', odd: '' } }));
  await created(client, here, configMap('a', {}, { labels: { tier: 'db', size: '10' } }));
  await created(client, here, configMap('c'));
  await created(client, '/api/v1/namespaces/kube-system/configmaps', configMap('a'));
  await created(client, pods, pod('p', { labels: { run: 'p' } }, { restartPolicy: 'Never' }));
  await created(client, jobs, job('j'));
});

describe('a list', () => {
  it('is sorted by namespace, then by name', async () => {
    expect(await names(here)).toEqual(['a', 'b', 'c']);
    const { body } = await client.get('/api/v1/configmaps');
    const keys = body.items.map((item: Json) => `${item.metadata.namespace}/${item.metadata.name}`);
    expect(keys).toEqual([...keys].sort());
    expect(new Set(keys.map((key: string) => key.split('/')[0])).size).toBeGreaterThan(1);
  });

  it('has its kind, a version and always items', async () => {
    const { body } = await client.get('/api/v1/namespaces/nowhere/configmaps');
    expect(body).toEqual({
      kind: 'ConfigMapList',
      apiVersion: 'v1',
      metadata: { selfLink: '/api/v1/namespaces/nowhere/configmaps', resourceVersion: expect.any(String) },
      items: [],
    });
    expect((await client.get(jobs)).body).toMatchObject({
      kind: 'JobList',
      apiVersion: 'extensions/v1beta1',
    });
  });
});

describe('query parameters', () => {
  it('are true unless absent, false or 0', async () => {
    for (const query of ['watch=false', 'watch=FALSE', 'watch=0', ''])
      expect((await client.get(`${here}?${query}`)).body.kind).toBe('ConfigMapList');
    for (const query of ['watch', 'watch=', 'watch=no', 'watch=True', 'watch=1']) {
      const watch = await client.watch(`${here}?${query}&resourceVersion=0`);
      expect((await watch.next()).type).toBe('ADDED');
      watch.close();
    }
  });

  it('may be unknown, and count once', async () => {
    expect(await names(`${here}?bogus=1&labelSelector=tier%3Dweb&labelSelector=tier%3Ddb`)).toEqual(['b']);
  });

  it('are numbers where numbers belong', async () => {
    for (const name of ['limit', 'timeoutSeconds'])
      expectFailure(
        await client.get(`${here}?${name}=abc${name === 'limit' ? '' : '&watch=1'}`),
        400,
        'BadRequest',
        'strconv.ParseInt: parsing "abc": invalid syntax',
      );
  });

  it('may give the request a time, which is a duration', async () => {
    expect((await client.get(`${here}?timeout=32s`)).status).toBe(200);
    expect((await client.get(`${here}?t%69meout=abc`)).status).toBe(400);
    expect((await client.get(`${here}?prett%79=true`)).text).toContain('\n  "');
    expectFailure(
      await client.get(`${here}?timeout=abc`),
      400,
      'BadRequest',
      'invalid timeout specified in the request URL - time: invalid duration "abc"',
    );
  });
});

describe('labelSelector', () => {
  const selections: [string, string[]][] = [
    ['', ['a', 'b', 'c']],
    ['tier', ['a', 'b']],
    ['!tier', ['c']],
    ['tier=web', ['b']],
    ['tier==web', ['b']],
    ['tier!=web', ['a', 'c']],
    ['tier in (web,db)', ['a', 'b']],
    ['tier in (web, nope)', ['b']],
    ['tier notin (web)', ['a', 'c']],
    ['size>5', ['a']],
    ['size<10', ['b']],
    ['odd=', ['b']],
    ['odd in ()', ['b']],
    ['tier,size=10', ['a']],
    [' tier = web ,\todd\n', ['b']],
  ];
  for (const [selector, selected] of selections)
    it(`${JSON.stringify(selector)} selects ${selected}`, async () => {
      expect(await names(here, { labelSelector: selector })).toEqual(selected);
    });

  const errors: [string, string | RegExp][] = [
    ['! =b', "unable to parse requirement: found '=', expected: identifier"],
    ['a in x', "unable to parse requirement: found 'x' expected: '('"],
    ['=', "found '=', expected: !, identifier, or 'end of string'"],
    ['a,,b', "found ',', expected: identifier after ','"],
    ['a=b b', "found 'b', expected: ',' or 'end of string'"],
    ['a q', "unable to parse requirement: found 'q', expected: in, notin, =, ==, !=, gt, lt"],
    [
      'a/b/c=d',
      /^unable to parse requirement: <nil>: Invalid value: "a\/b\/c": a valid label key must consist of /,
    ],
    [
      'a>x',
      "unable to parse requirement: values[0]: Invalid value: \"x\": for 'Gt', 'Lt' operators, the value must be an integer",
    ],
  ];
  for (const [selector, text] of errors)
    it(`${JSON.stringify(selector)} is refused`, async () => {
      expectFailure(await refused(here, { labelSelector: selector }), 400, 'BadRequest', text);
    });
});

describe('fieldSelector', () => {
  it('selects by name and namespace', async () => {
    expect(await names(here, { fieldSelector: 'metadata.name=b' })).toEqual(['b']);
    expect(await names(here, { fieldSelector: 'metadata.name==b' })).toEqual(['b']);
    expect(await names(here, { fieldSelector: 'metadata.name!=b' })).toEqual(['a', 'c']);
    expect(await names(here, { fieldSelector: 'metadata.name!=b,metadata.name!=c' })).toEqual(['a']);
    expect(
      await names('/api/v1/configmaps', { fieldSelector: 'metadata.namespace=kube-public,metadata.name=a' }),
    ).toEqual(['a']);
  });

  it('selects by fields of a kind, missing ones being empty', async () => {
    expect(await names(pods, { fieldSelector: 'spec.restartPolicy=Never,status.phase=Pending' })).toEqual([
      'p',
    ]);
    expect(await names(pods, { fieldSelector: 'spec.nodeName=' })).toEqual(['p']);
    expect(await names(pods, { fieldSelector: 'spec.host!=' })).toEqual([]);
    expect(await names('/api/v1/namespaces', { fieldSelector: 'status.phase!=Active' })).toEqual([]);
    expect(await names(jobs, { fieldSelector: 'status.successful=0' })).toEqual(['j']);
    expect(await names('/api/v1/nodes', { fieldSelector: 'spec.unschedulable=true' })).toEqual([]);
  });

  it('escapes what would separate', async () => {
    expect(await names(here, { fieldSelector: 'metadata.name=a\\,b\\=c\\\\' })).toEqual([]);
  });

  const kinds: [string, string, string][] = [
    [pods, 'spec.bogus', 'field label not supported: spec.bogus'],
    ['/api/v1/nodes', 'metadata.namespace', 'field label not supported: metadata.namespace'],
    [configMaps, 'data', '"data" is not a known field selector: only "metadata.name", "metadata.namespace"'],
    [jobs, 'spec.bogus', 'field label "spec.bogus" not supported for Job'],
  ];
  for (const [path, field, text] of kinds)
    it(`does not know ${field} of ${path}`, async () => {
      expectFailure(await refused(path, { fieldSelector: `${field}=x` }), 400, 'BadRequest', text);
    });

  it('is pairs', async () => {
    expectFailure(
      await refused(here, { fieldSelector: 'foo' }),
      400,
      'BadRequest',
      "invalid selector: 'foo'; can't understand 'foo'",
    );
  });
});

describe('resourceVersion', () => {
  it('0, or one that has been, gets the latest', async () => {
    const version = await currentVersion(client);
    for (const resourceVersion of ['0', '1', String(version)]) {
      const reply = await refused(here, { resourceVersion });
      expect(reply.body.items).toHaveLength(3);
      expect(Number(reply.body.metadata.resourceVersion)).toBeGreaterThanOrEqual(version);
    }
  });

  it('Exact gets the state of that time', async () => {
    const path = '/api/v1/namespaces/kube-node-lease/configmaps';
    await created(client, path, configMap('old'));
    const version = String(await currentVersion(client));
    await client.delete(`${path}/old`);
    await created(client, path, configMap('new'));
    const exact = await refused(path, { resourceVersion: version, resourceVersionMatch: 'Exact' });
    expect(exact.body.metadata.resourceVersion).toBe(version);
    expect(exact.body.items.map((item: Json) => item.metadata.name)).toEqual(['old']);
    expect(await names(path, { resourceVersion: version, resourceVersionMatch: 'NotOlderThan' })).toEqual([
      'new',
    ]);
    expect(await names(path, { resourceVersion: version, limit: '5' })).toEqual(['old']);
  });

  it('of the future is waited for, then refused', async () => {
    const wanted = (await currentVersion(client)) + 1000;
    const replies = await Promise.all(
      ['', 'NotOlderThan', 'Exact'].map((resourceVersionMatch) =>
        refused(here, { resourceVersion: String(wanted), resourceVersionMatch }),
      ),
    );
    for (const reply of replies) {
      expect(reply.status).toBe(504);
      expect(reply.body.message).toMatch(`Timeout: Too large resource version: ${wanted}, current: `);
      expect(reply.headers['retry-after']).toBe('1');
    }
  });

  it('is a number', async () => {
    expectFailure(
      await refused(here, { resourceVersion: 'abc' }),
      400,
      'BadRequest',
      'invalid resource version: resourceVersion: Invalid value: "abc": strconv.ParseUint: parsing "abc": invalid syntax',
    );
  });
});

describe('resourceVersionMatch', () => {
  const refusals: [Record<string, string>, string][] = [
    [
      { resourceVersionMatch: 'Exact' },
      'Forbidden: resourceVersionMatch is forbidden unless resourceVersion is provided',
    ],
    [
      { resourceVersionMatch: 'NotOlderThan' },
      'Forbidden: resourceVersionMatch is forbidden unless resourceVersion is provided',
    ],
    [
      { resourceVersionMatch: 'NotOlderThan', resourceVersion: '1', continue: 'x' },
      'Forbidden: resourceVersionMatch is forbidden when continue is provided',
    ],
    [
      { resourceVersionMatch: 'Bogus', resourceVersion: '1' },
      'Unsupported value: "Bogus": supported values: "Exact", "NotOlderThan", ""',
    ],
    [
      { resourceVersionMatch: 'Exact', resourceVersion: '0' },
      'Forbidden: resourceVersionMatch "exact" is forbidden for resourceVersion "0"',
    ],
  ];
  for (const [query, text] of refusals)
    it(`refuses ${JSON.stringify(query)}`, async () => {
      expectInvalidOptions(await refused(here, query), 'ListOptions', 'resourceVersionMatch', text);
    });

  it('goes with version 0', async () => {
    expect(await names(here, { resourceVersion: '0', resourceVersionMatch: 'NotOlderThan' })).toHaveLength(3);
  });
});

describe('sendInitialEvents', () => {
  it('is not for lists', async () => {
    expectInvalidOptions(
      await refused(here, { sendInitialEvents: 'true' }),
      'ListOptions',
      'sendInitialEvents',
      'Forbidden: sendInitialEvents is forbidden for list',
    );
  });
});
