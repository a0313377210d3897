/** Tables in lists, single reads and watches, for both versions of Table. */
import { describe, expect, it } from 'vitest';
import { builtinKinds } from '../../src/api/kinds/kinds.ts';
import { type Json, useCluster } from '../support/http.ts';
import { homeOf, validBody } from './kind-bodies.ts';

const client = useCluster({ controllers: false });
const maps = '/api/v1/namespaces/default/configmaps';
const accept = (version: string) => ({
  Accept: `application/json;as=Table;v=${version};g=meta.k8s.io,application/json`,
});

describe.each(['v1', 'v1beta1'])('a table of %s', (version) => {
  const name = `map-${version}`;

  it('has a row for each object of a list, with its metadata', async () => {
    expect((await client.post(maps, { metadata: { name }, data: { a: 'b' } })).status).toBe(200);
    const { headers, body } = await client.get(
      `${maps}?fieldSelector=metadata.name%3D${name}`,
      accept(version),
    );
    expect(headers['content-type']).toBe('application/json');
    expect(body).toMatchObject({ kind: 'Table', apiVersion: `meta.k8s.io/${version}` });
    expect(body.columnDefinitions.map((column: { name: string }) => column.name)).toEqual([
      'Name',
      'Data',
      'Age',
    ]);
    expect(body.rows).toHaveLength(1);
    expect(body.rows[0].cells).toEqual([name, 1, expect.stringMatching(/^\d+s$/)]);
    expect(body.rows[0].object).toMatchObject({
      kind: 'PartialObjectMetadata',
      apiVersion: `meta.k8s.io/${version}`,
      metadata: { name },
    });
  });

  it('has one row for one object, which includeObject may make whole or leave out', async () => {
    const { body } = await client.get(`${maps}/${name}`, accept(version));
    expect(body.metadata.resourceVersion).toBe(body.rows[0].object.metadata.resourceVersion);
    const whole = await client.get(`${maps}/${name}?includeObject=Object`, accept(version));
    expect(whole.body.rows[0].object).toMatchObject({
      kind: 'ConfigMap',
      apiVersion: 'v1',
      data: { a: 'b' },
    });
    const none = await client.get(`${maps}/${name}?includeObject=None`, accept(version));
    expect(none.body.rows[0].object).toBeNull();
  });

  it('comes with every event of a watch, columns with the first one only', async () => {
    const watch = await client.watch(
      `${maps}?watch=true&resourceVersion=0&fieldSelector=metadata.name%3D${name}`,
      accept(version),
    );
    await client.patch(`${maps}/${name}`, { data: { c: 'd' } });
    const [first, second] = await watch.take(2);
    watch.close();
    expect([first!.type, second!.type]).toEqual(['ADDED', 'MODIFIED']);
    expect(first!.object.columnDefinitions).toHaveLength(3);
    expect(second!.object.columnDefinitions).toBeNull();
    expect([first!, second!].map(({ object }) => object.rows[0].cells[1])).toEqual([1, 2]);
    expect(second!.object.apiVersion).toBe(`meta.k8s.io/${version}`);
  });
});

describe('rows, which are kept for each object', () => {
  let nowMs = Date.parse('2026-01-02T03:04:05Z');
  const server = useCluster({ controllers: false, chance: { nowMs: () => nowMs } });
  const table = async (path: string): Promise<Json> => (await server.get(path, accept('v1'))).body;

  it('are those that are made anew, for every kind', async () => {
    for (const kind of builtinKinds) {
      const home = homeOf(kind);
      const made = await server.post(home, validBody(kind, 'row'));
      expect([kind.id, made.status]).toEqual([kind.id, 200]);
      for (const include of ['Metadata', 'Object', 'None'])
        for (const path of [home, `${home}/row`]) {
          // What is indented is made from the objects.
          const anew = await table(`${path}?includeObject=${include}&pretty=true`);
          for (let i = 0; i < 2; i++) {
            const kept = await table(`${path}?includeObject=${include}`);
            expect([kind.id, kept]).toEqual([kind.id, anew]);
          }
        }
      await server.delete(`${home}/row`);
    }
  });

  it('show the time of each table', async () => {
    await server.post(maps, { metadata: { name: 'aging' } });
    const age = async (): Promise<string> => (await table(`${maps}/aging`)).rows[0].cells[2];
    expect(await age()).toBe('0s');
    nowMs += 90_000;
    expect(await age()).toBe('90s');
    nowMs += 3_600_000;
    expect(await age()).toBe('61m');
    await server.patch(`${maps}/aging`, { data: { a: 'b' } });
    expect((await table(`${maps}/aging`)).rows[0].cells).toEqual(['aging', 1, '61m']);
  });

  it('are sent part by part when there are many', async () => {
    const names = Array.from({ length: 1_050 }, (_, i) => `many-${String(i).padStart(4, '0')}`);
    for (let from = 0; from < names.length; from += 100)
      await Promise.all(
        names
          .slice(from, from + 100)
          .map((name) =>
            server.post(maps, { metadata: { name, labels: { many: 'yes' }, annotations: { a: 'ü' } } }),
          ),
      );
    const reply = await server.get(`${maps}?limit=1020&labelSelector=many`, accept('v1'));
    expect(reply.body.rows.map(({ cells }: Json) => cells[0])).toEqual(names.slice(0, 1020));
    expect(reply.body.metadata.continue).toBeTypeOf('string');
    const rest = await table(`${maps}?continue=${reply.body.metadata.continue}&labelSelector=many`);
    expect(rest.rows).toHaveLength(30);
  });
});
