/** Proves that Swagger 1.2 uses only the types that kubectl 1.1 knows, and the model names that it looks for. */
import { beforeAll, describe, expect, it } from 'vitest';
import { KindTable } from '../../../api/kinds/kinds.ts';
import { Discovery } from '../discovery.ts';
import { Documents } from './documents.ts';

type Json = any;

const kinds = new KindTable();
const discovery = new Discovery(kinds);
const documents = new Documents(discovery, kinds);
const base = 'http://127.0.0.1:8080';

const read = async (path: string): Promise<Json> =>
  JSON.parse((await documents.swagger12(path, base))!.bytes.toString());

let core: Json;
let extensions: Json;

beforeAll(async () => {
  core = await read('/api/v1');
  extensions = await read('/apis/extensions/v1beta1');
});

describe('the core', () => {
  it('has the operations of the contract that discovery does not name', () => {
    const found: string[] = core.apis.flatMap(({ path, operations }: Json) =>
      operations.map(({ method }: Json) => `${method} ${path}`),
    );
    const object = '/namespaces/{namespace}';
    const proxies = [
      `${object}/pods/{name}/proxy/{path:*}`,
      ...[`${object}/pods/{name}`, `${object}/services/{name}`, '/nodes/{name}'].flatMap((path) => [
        `/proxy${path}`,
        `/proxy${path}/{path:*}`,
      ]),
    ];
    const wanted = proxies.flatMap((path) =>
      ['GET', 'PUT', 'POST', 'DELETE'].map((method) => `${method} /api/v1${path}`),
    );
    const statuses = `GET /api/v1${object}/componentstatuses`;
    expect(found).toEqual(expect.arrayContaining([...wanted, statuses, `${statuses}/{name}`]));
    expect(new Set(found).size).toBe(found.length);
    const { operations } = core.apis.find(({ path }: Json) => path.endsWith('/pods/{name}/proxy/{path:*}'));
    const names = operations[0].parameters.map(({ name, paramType }: Json) => `${paramType} ${name}`);
    expect(names).toEqual(expect.arrayContaining(['path namespace', 'path name', 'path path']));
  });
});

describe('the resource listing', () => {
  it('names declarations that there are', async () => {
    const listing = await read('');
    expect(listing).toMatchObject({
      swaggerVersion: '1.2',
      apiVersion: '',
      info: { title: '', description: '' },
    });
    const paths = listing.apis.map(({ path }: Json) => path);
    expect(paths).toEqual(
      expect.arrayContaining(['/api/v1', '/apis/extensions/v1beta1', '/api', '/apis', '/version']),
    );
    for (const path of paths) expect((await read(path)).resourcePath).toBe(path);
  });

  it('is all there is', async () => {
    expect(await documents.swagger12('/apis/nope/v1', base)).toBeUndefined();
  });
});

describe('a declaration', () => {
  it('has the head of its version', () => {
    expect(core).toMatchObject({
      swaggerVersion: '1.2',
      apiVersion: 'v1',
      basePath: base,
      resourcePath: '/api/v1',
    });
    expect(extensions).toMatchObject({
      apiVersion: 'extensions/v1beta1',
      resourcePath: '/apis/extensions/v1beta1',
    });
  });

  it('has a model for every kind, by version and kind', () => {
    for (const { apiVersion, version, kind } of kinds) {
      const { models } = apiVersion === 'v1' ? core : extensions;
      if (apiVersion === 'v1' || apiVersion === 'extensions/v1beta1')
        expect(models[`${version}.${kind}`].properties).toHaveProperty('metadata');
    }
  });

  it('uses only types that kubectl knows, and refers only to models it has', async () => {
    const known = ['string', 'array', 'integer', 'boolean', 'float64', 'any'];
    for (const apiVersion of discovery.served()) {
      const path = apiVersion.includes('/') ? `/apis/${apiVersion}` : `/api/${apiVersion}`;
      const { models } = await read(path);
      const wrong: string[] = [];
      const check = (at: string, { $ref, type, items }: Json): void => {
        if ($ref ? !models[$ref] || !/^v.+\..*/.test($ref) : !known.includes(type)) wrong.push(at);
        if (type === 'array') check(`${at}[]`, items);
      };
      for (const [name, { properties }] of Object.entries<Json>(models))
        for (const [field, property] of Object.entries<Json>(properties)) {
          // Only these models never appear in a manifest.
          if (/^(unversioned|json)\./.test(property.$ref ?? '')) continue;
          check(`${name}.${field}`, property);
        }
      expect(wrong).toEqual([]);
    }
  });

  it('writes maps as any, and times, quantities and int-or-strings as text', () => {
    const { models } = core;
    const typeOf = (model: string, field: string) => models[model].properties[field].type;
    expect(typeOf('v1.ObjectMeta', 'labels')).toBe('any');
    expect(typeOf('v1.ObjectMeta', 'annotations')).toBe('any');
    expect(typeOf('v1.ServiceSpec', 'selector')).toBe('any');
    expect(typeOf('v1.ResourceRequirements', 'limits')).toBe('any');
    expect(typeOf('v1.ObjectMeta', 'creationTimestamp')).toBe('string');
    expect(typeOf('v1.EmptyDirVolumeSource', 'sizeLimit')).toBe('string');
    expect(typeOf('v1.ServicePort', 'targetPort')).toBe('string');
    expect(typeOf('v1.Secret', 'data')).toBe('any');
    expect(models['v1.PodSpec'].properties.containers).toMatchObject({
      type: 'array',
      items: { $ref: 'v1.Container' },
    });
    expect(models['v1.PodSpec'].required).toEqual(['containers']);
  });

  it('says what the command-line tests of Kubernetes 1.1 look for', () => {
    const text = JSON.stringify(core);
    for (const words of [
      'list of returned',
      'List of pods',
      'list of pods',
      'Watch for changes to the described resources',
      'watch for changes to the described resources',
    ])
      expect(text).toContain(words);
  });

  it('has the operations, with the types of their time', () => {
    const { operations } = core.apis.find(
      ({ path }: Json) => path === '/api/v1/namespaces/{namespace}/services/{name}',
    );
    const remove = operations.find(({ method }: Json) => method === 'DELETE');
    expect(remove.nickname).toBe('deleteCoreV1NamespacedService');
    expect(remove.parameters).toContainEqual(
      expect.objectContaining({ paramType: 'body', type: 'v1.DeleteOptions', required: false }),
    );
    const patch = operations.find(({ method }: Json) => method === 'PATCH');
    expect(patch).toMatchObject({
      type: 'v1.Service',
      responseMessages: [{ code: 200, message: 'OK', responseModel: 'v1.Service' }],
    });
    expect(patch.parameters.at(-1)).toMatchObject({ paramType: 'body', type: 'unversioned.Patch' });
    expect(core.models['unversioned.Status']).toBeDefined();
  });
});
