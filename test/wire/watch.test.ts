/** Watches: framing, start, selectors, and end. Wire contract, section 8. */
import { describe, expect, it } from 'vitest';
import { brief, type Client, housekeeping, type Reply, useCluster } from '../support/http.ts';
import { expectFailure, expectInvalidOptions } from './failure.ts';
import { configMap, configMaps, created, currentVersion } from './objects.ts';

const client = useCluster({ controllers: housekeeping });

const open = (query: Record<string, string>, path = configMaps, from: Client = client) =>
  from.watch(`${path}?${new URLSearchParams({ watch: 'true', ...query })}`);
const refused = (query: Record<string, string>, path = configMaps): Promise<Reply> =>
  client.get(`${path}?${new URLSearchParams({ watch: 'true', ...query })}`);

/** A new namespace, so that the watch sees nothing else. */
async function place(name: string, from: Client = client): Promise<string> {
  await created(from, '/api/v1/namespaces', { metadata: { name } });
  return `/api/v1/namespaces/${name}/configmaps`;
}

describe('framing', () => {
  it('is a chunked 200, and the header comes at once', async () => {
    const watch = await open({ resourceVersion: String(await currentVersion(client)) });
    expect(watch.headers['content-type']).toBe('application/json');
    expect(watch.headers['cache-control']).toBe('no-cache, private');
    expect(watch.headers['transfer-encoding']).toBe('chunked');
    expect(watch.headers['content-length']).toBeUndefined();
    watch.close();
  });

  it('is one line per event, sent as it happens', async () => {
    const watch = await open({ resourceVersion: String(await currentVersion(client)) });
    const object = await created(client, configMaps, configMap('framed'));
    expect(await watch.next()).toEqual({ type: 'ADDED', object });
    expect(watch.lines).toEqual([JSON.stringify({ type: 'ADDED', object })]);
    watch.close();
  });

  it('refuses what is wrong before it begins', async () => {
    expect((await refused({ labelSelector: '=' })).status).toBe(400);
    expect((await refused({ fieldSelector: 'spec.bogus=1' })).status).toBe(400);
    expect((await refused({ resourceVersionMatch: 'Exact' })).status).toBe(422);
  });
});

describe('without a version', () => {
  it('all that happened is told, then what happens', async () => {
    const path = await place('history');
    await created(client, path, configMap('a'));
    await client.patch(`${path}/a`, { data: { a: '2' } });
    await client.delete(`${path}/a`);
    await created(client, path, configMap('b'));
    const watch = await open({}, path);
    await created(client, path, configMap('c'));
    expect((await watch.take(5)).map(brief)).toEqual([
      'ADDED a',
      'MODIFIED a',
      'DELETED a',
      'ADDED b',
      'ADDED c',
    ]);
    watch.close();
  });

  it('an event is told with the object as it was then', async () => {
    const watch = await open({}, '/api/v1/namespaces/history/configmaps');
    const events = await watch.take(3);
    expect(events.map(({ object }) => object.data.a)).toEqual(['1', '2', '2']);
    const versions = events.map(({ object }) => Number(object.metadata.resourceVersion));
    expect(versions[0]).toBeLessThan(versions[1]!);
    expect(versions[1]).toBeLessThan(versions[2]!);
    watch.close();
  });
});

describe("without a version, watchStart 'state'", () => {
  const modern = useCluster({ watchStart: 'state' });

  it('the current state is told, then what happens', async () => {
    const path = await place('state', modern);
    await created(modern, path, configMap('b'));
    await created(modern, path, configMap('a'));
    await modern.patch(`${path}/a`, { data: { a: '2' } });
    await created(modern, path, configMap('gone'));
    await modern.delete(`${path}/gone`);
    const watch = await open({}, path, modern);
    await modern.delete(`${path}/b`);
    expect((await watch.take(3)).map(brief)).toEqual(['ADDED a', 'ADDED b', 'DELETED b']);
    watch.close();
  });
});

