/** Proves that the documents describe everything that is served, have no dangling references, and are built once. */
import { Validator } from '@seriousme/openapi-schema-validator';
import { describe, expect, it } from 'vitest';
import { isRelease } from '../../../../test/support/tier.ts';
import { KindTable } from '../../../api/kinds/kinds.ts';
import { type Field, type Model, modelOf } from '../../../api/model/model.ts';
import { Discovery } from '../discovery.ts';
import { definitionName, prefixOf } from '../model-names.ts';
import { Documents } from './documents.ts';

type Json = any;

const kinds = new KindTable();
const discovery = new Discovery(kinds);
const documents = new Documents(discovery, kinds);
const parse = (document: { bytes: Buffer } | undefined): Json => JSON.parse(document!.bytes.toString());

const v2 = parse(await documents.v2());
const v3Names = discovery.served().map((version) => prefixOf(version).slice(1));
const v3 = new Map<string, Json>();
for (const name of v3Names) v3.set(name, parse(await documents.v3(name)));

/** The parts of a document, independent of its version. */
const all: [string, { paths: Json; schemas: Json; parameters: Json }][] = [
  ['v2', { paths: v2.paths, schemas: v2.definitions, parameters: v2.parameters }],
  ...[...v3].map(([name, { paths, components }]) => [name, { paths, ...components }] as [string, any]),
];

const methods = ['get', 'put', 'post', 'delete', 'patch'];
const operationsOf = (paths: Json): [string, string, Json][] =>
  Object.entries<Json>(paths).flatMap(([path, item]) =>
    methods
      .filter((method) => item[method])
      .map((method) => [path, method, item[method]] as [string, string, Json]),
  );

/** Every model that is reachable from another. */
function reach(model: Model, found = new Map<string, Model>()): Map<string, Model> {
  const name = definitionName(model);
  if (found.has(name)) return found;
  found.set(name, model);
  const follow = (field: Field | undefined): void => {
    if (!field) return;
    if (field.type === 'model') reach(field.model, found);
    follow(field.items);
    follow(field.values);
  };
  for (const field of model.fields.values()) follow(field);
  return found;
}

/** A copy. Schemas have a field called `$ref`, which the validator would take for a reference. */
const withoutFieldsCalledRef = (document: Json): Json =>
  JSON.parse(JSON.stringify(document), (_, value) => {
    if (typeof value?.$ref !== 'object') return value;
    const { $ref, ...others } = value;
    return { ...others, ref: $ref };
  });

/** Documents of other groups are made by the same code; before a release all are read. */
const isValidated = (name: string): boolean =>
  isRelease || ['v2', 'api/v1', 'apis/apps/v1', 'apis/apiextensions.k8s.io/v1'].includes(name);

describe('every document', () => {
  it.each([['v2', v2] as const, ...v3].filter(([name]) => isValidated(name)))(
    '%s is valid',
    async (_, document) => {
      const { errors, valid } = await new Validator().validate(withoutFieldsCalledRef(document));
      expect(errors ?? []).toEqual([]);
      expect(valid).toBe(true);
    },
  );

  it.each(all)('%s refers only to what it defines', (name, { paths, schemas, parameters }) => {
    const root = name === 'v2' ? v2 : v3.get(name);
    const dangling = new Set<string>();
    JSON.stringify([paths, schemas, parameters], (key, value) => {
      if (key === '$ref' && typeof value === 'string') {
        const [hash, ...steps] = value.split('/');
        if (hash !== '#' || !steps.reduce((at: Json, step) => at?.[step], root)) dangling.add(value);
      }
      return value;
    });
    expect([...dangling]).toEqual([]);
  });

  it.each(all)('%s has a name of its own for every operation', (_, { paths }) => {
    const ids = operationsOf(paths).map(([, , operation]) => operation.operationId);
    expect(ids.filter((id, i) => ids.indexOf(id) !== i)).toEqual([]);
    expect(ids.length).toBeGreaterThan(9);
  });

  it.each(all)('%s declares the parameters of its paths', (_, { paths, parameters }) => {
    const wrong = Object.entries<Json>(paths).filter(([path, item]) => {
      const declared = item.parameters
        .map(({ $ref, ...own }: Json) => ($ref ? parameters[$ref.split('/').at(-1)] : own))
        .filter((one: Json) => one.in === 'path' && one.required)
        .map((one: Json) => one.name);
      const used = [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name);
      return JSON.stringify(declared) !== JSON.stringify(used);
    });
    expect(wrong).toEqual([]);
  });

  it.each(all)('%s defines every field of every model', (_, { schemas }) => {
    // Without fields of Kubernetes 1.1 that are gone: they are in Swagger 1.2 alone.
    const missing: string[] = [];
    const here = [...kinds].filter(({ model }) => schemas[definitionName(model)]);
    expect(here.length).toBeGreaterThan(0);
    for (const { model } of here)
      for (const [name, reached] of reach(model))
        for (const [field, { definition }] of reached.fields)
          if (!definition.only11 && !schemas[name]?.properties?.[field]) missing.push(`${name}.${field}`);
    expect(missing).toEqual([]);
  });

  it.each(all)(
    '%s says which kind a PATCH is for, and that dry runs and validation are there',
    (_, { paths }) => {
      // A PATCH that is proxied to a pod is no patch of an API object.
      const patches = operationsOf(paths).filter(
        ([, method, operation]) => method === 'patch' && operation['x-kubernetes-action'] !== 'connect',
      );
      for (const [path, , operation] of patches) {
        expect(Object.keys(operation['x-kubernetes-group-version-kind']), path).toEqual([
          'group',
          'kind',
          'version',
        ]);
        const names = operation.parameters.map((parameter: Json) => parameter.name);
        expect(names, path).toEqual(expect.arrayContaining(['dryRun', 'fieldValidation', 'fieldManager']));
      }
      expect(patches.length).toBeGreaterThan(0);
    },
  );
});

