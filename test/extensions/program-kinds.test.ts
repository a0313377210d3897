/** Kinds that a program defines for the cluster it starts. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Cluster, type CustomObject, customKind, StartError, start } from '../../src/cluster/index.ts';
import { Client } from '../support/http.ts';

interface Ship extends CustomObject {
  readonly spec?: { readonly port?: string; readonly tons?: number };
}

const ship = customKind<Ship>({
  group: 'fleet.example.com',
  kind: 'Ship',
  shortNames: ['sh'],
  schema: {
    type: 'object',
    properties: {
      spec: {
        type: 'object',
        properties: { port: { type: 'string', default: 'home' }, tons: { type: 'integer', minimum: 1 } },
      },
    },
  },
  selectableFields: ['.spec.port'],
  columns: [{ name: 'Tons', type: 'integer', value: ({ spec }) => spec?.tons }],
  validate: ({ spec }, old) =>
    old && old.spec?.port !== spec?.port
      ? [{ field: 'spec.port', value: spec?.port, message: 'ships keep their port' }]
      : [],
});

describe('a kind of a program', () => {
  let cluster: Cluster;
  let client: Client;
  const ships = '/apis/fleet.example.com/v1/namespaces/default/ships';
  const one = {
    apiVersion: 'fleet.example.com/v1',
    kind: 'Ship',
    metadata: { name: 'one' },
    spec: { tons: 3, unknown: true },
  };
  beforeAll(async () => {
    cluster = await start({ port: 0, controllers: false, kinds: [ship] });
    client = new Client(cluster.url);
  });
  afterAll(() => cluster.close());

  it('is served with its schema, its checks and its columns', async () => {
    expect((await client.post(ships, one)).body.spec).toEqual({ port: 'home', tons: 3 });
    const small = await client.patch(`${ships}/one`, { spec: { tons: 0 } });
    expect(small.body.message).toContain('spec.tons in body should be greater than or equal to 1');
    const moved = await client.patch(`${ships}/one`, { spec: { port: 'away' } });
    expect(moved.body.message).toBe(
      'Ship.fleet.example.com "one" is invalid: spec.port: Invalid value: "away": ships keep their port',
    );
    const table = await client.get(ships, { Accept: 'application/json;as=Table;v=v1;g=meta.k8s.io' });
    expect(table.body.rows[0].cells).toEqual(['one', 3]);
    const selected = await client.get(`${ships}?fieldSelector=spec.port=home`);
    expect(selected.body.items).toHaveLength(1);
  });

  it('that cannot be one is refused with all reasons', () => {
    expect(() => customKind({ group: 'nodots', kind: 'Ship' })).toThrow(StartError);
    expect(() => customKind({ group: 'a.example.com', kind: 'Ship', schema: { type: 'string' } })).toThrow(
      /must be object at the root/,
    );
  });
});