describe('from a version', () => {
  it('0 is the current state, in order, then what happens', async () => {
    const path = await place('zero');
    await created(client, path, configMap('b'));
    await created(client, path, configMap('a'));
    await client.patch(`${path}/a`, { data: { a: '2' } });
    const watch = await open({ resourceVersion: '0' }, path);
    await client.patch(`${path}/b`, { data: { b: '2' } });
    expect((await watch.take(3)).map(brief)).toEqual(['ADDED a', 'ADDED b', 'MODIFIED b']);
    watch.close();
  });

  it('only what came after it is told', async () => {
    const path = await place('after');
    const { metadata } = await created(client, path, configMap('a'));
    await created(client, path, configMap('b'));
    const watch = await open({ resourceVersion: metadata.resourceVersion }, path);
    await client.delete(`${path}/a`);
    expect((await watch.take(2)).map(brief)).toEqual(['ADDED b', 'DELETED a']);
    watch.close();
  });

  it('of the future, nothing is told until then', async () => {
    const path = await place('future');
    const wanted = (await currentVersion(client)) + 5;
    const watch = await open({ resourceVersion: String(wanted) }, path);
    let name = '';
    for (let version = 0, i = 0; version <= wanted; i++) {
      name = `c${i}`;
      version = Number((await created(client, path, configMap(name))).metadata.resourceVersion);
    }
    expect(brief(await watch.next())).toBe(`ADDED ${name}`);
    watch.close();
  });

  it('that is no number is refused', async () => {
    expectInvalidOptions(
      await refused({ resourceVersion: 'abc' }),
      'ListOptions',
      'resourceVersion',
      'Invalid value: "abc": strconv.ParseUint: parsing "abc": invalid syntax',
    );
  });
});

describe('from a version that history has lost', () => {
  const forgetful = useCluster({ history: { changesMax: 1 } });

  it('an error is told, and the stream ends', async () => {
    await created(forgetful, configMaps, configMap('c'));
    for (let round = 0; ; round++) {
      await forgetful.patch(`${configMaps}/c`, { data: { round: String(round) } });
      const watch = await open({ resourceVersion: '1' }, configMaps, forgetful);
      const first = await watch.next();
      watch.close();
      if (first.type === 'ERROR') break;
    }
    const watch = await open({ resourceVersion: '1' }, configMaps, forgetful);
    const { type, object } = await watch.next();
    expect(type).toBe('ERROR');
    expect(object).toEqual({
      kind: 'Status',
      apiVersion: 'v1',
      metadata: {},
      status: 'Failure',
      message: expect.stringMatching(/^too old resource version: 1 \(\d+\)$/),
      reason: 'Expired',
      code: 410,
    });
    await watch.ended;
    expect(watch.lines).toHaveLength(1);
  });

  it('without a version, what is left of it is told', async () => {
    const watch = await open({}, configMaps, forgetful);
    expect(brief(await watch.next())).toBe('ADDED c');
    watch.close();
  });
});

describe('selectors', () => {
  it('turn coming and going into ADDED and DELETED', async () => {
    const path = await place('labels');
    const watch = await open({ labelSelector: 'in=yes' }, path);
    await created(client, path, configMap('a'));
    const label = (value: string | null) =>
      client.patch(`${path}/a`, { metadata: { labels: { in: value } }, data: { a: String(value) } });
    const entered = await label('yes');
    await client.patch(`${path}/a`, { data: { b: '2' } });
    const left = await label('no');
    await label('yes');
    await client.delete(`${path}/a`);
    const events = await watch.take(5);
    expect(events.map(brief)).toEqual(['ADDED a', 'MODIFIED a', 'DELETED a', 'ADDED a', 'DELETED a']);
    expect(events[0]!.object).toEqual(entered.body);
    // The last matching state, with the version of the change that ended the match.
    expect(events[2]!.object.metadata.labels).toEqual({ in: 'yes' });
    expect(events[2]!.object.data).toEqual({ a: 'yes', b: '2' });
    expect(events[2]!.object.metadata.resourceVersion).toBe(left.body.metadata.resourceVersion);
    watch.close();
  });

  it('look at fields too', async () => {
    const watch = await open(
      { fieldSelector: 'spec.unschedulable=true', resourceVersion: String(await currentVersion(client)) },
      '/api/v1/nodes',
    );
    await created(client, '/api/v1/nodes', { metadata: { name: 'n' } });
    await client.patch('/api/v1/nodes/n', { spec: { unschedulable: true } });
    await client.patch('/api/v1/nodes/n', { spec: { unschedulable: false } });
    const events = await watch.take(2);
    expect(events.map(brief)).toEqual(['ADDED n', 'DELETED n']);
    watch.close();
  });
});