describe('all documents together', () => {
  it('hold every kind, findable by group, version and kind', () => {
    for (const { apiVersion, group, version, kind, model } of kinds) {
      const name = prefixOf(apiVersion).slice(1);
      for (const schemas of [v2.definitions, v3.get(name).components.schemas])
        for (const suffix of ['', 'List']) {
          const found = Object.entries<Json>(schemas).filter(([, schema]) =>
            schema['x-kubernetes-group-version-kind']?.some(
              (gvk: Json) => gvk.group === group && gvk.version === version && gvk.kind === kind + suffix,
            ),
          );
          expect(found.map(([id]) => id)).toEqual([definitionName(modelOf(kind + suffix, model.file))]);
        }
    }
  });

  it('lead from the path of every resource to its kind, as kubectl explain goes', () => {
    for (const { apiVersion, group, version, kind, resource } of kinds) {
      const prefix = prefixOf(apiVersion);
      const operation = v3.get(prefix.slice(1)).paths[`${prefix}/${resource}`].get;
      expect(operation['x-kubernetes-group-version-kind']).toEqual({ group, kind, version });
    }
  });

  it('promise exactly the verbs that discovery does', () => {
    const methodOf: Record<string, string> = {
      create: 'post',
      delete: 'delete',
      get: 'get',
      patch: 'patch',
      update: 'put',
    };
    for (const apiVersion of discovery.served())
      for (const { name, namespaced, verbs } of discovery.resourceList(apiVersion)!.resources) {
        const [resource, part] = name.split('/');
        const prefix = prefixOf(apiVersion);
        const collection = `${prefix}${namespaced ? '/namespaces/{namespace}' : ''}/${resource}`;
        const item = v2.paths[`${collection}/{name}${part ? `/${part}` : ''}`] ?? {};
        for (const [verb, method] of Object.entries(methodOf)) {
          const where = verb === 'create' && !part ? v2.paths[collection] : item;
          expect(where?.[method] !== undefined, `${verb} ${name}`).toBe(verbs.includes(verb));
        }
        if (part) continue;
        expect(v2.paths[collection]?.get !== undefined, `list ${name}`).toBe(verbs.includes('list'));
        expect(v2.paths[collection]?.delete !== undefined, name).toBe(verbs.includes('deletecollection'));
        const watched = v2.paths[collection.replace(prefix, `${prefix}/watch`)];
        expect(watched !== undefined, `watch ${name}`).toBe(verbs.includes('watch'));
      }
  });
});

