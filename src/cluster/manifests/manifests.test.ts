/** Proves that manifests are applied at the start in an order that works, again when they change, and what is said if not. */
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest';
import { type Cluster, type StartOptions, start } from '../index.ts';

let folder = '';
let cluster: Cluster | undefined;
const told: string[] = [];
let wake = (): void => undefined;
const note = (message: string): void => {
  told.push(message);
  wake();
};

beforeEach(async () => {
  folder = await mkdtemp(path.join(tmpdir(), 'wherry-manifests-'));
  told.length = 0;
});
afterEach(async () => {
  await cluster?.close();
  cluster = undefined;
  await rm(folder, { recursive: true, force: true });
});

const write = (name: string, text: string): Promise<void> => writeFile(path.join(folder, name), text);

async function begin(options: StartOptions): Promise<string | undefined> {
  cluster = await start({
    store: 'memory',
    controllers: ['housekeeping'],
    onWarning: note,
    log: { write: ({ message }) => note(message) },
    ...options,
  });
  return cluster.nodesReady;
}

type TestObject = Record<string, any>;

const get = async (at: string) => (await fetch(`${cluster!.url}${at}`)).json() as Promise<TestObject>;

async function heard(says: RegExp): Promise<string> {
  for (;;) {
    const found = told.find((message) => says.test(message));
    if (found !== undefined) return found;
    await new Promise<void>((resolve) => {
      wake = resolve;
    });
  }
}

const definition = `apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: boats.example.com}
spec:
  group: example.com
  scope: Namespaced
  names: {plural: boats, kind: Boat}
  versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, properties: {spec: {type: object, x-kubernetes-preserve-unknown-fields: true}}}}}]
`;
const configMap = (name: string, value: string): string =>
  `apiVersion: v1\nkind: ConfigMap\nmetadata: {name: ${name}}\ndata: {value: "${value}"}\n`;

const refused: readonly (readonly [string, RegExp])[] = [
  ['a: [1\n', /objects\.yaml: .*line 2/],
  [`${configMap('x', '1')}---\na: [1\n`, /objects\.yaml: .*line 7/],
  ['just text', /is no object of the API/],
  [
    'apiVersion: v1\nkind: ConfigMap\nmetadata: {name: UPPER}',
    /objects\.yaml: ConfigMap UPPER: .*Invalid value: "UPPER"/,
  ],
  ['apiVersion: v1\nkind: ConfigMap\nmetadata: {generateName: x}', /needs a name/],
  ['apiVersion: v1\nkind: ConfigMap\ndata: {}', /an object without metadata/],
  ['apiVersion: v1\nkid: ConfigMap\nmetadata: {name: x}', /objects\.yaml: x: .* needs apiVersion and kind$/],
  ['apiVersion: v1\nkind: ConfigMap\nmetadata: {name: x}\ndtaa: {}', /\.dtaa: field not declared in schema/],
  [
    'apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\nmetadata: {name: x}',
    /--kustomization/,
  ],
];

describe('manifests', () => {
  it('of a folder are applied whatever their order, and once more without a change', async () => {
    await mkdir(path.join(folder, 'deep'));
    await write(
      'a.yaml',
      `apiVersion: example.com/v1\r\nkind: Boat\r\nmetadata: {name: b, namespace: harbour, uid: x}\r\nspec: {sails: 2}\r\n---\r\n# nothing\r\n---\r\n${configMap('one', '1')}`,
    );
    await write(
      'deep/b.yml',
      `${definition}---\napiVersion: v1\nkind: Namespace\nmetadata: {name: harbour}\n`,
    );
    await write(
      'deep/c.json',
      JSON.stringify({
        kind: 'ConfigMapList',
        apiVersion: 'v1',
        items: [{ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'two' }, data: {} }],
      }),
    );
    await write('deep/notes.txt', 'no manifest');
    expect(await begin({ manifests: [folder] })).toBe(`Applied 5 objects of ${folder}`);
    const boat = await get('/apis/example.com/v1/namespaces/harbour/boats/b');
    expect(boat.metadata).toMatchObject({ name: 'b', namespace: 'harbour' });
    expect(boat.metadata.managedFields[0]).toMatchObject({ manager: 'wherry-manifests', operation: 'Apply' });
    expect((await get('/api/v1/namespaces/default/configmaps/two')).kind).toBe('ConfigMap');
  });

  it('that are not there end the start, before anything listens', async () => {
    const file = path.join(folder, 'no.yaml');
    await expect(begin({ manifests: [file] })).rejects.toThrow(`there is no file or folder ${file}`);
    expect(cluster).toBeUndefined();
  });

  it('that wait for something are told of, and end the start after a minute', async () => {
    await write('objects.yaml', 'apiVersion: apps/v1\nkind: Deploymnt\nmetadata: {name: web}\n');
    const now = performance.now.bind(performance);
    let laterMs = 0;
    const spy = vi.spyOn(performance, 'now').mockImplementation(() => now() + laterMs);
    onTestFinished(() => spy.mockRestore());
    const begun = begin({ manifests: [path.join(folder, 'objects.yaml')] });
    const says = /objects\.yaml: Deploymnt web: there is no kind apps\/v1 "Deploymnt"/;
    const ended = expect(begun).rejects.toThrow(says);
    await expect.poll(() => cluster).toBeDefined();
    laterMs = 6_000;
    expect(await heard(says)).toMatch(/; this is tried again for 60 s$/);
    laterMs = 61_000;
    await ended;
  });

  it('are applied again when they change, and errors do not end the cluster', async () => {
    await write('objects.yaml', configMap('one', 'first'));
    await begin({ manifests: [path.join(folder, 'objects.yaml')], watchManifests: true });
    for (const [text, says] of refused) {
      await write('objects.yaml', text);
      await heard(says);
    }
    await write('objects.yaml', configMap('one', 'second'));
    await heard(/^Applied 1 object of/);
    expect((await get('/api/v1/namespaces/default/configmaps/one')).data).toEqual({ value: 'second' });
  });

  it('that are refused end the start', async () => {
    const [[text, says]] = refused.slice(3) as [[string, RegExp]];
    await write('objects.yaml', text);
    await expect(begin({ manifests: [path.join(folder, 'objects.yaml')] })).rejects.toThrow(says);
  });
});
