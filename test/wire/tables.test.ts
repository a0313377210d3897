/** Tables in lists, single reads and watches, for both versions of Table. */
import { describe, expect, it } from 'vitest';
import { useCluster } from '../http.ts';

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
