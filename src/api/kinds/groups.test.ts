/**
 * Proves that the lists of groups are those of the folders, that a new folder is all a new group needs, and that each
 * folder holds what belongs to its group.
 */
import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, describe, expect, it, test } from 'vitest';
import { wordOf } from '../kind/group.ts';
import type { FieldTableFile } from '../model/model.ts';
import { bodyModel, groupNamed, isServedGroup, packageOf, versionNamed } from './builtin-groups.ts';
import { groups } from './groups.ts';
import { builtinKinds } from './kinds.ts';

const script = fileURLToPath(new URL('../../../scripts/generate-groups.mjs', import.meta.url));
const kindsFolder = fileURLToPath(new URL('.', import.meta.url));
const root = mkdtempSync(join(tmpdir(), 'wherry-groups-'));
afterAll(() => rmSync(root, { recursive: true }));

const generate = (...args: string[]) => spawnSync(process.execPath, [script, ...args], { encoding: 'utf8' });

describe('the lists', () => {
  it('are up to date', () => {
    expect(generate('--check')).toMatchObject({ stderr: '', status: 0 });
  });

  it('have a group, its tables and descriptions as soon as there is a folder', () => {
    const add = (path: string): void => {
      const file = join(root, 'src/api/kinds', path);
      mkdirSync(dirname(file), { recursive: true });
      writeFileSync(file, '');
    };
    const read = (path: string): string => readFileSync(join(root, 'src/api', path), 'utf8');
    add('kinds.ts');
    add('apps/group.ts');
    expect(generate('--check', root).status).toBe(1);
    generate(root);
    expect(generate('--check', root).status).toBe(0);

    for (const name of ['group.ts', 'sail.ts', 'sails-v1.fields.json', 'sails-v1.descriptions.json'])
      add(`sails/${name}`);
    const stale = generate('--check', root);
    expect(stale.status).toBe(1);
    for (const name of ['kinds/groups.ts', 'generated/field-tables.ts', 'generated/descriptions.ts'])
      expect(stale.stderr).toContain(`${name} does not match the folders of groups`);
    generate(root);
    expect(generate('--check', root).status).toBe(0);
    expect(read('kinds/groups.ts')).toContain("import { group as sails } from './sails/group.ts';\n");
    expect(read('kinds/groups.ts')).toContain('= [\n  apps,\n  sails,\n];\n');
    expect(read('generated/field-tables.ts')).toContain("  'sails-v1': sailsV1,\n");
    expect(read('generated/descriptions.ts')).toContain("from '../kinds/sails/sails-v1.descriptions.json'");
  });
});

const folders = readdirSync(kindsFolder, { withFileTypes: true }).filter((entry) => entry.isDirectory());

it('every folder is a group', () => {
  expect(groups.map(({ name }) => wordOf(name)).sort()).toEqual(folders.map(({ name }) => name).sort());
});

describe.each(groups.map((group) => [wordOf(group.name), group] as const))('%s', (word, group) => {
  const apiVersion = (version: string): string => (group.name ? `${group.name}/${version}` : version);

  it('has kinds of its own versions alone', () => {
    for (const { kind, group: name, version } of [...(group.kinds ?? []), ...(group.computedKinds ?? [])]) {
      expect(name, kind).toBe(group.name);
      expect(Object.keys(group.versions), kind).toContain(version);
    }
  });

  it('has a table of each version, and tables of its versions alone', () => {
    const ending = '.fields.json';
    const tables = readdirSync(join(kindsFolder, word)).filter((name) => name.endsWith(ending));
    const names = tables.map((name) => name.slice(0, -ending.length));
    expect(names).toEqual(
      expect.arrayContaining(Object.keys(group.versions).map((version) => `${word}-${version}`)),
    );
    for (const name of names) {
      const version = name.split('-')[1]!;
      const text = readFileSync(join(kindsFolder, word, name + ending), 'utf8');
      expect(name.split('-')[0]).toBe(word);
      expect(Object.keys(group.versions)).toContain(version);
      expect((JSON.parse(text) as FieldTableFile).apiVersion).toBe(apiVersion(version));
    }
  });

  it('has models of its bodies', () => {
    for (const [version, { bodies = [] }] of Object.entries(group.versions))
      for (const body of bodies) {
        const kind = body.split(':').at(-1)!;
        expect(bodyModel(apiVersion(version), kind)?.name).toBe(kind);
      }
  });
});

test('kinds of all groups are there once, those of the core first and of the oldest group last', () => {
  expect(new Set(builtinKinds).size).toBe(builtinKinds.length);
  expect(builtinKinds.length).toBe(groups.reduce((sum, { kinds = [] }) => sum + kinds.length, 0));
  expect(builtinKinds[0]!.group).toBe('');
  expect(builtinKinds.at(-1)!.group).toBe('extensions');
});

test('a group, a version or a body that is not built in is not found, whatever its name', () => {
  for (const name of ['constructor', '__proto__', 'example.com', 'rbac']) {
    expect(groupNamed(name)).toBeUndefined();
    expect(versionNamed(`apps/${name}`)).toBeUndefined();
    expect(versionNamed(name)).toBeUndefined();
    expect(bodyModel('authorization.k8s.io/v1', name)).toBeUndefined();
    expect(bodyModel(`${name}/v1`, 'SubjectAccessReview')).toBeUndefined();
  }
  expect(isServedGroup('admission.k8s.io')).toBe(false);
  expect(isServedGroup('')).toBe(true);
});

test('bodies have the model of the version they name', () => {
  expect(bodyModel('autoscaling/v1', 'Scale')?.file).toBe('autoscaling-v1');
  expect(bodyModel('extensions/v1beta1', 'Scale')?.file).toBe('extensions-v1beta1');
  expect(bodyModel('policy/v1beta1', 'Eviction')?.file).toBe('core-v1');
  expect(bodyModel('apps/v1', 'Scale')).toBeUndefined();
});

test('types are in the packages of Kubernetes', () => {
  expect(packageOf('apps-v1')).toBe('io.k8s.api.apps.v1');
  expect(packageOf('networking-v1-ingress')).toBe('io.k8s.api.networking.v1');
  expect(packageOf('metrics-v1beta1')).toBe('io.k8s.metrics.pkg.apis.metrics.v1beta1');
  expect(packageOf('apiextensions-v1')).toBe('io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1');
});