describe('the end', () => {
  it('comes when the client wished for it', async () => {
    const started = Date.now();
    const watch = await open({ timeoutSeconds: '1' });
    await watch.ended;
    expect(Date.now() - started).toBeGreaterThan(500);
  });

  it('does not come with the time of a request', async () => {
    const path = await place('timeless');
    const watch = await open({ timeout: '1ms' }, path);
    const other = await open({ timeoutSeconds: '1' }, path);
    await other.ended;
    await created(client, path, configMap('late'));
    expect(brief(await watch.next())).toBe('ADDED late');
    watch.close();
  });

  it('comes when the server closes', async () => {
    const { start } = await import('../../src/cluster/index.ts');
    const cluster = await start({ store: 'memory' });
    const { Client } = await import('../support/http.ts');
    const watch = await new Client(cluster.url).watch('/api/v1/watch/pods');
    await Promise.all([cluster.close(), watch.ended]);
  });
});

describe('bookmarks', () => {
  it('come before the end when they are wanted, and name only a version', async () => {
    const path = await place('marks');
    const watch = await open({ allowWatchBookmarks: 'true', timeoutSeconds: '3' }, path);
    const unmarked = await open({ timeoutSeconds: '3' }, path);
    const { type, object } = await watch.next();
    expect(type).toBe('BOOKMARK');
    expect(object).toEqual({
      kind: 'ConfigMap',
      apiVersion: 'v1',
      metadata: { resourceVersion: expect.stringMatching(/^[1-9]\d*$/) },
    });
    await Promise.all([watch.ended, unmarked.ended]);
    expect(unmarked.lines).toEqual([]);
  });
});

describe('sendInitialEvents', () => {
  const listing = {
    sendInitialEvents: 'true',
    resourceVersionMatch: 'NotOlderThan',
    allowWatchBookmarks: 'true',
  };

  it('tells the state, marks its end, and goes on', async () => {
    const path = await place('initial');
    await created(client, path, configMap('a'));
    await client.patch(`${path}/a`, { data: { a: '2' } });
    const version = await currentVersion(client);
    for (const resourceVersion of ['', '0', String(version)]) {
      const watch = await open({ ...listing, resourceVersion }, path);
      const [state, end] = await watch.take(2);
      expect(brief(state!)).toBe('ADDED a');
      expect(end).toEqual({
        type: 'BOOKMARK',
        object: {
          kind: 'ConfigMap',
          apiVersion: 'v1',
          metadata: {
            resourceVersion: expect.any(String),
            annotations: { 'k8s.io/initial-events-end': 'true' },
          },
        },
      });
      expect(Number(end!.object.metadata.resourceVersion)).toBeGreaterThanOrEqual(version);
      await client.patch(`${path}/a`, { data: { a: resourceVersion } });
      expect(brief(await watch.next())).toBe('MODIFIED a');
      watch.close();
    }
  });

  it('marks the end in the form that was asked for', async () => {
    const as = (name: string) => ({ Accept: `application/json;as=${name};v=v1;g=meta.k8s.io` });
    const path = `/api/v1/namespaces/nowhere/configmaps?watch=true&${new URLSearchParams(listing)}`;
    const partial = {
      kind: 'PartialObjectMetadata',
      apiVersion: 'meta.k8s.io/v1',
      metadata: {
        resourceVersion: expect.any(String),
        annotations: { 'k8s.io/initial-events-end': 'true' },
      },
    };
    const bare = await client.watch(path, as('PartialObjectMetadata'));
    expect(await bare.next()).toEqual({ type: 'BOOKMARK', object: partial });
    bare.close();
    const table = await client.watch(path, as('Table'));
    const { type, object } = await table.next();
    expect(type).toBe('BOOKMARK');
    expect(object).toMatchObject({ kind: 'Table', apiVersion: 'meta.k8s.io/v1' });
    expect(object.rows).toHaveLength(1);
    expect(object.rows[0].object).toEqual(partial);
    table.close();
  });

  it('marks the end of nothing too', async () => {
    const watch = await open(listing, await place('initially-empty'));
    expect((await watch.next()).object.metadata.annotations).toEqual({ 'k8s.io/initial-events-end': 'true' });
    watch.close();
  });

  it('false begins now', async () => {
    const path = '/api/v1/namespaces/initial/configmaps';
    const watch = await open({ sendInitialEvents: 'false', resourceVersionMatch: 'NotOlderThan' }, path);
    await created(client, path, configMap('b'));
    expect(brief(await watch.next())).toBe('ADDED b');
    watch.close();
  });

  it('says which match it wants', async () => {
    for (const query of [{ sendInitialEvents: 'true' }, { ...listing, resourceVersionMatch: 'Exact' }])
      expectInvalidOptions(
        await refused({ ...query, resourceVersion: '1' }),
        'ListOptions',
        'resourceVersionMatch',
        'Forbidden: sendInitialEvents requires setting resourceVersionMatch to NotOlderThan',
      );
    expectInvalidOptions(
      await refused({ resourceVersionMatch: 'NotOlderThan', resourceVersion: '1' }),
      'ListOptions',
      'resourceVersionMatch',
      'Forbidden: resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided',
    );
  });
});

