/**
 * Ten kinds of the shape and size of those that well-known projects bring, each through its whole life: defined,
 * explained, stored in an old version and migrated to a new one, filled, broken, removed.
 */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { applyMergePatch } from '../../src/api/patch/merge-patch.ts';
import { type Cluster, start } from '../../src/cluster/index.ts';
import { madeUpKinds } from '../crds/kind-list.ts';
import { definitionOf, fieldCount, type MadeUpKind } from '../crds/schema-words.ts';
import { Client, type Json } from '../support/http.ts';

const definitions = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions';

/** The value at a JSON pointer. */
const at = (value: Json, pointer: string): unknown =>
  pointer
    .split('/')
    .slice(1)
    .reduce((inner, name) => inner?.[name], value);

const expectAt = (object: Json, expected: Readonly<Record<string, unknown>>): void => {
  for (const [pointer, value] of Object.entries(expected))
    expect([pointer, at(object, pointer)]).toEqual([pointer, value]);
};

/** One kind on the server. */
class Life {
  readonly name: string;
  readonly versions: Json[];

  constructor(
    readonly kind: MadeUpKind,
    readonly client: Client,
  ) {
    this.name = `${kind.plural}.${kind.group}`;
    this.versions = (definitionOf(kind).spec as Json).versions;
  }

  get first(): string {
    return this.kind.versions[0]!.name;
  }

  get last(): string {
    return this.kind.versions.at(-1)!.name;
  }

  path(version: string, name = ''): string {
    const place = this.kind.scope === 'Cluster' ? '' : '/namespaces/default';
    return `/apis/${this.kind.group}/${version}${place}/${this.kind.plural}${name && `/${name}`}`;
  }

  object(version: string, name: string, spec: unknown): Json {
    return { apiVersion: `${this.kind.group}/${version}`, kind: this.kind.kind, metadata: { name }, spec };
  }

  /** Resolves when the definition is as wanted. */
  async until(fits: (definition: Json) => boolean): Promise<void> {
    const watch = await this.client.watch(
      `${definitions}?watch=true&fieldSelector=metadata.name%3D${this.name}`,
    );
    await watch.until(({ object }) => fits(object));
    watch.close();
  }

  /** Replaces the versions; answers with the definition. */
  async change(versions: Json[]): Promise<Json> {
    const reply = await this.client.patch(`${definitions}/${this.name}`, { spec: { versions } });
    expect([reply.status, reply.body.message]).toEqual([200, undefined]);
    return reply.body;
  }
}

describe.each(madeUpKinds.map((kind) => [kind.plural, kind] as const))('%s', (_plural, kind) => {
  const life = new Life(kind, new Client(() => cluster.url));
  const { client } = life;

  it('is defined, with many fields in several versions', async () => {
    const fields = life.versions.map(({ schema }) => fieldCount(schema.openAPIV3Schema));
    expect(fields.reduce((sum, count) => sum + count)).toBeGreaterThan(200);
    expect(fields.length).toBeGreaterThan(1);
    const reply = await client.post(`${definitions}?fieldValidation=Strict`, definitionOf(kind));
    expect([reply.status, reply.body.message, reply.warnings]).toEqual([201, undefined, []]);
    await life.until(({ status }) =>
      status.conditions?.some(({ type, status: value }: Json) => type === 'Established' && value === 'True'),
    );
  });

  it('is explained', async () => {
    const document = await client.get(`/openapi/v3/apis/${kind.group}/${life.last}`);
    const model = `${kind.group.split('.').reverse().join('.')}.${life.last}.${kind.kind}`;
    for (const [path, words] of Object.entries(kind.explained)) {
      const node = path
        .split('.')
        .reduce(
          (inner: Json, name) => (inner.items ?? inner).properties[name],
          document.body.components.schemas[model],
        );
      expect([path, node.description]).toEqual([path, expect.stringContaining(words)]);
    }
  });

  it('is migrated from its first version to its last', async () => {
    const { first, last } = life;
    const made = await client.post(life.path(first), life.object(first, 'older', kind.older));
    expect([made.status, made.body.message]).toEqual([201, undefined]);
    const definition = await life.change(
      life.versions.map((one) => ({ ...one, storage: one.name === last })),
    );
    expect(definition.status.storedVersions).toEqual([first, last]);
    const seen = await client.get(life.path(last, 'older'));
    expectAt(seen.body, kind.migrated);
    const written = await client.put(life.path(last, 'older'), seen.body);
    expect([written.status, written.body.message]).toEqual([200, undefined]);
    const status = await client.patch(`${definitions}/${life.name}/status`, {
      status: { storedVersions: [last] },
    });
    expect(status.status).toBe(200);
    await life.change(life.versions.slice(1).map((one) => ({ ...one, storage: one.name === last })));
    await expect.poll(async () => (await client.get(life.path(first, 'older'))).status).toBe(404);
    expectAt((await client.get(life.path(last, 'older'))).body, kind.migrated);
  });

  it('is filled', async () => {
    const { last } = life;
    const object = life.object(last, 'sample', kind.sample);
    const made = await client.post(`${life.path(last)}?fieldValidation=Strict`, object);
    expect([made.status, made.body.message]).toEqual([201, undefined]);
    expect(made.body.spec).toMatchObject(kind.sample);
    expectAt(made.body, kind.defaults);
    const list = await client.get(life.path(last));
    expect(list.body.items.map((item: Json) => item.metadata.name)).toEqual(['older', 'sample']);
    const again = await client.put(life.path(last, 'sample'), made.body);
    expect(again.body.metadata.generation).toBe(1);
    const unknown = { ...object, spec: { ...kind.sample, madeUp: 1 } };
    const refused = await client.post(`${life.path(last)}?dryRun=All&fieldValidation=Strict`, unknown);
    expect([refused.status, refused.body.message]).toEqual([
      400,
      expect.stringContaining('strict decoding error: unknown field "spec.madeUp"'),
    ]);
  });

  it.each(kind.breaks.map((one) => [JSON.stringify(one.spec), one] as const))(
    'is refused with %s',
    async (_text, { spec, causes }) => {
      const { last } = life;
      const object = applyMergePatch(life.object(last, 'broken', structuredClone(kind.sample)), { spec });
      const reply = await client.post(life.path(last), object);
      expect(reply.status).toBe(422);
      const found: Json[] = reply.body.details.causes;
      expect(found).toHaveLength(causes.length);
      for (const [field, words] of causes)
        expect(found).toContainEqual(
          expect.objectContaining({ field, message: expect.stringContaining(words) }),
        );
    },
  );

  it('goes, with its objects', async () => {
    expect((await client.delete(`${definitions}/${life.name}`)).status).toBe(200);
    await expect.poll(async () => (await client.get(`${definitions}/${life.name}`)).status).toBe(404);
    expect((await client.get(life.path(life.last))).status).toBe(404);
  });
});

let cluster: Cluster;
beforeAll(async () => {
  cluster = await start({ port: 0, like: 'kubernetes', controllers: false });
});
afterAll(() => cluster.close());
