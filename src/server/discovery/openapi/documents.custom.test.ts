/** Proves that documents of custom kinds are those of a kube-apiserver, under its minor. */
import { describe, expect, it } from 'vitest';
import { builtinKinds, KindTable } from '../../../api/kinds/kinds.ts';
import { Enablement } from '../../../api/kinds/runtime-config.ts';
import { Minor } from '../../../api/minors/minor.ts';
import { kindsOf } from '../../../extensions/definitions/custom-kind.ts';
import { servedComputedVersions } from '../../route-table.ts';
import { Discovery } from '../discovery.ts';
import { customDigests, definitions } from './custom-documents.fixture.ts';
import { Documents } from './documents.ts';
import { digestOf } from './kubernetes-documents.fixture.ts';

type Json = any;

const group = 'x-fleet.harbour.example.com';
const prefix = `/apis/${group}/v1`;
const tugs = `${prefix}/namespaces/{namespace}/tugs`;
const tug = 'com.example.harbour.x-fleet.v1.Tug';
const json = ['application/json', 'application/yaml'];
const parse = (document: { bytes: Buffer } | undefined): Json => JSON.parse(document!.bytes.toString());

async function discoveryOf(version: string | undefined): Promise<Discovery> {
  const minor = version === undefined ? undefined : new Minor(version);
  const enablement = new Enablement({}, minor);
  const kinds = new KindTable([...builtinKinds, ...(minor?.kinds() ?? [])], enablement.serves, minor);
  for (const definition of definitions) {
    const accepted = { ...definition, status: { acceptedNames: definition.spec!.names! } };
    for (const kind of kindsOf(accepted as never, {} as never)) await kinds.add(kind);
  }
  return new Discovery(kinds, servedComputedVersions(kinds));
}

const discovery = await discoveryOf('1.36');
const documents = new Documents(discovery, discovery.kinds);
const v2 = parse(await documents.v2());
const v3 = parse(await documents.v3(prefix.slice(1)));

/** What version 2 says about the group. */
const ofGroup = ({ definitions: models, parameters, paths }: Json): Json => ({
  parameters,
  paths: having(paths, `/apis/${group}`),
  definitions: having(models, 'com.example.'),
});
const having = (members: Json, start: string): Json =>
  Object.fromEntries(Object.entries(members).filter(([name]) => name.startsWith(start)));

const parametersAt = (path: string, method: string): string[] =>
  [...v3.paths[path].parameters, ...(v3.paths[path][method].parameters ?? [])]
    .map(({ $ref, name }: Json) => name ?? $ref.split('/').at(-1))
    .sort();

it('say what those of a kube-apiserver 1.36.4 say, descriptions aside', async () => {
  const found: Record<string, string> = { v2: digestOf(ofGroup(v2)) };
  for (const name of Object.keys(customDigests))
    if (name !== 'v2') found[name] = digestOf(parse(await documents.v3(name)));
  expect(found).toEqual(customDigests);
});

describe('documents of custom kinds', () => {
  it('have neither discovery nor old watches nor ways to log in', () => {
    for (const { paths } of [v2, v3]) {
      expect(paths).not.toHaveProperty([`${prefix}/`]);
      expect(Object.keys(paths).filter((path) => path.startsWith(`${prefix}/watch`))).toEqual([]);
    }
    expect(Object.keys(v3.components.schemas).filter((name) => /WatchEvent|APIResource/.test(name))).toEqual(
      [],
    );
    expect(v3.components).not.toHaveProperty('securitySchemes');
    expect(v2.paths).toHaveProperty(['/api/v1/watch/pods']);
  });

  it('take JSON and YAML, and three kinds of patches', () => {
    const patches = [
      'application/json-patch+json',
      'application/merge-patch+json',
      'application/apply-patch+yaml',
    ];
    for (const [path, method, types] of [
      [tugs, 'post', json],
      [`${tugs}/{name}`, 'put', json],
      [`${tugs}/{name}`, 'delete', json],
      [`${tugs}/{name}/scale`, 'put', json],
      [`${tugs}/{name}/status`, 'patch', patches],
    ] as const) {
      expect(Object.keys(v3.paths[path][method].requestBody.content)).toEqual(types);
      expect(v2.paths[path][method].consumes).toEqual(types);
    }
    expect(v2.paths[tugs].get.consumes).toEqual(json);
  });

  it('have the codes, parameters and bodies of Kubernetes', () => {
    expect(Object.keys(v3.paths[`${tugs}/{name}`].patch.responses)).toEqual(['200', '401']);
    expect(parametersAt(`${tugs}/{name}`, 'get')).toEqual(['name', 'namespace', 'pretty', 'resourceVersion']);
    expect(v3.paths[tugs].delete).not.toHaveProperty('requestBody');
    expect(parametersAt(tugs, 'delete')).toEqual(parametersAt(tugs, 'get'));
    expect(parametersAt(`${prefix}/berths/{name}`, 'delete')).toContain('gracePeriodSeconds');
  });

  it('name the custom kind at its scale, which has a model of its own', () => {
    const { put } = v3.paths[`${tugs}/{name}/scale`];
    expect(put['x-kubernetes-group-version-kind']).toEqual({ group, version: 'v1', kind: 'Tug' });
    expect(put.requestBody.content[json[0]!].schema.$ref).toMatch(/autoscaling\.v1\.Scale$/);
  });

  it('show defaults in version 3 alone, and what may be null as anything', () => {
    const { spec } = v2.definitions[tug].properties;
    expect(spec.properties.size).toEqual({ type: 'integer', format: 'int32', minimum: 1, maximum: 9 });
    expect(v3.components.schemas[tug].properties.spec.properties.size.default).toBe(3);
    expect(spec.properties.maybeList).toEqual({ maxItems: 4, 'x-kubernetes-list-type': 'set' });
    expect(spec.required).toEqual(['color']);
  });

  it('list options of deletes as those of every version that a client knows', () => {
    const name = 'io.k8s.apimachinery.pkg.apis.meta.v1.DeleteOptions';
    const versions = v3.components.schemas[name]['x-kubernetes-group-version-kind'].map(
      (gvk: Json) => `${gvk.group}/${gvk.version}`,
    );
    expect(versions).toEqual(expect.arrayContaining(['/v1', 'apps/v1beta2', 'storage.k8s.io/v1']));
    expect(versions).toEqual([...versions].sort());
  });

  it('are unlike these without a minor', async () => {
    const own = await discoveryOf(undefined);
    const { components, paths } = parse(await new Documents(own, own.kinds).v3(prefix.slice(1)));
    expect(paths).toHaveProperty([`${prefix}/`]);
    expect(components).toHaveProperty('securitySchemes');
    expect(Object.keys(paths[tugs].post.requestBody.content)).toEqual(['*/*']);
    expect(Object.keys(paths[`${tugs}/{name}`].patch.responses)).toContain('201');
  });
});

it('discovery has the parts of a custom kind behind it, its status first', () => {
  const names = discovery.resourceList(`${group}/v1`)!.resources.map(({ name }) => name);
  expect(names).toEqual(['berths', 'tugs', 'tugs/status', 'tugs/scale']);
});