describe('the watch parameter', () => {
  it('is known however its name is encoded, and read as Kubernetes reads booleans', async () => {
    const path = await place('encoded');
    await created(client, path, configMap('a'));
    for (const query of ['w%61tch=1', '%77%61%74%63%68=true', 'watch', 'watch=', 'a=b&watch=yes']) {
      const watch = await client.watch(`${path}?${query}`);
      expect(brief(await watch.next()), query).toBe('ADDED a');
      watch.close();
    }
    for (const query of [
      'watch=0',
      'w%61tch=False',
      'Watch=1',
      'watches=1',
      'fieldSelector=metadata.name%3Dwatch',
    ])
      expect((await client.get(`${path}?${query}`)).body.kind, query).toBe('ConfigMapList');
  });
});

describe('paths under /watch/', () => {
  it('watch without being asked to', async () => {
    const path = await place('prefixed');
    await created(client, path, configMap('a'));
    const watch = await client.watch('/api/v1/watch/namespaces/prefixed/configmaps?watch=false');
    expect(brief(await watch.next())).toBe('ADDED a');
    watch.close();
  });

  it('watch a name that is not there yet, and after it has gone', async () => {
    const path = await place('named');
    const watch = await client.watch('/api/v1/watch/namespaces/named/configmaps/a');
    for (let round = 0; round < 2; round++) {
      await created(client, path, configMap('b'));
      await created(client, path, configMap('a'));
      await client.delete(`${path}/a`);
      await client.delete(`${path}/b`);
      expect((await watch.take(2)).map(brief)).toEqual(['ADDED a', 'DELETED a']);
    }
    watch.close();
  });

  it('take a fieldSelector only if it means that name', async () => {
    const path = '/api/v1/watch/namespaces/named/configmaps/a';
    for (const selector of ['metadata.name=b', 'metadata.namespace=named', 'metadata.name!=a'])
      expectFailure(
        await client.get(`${path}?fieldSelector=${encodeURIComponent(selector)}`),
        400,
        'BadRequest',
        "fieldSelector metadata.name doesn't match requested name",
      );
    const watch = await client.watch(`${path}?fieldSelector=metadata.name%3Da`);
    expect(brief(await watch.next())).toBe('ADDED a');
    watch.close();
  });
});