describe('definitions', () => {
  const definitions = v2.definitions;
  const schemas = v3.get('api/v1').components.schemas;

  it('tell how lists are merged', () => {
    for (const spec of [definitions['io.k8s.api.core.v1.PodSpec'], schemas['io.k8s.api.core.v1.PodSpec']]) {
      expect(spec.properties.containers).toMatchObject({
        type: 'array',
        'x-kubernetes-list-map-keys': ['name'],
        'x-kubernetes-list-type': 'map',
        'x-kubernetes-patch-merge-key': 'name',
        'x-kubernetes-patch-strategy': 'merge',
      });
      expect(spec.properties.volumes['x-kubernetes-patch-strategy']).toBe('merge,retainKeys');
      expect(spec.required).toEqual(['containers']);
    }
    expect(definitions['io.k8s.api.core.v1.LocalObjectReference']['x-kubernetes-map-type']).toBe('atomic');
  });

  it('of quantities, times and int-or-strings have the names clients know', () => {
    const quantity = 'io.k8s.apimachinery.pkg.api.resource.Quantity';
    const intOrString = 'io.k8s.apimachinery.pkg.util.intstr.IntOrString';
    const time = 'io.k8s.apimachinery.pkg.apis.meta.v1.Time';
    expect(definitions[quantity]).toMatchObject({ type: 'string' });
    expect(definitions[intOrString]).toMatchObject({ type: 'string', format: 'int-or-string' });
    expect(definitions[time]).toMatchObject({ type: 'string', format: 'date-time' });
    expect(schemas[quantity].oneOf).toEqual([{ type: 'string' }, { type: 'number' }]);
    expect(schemas[intOrString].oneOf).toEqual([{ type: 'integer' }, { type: 'string' }]);
    expect(definitions['io.k8s.api.core.v1.ResourceRequirements'].properties.limits).toMatchObject({
      type: 'object',
      additionalProperties: { $ref: `#/definitions/${quantity}` },
    });
    expect(definitions['io.k8s.api.core.v1.ServicePort'].properties.targetPort.$ref).toBe(
      `#/definitions/${intOrString}`,
    );
  });

  it('describe a reference in the way of their version', () => {
    const name = 'io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta';
    const description = expect.any(String);
    expect(definitions['io.k8s.api.core.v1.Pod'].properties.metadata).toEqual({
      description,
      $ref: `#/definitions/${name}`,
    });
    expect(schemas['io.k8s.api.core.v1.Pod'].properties.metadata).toEqual({
      description,
      default: {},
      allOf: [{ $ref: `#/components/schemas/${name}` }],
    });
  });

  it('name the values there are, in the description too', () => {
    expect(definitions['io.k8s.api.core.v1.Container'].properties.imagePullPolicy).toMatchObject({
      enum: ['Always', 'IfNotPresent', 'Never'],
      description: expect.stringMatching(/ One of: Always, IfNotPresent, Never\.$/),
    });
    expect(definitions['io.k8s.api.core.v1.ServiceSpec'].properties.ipFamilies.items.enum).toContain('IPv6');
  });

  it('of a scale are of its own group', () => {
    const [gvk] = definitions['io.k8s.api.autoscaling.v1.Scale']['x-kubernetes-group-version-kind'];
    expect(gvk).toEqual({ group: 'autoscaling', kind: 'Scale', version: 'v1' });
    const path = '/api/v1/namespaces/{namespace}/replicationcontrollers/{name}/scale';
    expect(v2.paths[path].patch['x-kubernetes-group-version-kind']).toEqual(gvk);
  });
});

describe('documents', () => {
  it('are made once', async () => {
    expect(await documents.v2()).toBe(await documents.v2());
    expect(await documents.v3('api/v1')).toBe(await documents.v3('api/v1'));
    expect(await documents.v3('apis/nope/v1')).toBeUndefined();
  });

  it('of version 3 are listed with a hash of their content', async () => {
    const { paths } = parse(await documents.v3Index());
    expect(v3Names).toEqual(expect.arrayContaining(['api/v1', 'apis/extensions/v1beta1']));
    expect(Object.keys(paths)).toEqual(v3Names);
    for (const name of v3Names) {
      const { hash } = (await documents.v3(name))!;
      expect(hash).toMatch(/^[0-9A-F]{64}$/);
      expect(paths[name]).toEqual({ serverRelativeURL: `/openapi/v3/${name}?hash=${hash}` });
    }
  });

  it('change when a kind is added, and only those it is in', async () => {
    const job = kinds.kind('extensions/v1beta1', 'Job')!;
    const grown = new KindTable([...kinds].filter((kind) => kind !== job));
    const growing = new Documents(new Discovery(grown), grown);
    const before = await growing.v3('apis/extensions/v1beta1');
    const core = await growing.v3('api/v1');
    const name = 'io.k8s.api.extensions.v1beta1.Job';
    expect(parse(before).components.schemas).not.toHaveProperty([name]);
    await grown.add(job);
    const after = await growing.v3('apis/extensions/v1beta1');
    expect(parse(after).components.schemas).toHaveProperty([name]);
    expect(after!.hash).not.toBe(before!.hash);
    expect((await growing.v3('api/v1'))!.hash).toBe(core!.hash);
  });
});
