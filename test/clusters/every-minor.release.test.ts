/**
 * Proves that the same suite passes on every minor of Kubernetes that can be chosen: what a client finds over HTTP, and
 * objects written in each version of a kind and read in each other. `node bench/minor-matrix.mjs` runs it, and writes
 * its result into docs/minors.md.
 */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { holds, versionTables } from '../../src/api/minors/version-tables.ts';
import { type Cluster, start } from '../../src/cluster/index.ts';
import { Client } from '../support/http.ts';

const minors = Object.keys(versionTables.minors);

/** A kind of which minors have several versions, and an object that all of them take. */
const kinds: readonly (readonly [group: string, resource: string, object: object])[] = [
  [
    'batch',
    'cronjobs',
    {
      spec: {
        schedule: '@hourly',
        jobTemplate: {
          spec: { template: { spec: { restartPolicy: 'Never', containers: [{ name: 'c', image: 'i' }] } } },
        },
      },
    },
  ],
  ['policy', 'poddisruptionbudgets', { spec: { minAvailable: 1, selector: { matchLabels: { a: 'b' } } } }],
  [
    'autoscaling',
    'horizontalpodautoscalers',
    { spec: { maxReplicas: 3, scaleTargetRef: { kind: 'Deployment', name: 'd', apiVersion: 'apps/v1' } } },
  ],
  ['discovery.k8s.io', 'endpointslices', { addressType: 'IPv4', endpoints: [{ addresses: ['10.0.0.9'] }] }],
  ['storage.k8s.io', 'csistoragecapacities', { storageClassName: 's' }],
];

describe.each(minors)('%s', (minor) => {
  const number = Number(minor.slice(2));
  let cluster: Cluster;
  let client: Client;
  beforeAll(async () => {
    cluster = await start({ kubernetes: minor });
    client = new Client(cluster.url);
  });
  afterAll(() => cluster.close());

  it('says its version', async () => {
    expect((await client.get('/version')).body.minor).toBe(String(number));
  });

  it('lists the resources that are on by default, and answers 404 for all others', async () => {
    for (const [apiVersion, version] of Object.entries(versionTables.groupVersions)) {
      const names = Object.entries(version.resources)
        .filter(([, row]) => holds(version, number) && holds(row, number) && row.default)
        .map(([name]) => name);
      const path = apiVersion === 'v1' ? '/api/v1' : `/apis/${apiVersion}`;
      const { status, body } = await client.get(path);
      const shown = status === 200 ? body.resources.map(({ name }: { name: string }) => name) : [];
      expect([apiVersion, ...shown.filter((name: string) => !name.includes('/')).sort()]).toEqual([
        apiVersion,
        ...names.sort(),
      ]);
    }
  });

  it('describes pods in OpenAPI with its fields', async () => {
    const { body } = await client.get('/openapi/v2');
    const shown = body.definitions['io.k8s.api.core.v1.PodSpec'].properties;
    for (const [field, row] of Object.entries(versionTables.types['v1']!['PodSpec']!.fields!))
      expect([field, field in shown]).toEqual([field, holds(row, number)]);
  });

  it('converts between all versions of a kind', async () => {
    for (const [group, resource, object] of kinds) {
      const { body: found } = await client.get(`/apis/${group}`);
      const versions: string[] = [];
      for (const { groupVersion } of found.versions)
        if (
          (await client.get(`/apis/${groupVersion}`)).body.resources.some(
            ({ name }: { name: string }) => name === resource,
          )
        )
          versions.push(groupVersion);
      for (const written of versions) {
        const { kind } = versionTables.groupVersions[written]!.resources[resource]!;
        const name = `made-in-${written.split('/')[1]}`;
        const path = (version: string) => `/apis/${version}/namespaces/default/${resource}`;
        const made = await client.post(path(written), {
          kind,
          apiVersion: written,
          metadata: { name },
          ...object,
        });
        expect([written, made.status, made.body.message]).toEqual([written, 201, undefined]);
        for (const read of versions) {
          const { status, body } = await client.get(`${path(read)}/${name}`);
          expect([status, body.apiVersion, body.metadata.uid]).toEqual([200, read, made.body.metadata.uid]);
        }
      }
    }
  });

  it('drops what it does not know', async () => {
    const { status, body, warnings } = await client.post('/api/v1/namespaces/default/pods', {
      metadata: { name: 'later' },
      spec: { containers: [{ name: 'c', image: 'i' }], notYet: true, hostnameOverride: 'h' },
    });
    expect(status).toBe(201);
    expect('hostnameOverride' in body.spec).toBe(number >= 35);
    expect(warnings.length).toBe(number < 25 ? 0 : number < 34 ? 2 : 1);
  });
});
