/**
 * Proves that `npm run corpus` applies what is written below a folder, tells what was refused in the server's words,
 * knows templates, patches and values from manifests, stands broken and hostile files, and compares two servers.
 */
import { execFile } from 'node:child_process';
import { mkdir, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { inMemory, useCommand } from '../support/command.ts';

const script = join(import.meta.dirname, '../../scripts/corpus.mjs');
const { answering, children } = useCommand();

/** Runs it to its end, which a definition that never comes and a busy machine may delay. */
const corpus = (...args: string[]): Promise<{ code: number; text: string }> =>
  new Promise((resolve) => {
    execFile(process.execPath, [script, ...args], { timeout: 120_000 }, (error, stdout, stderr) => {
      resolve({ code: Number(error?.code ?? 0), text: stdout + stderr });
    });
  });

async function write(files: Record<string, string>): Promise<string> {
  const folder = await children.folder();
  for (const [name, text] of Object.entries(files)) {
    await mkdir(dirname(join(folder, name)), { recursive: true });
    await writeFile(join(folder, name), text);
  }
  return folder;
}

const lantern = `
apiVersion: harbour.example/v1
kind: Lantern
metadata: { name: north, namespace: quay }
spec: { candela: 9007199254740993, seen: 2026-01-02, from: 12:30 }
---
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: { name: lanterns.harbour.example }
spec:
  group: harbour.example
  scope: Namespaced
  names: { plural: lanterns, singular: lantern, kind: Lantern, listKind: LanternList }
  versions:
  - name: v1
    served: true
    storage: true
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec:
            type: object
            properties:
              candela:
                type: integer
                format: int64
                maximum: 9223372036854774807
                x-kubernetes-validations: [{ rule: self == 9007199254740993 }]
              seen: { type: string }
              from: { type: string }
`;

const config = (name: string, data: Record<string, string>) => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { name },
  data,
});

describe('a folder of manifests', () => {
  let output: { code: number; text: string };

  beforeAll(async () => {
    const folder = await write({
      'lantern.yaml': lantern,
      'list.json': JSON.stringify({
        apiVersion: 'v1',
        kind: 'List',
        items: [config('buoy', { colour: 'red' }), config('Bad Name', {})],
      }),
      // A twin of what list.json makes: it is there already, which is no refusal.
      'again/buoy.yml': JSON.stringify(config('buoy', { colour: 'green' })),
      'chart/Chart.yaml': 'name: pier\nversion: 1.0.0\n',
      'chart/values.yaml': 'replicas: 3\n',
      'chart/templates/deck.yaml': 'kind: Pod\nmetadata:\n  name: {{ .Values.name }}\n',
      'scripts/filled-in.yaml': JSON.stringify(config('$(NAME)', {})),
      'scripts/broken-by-braces.yaml': 'kind: {{ if .X }}\n  a: b\n {{ end }}\n',
      'site/kustomization.yaml': 'patches:\n- path: more-replicas.yaml\n',
      'site/more-replicas.yaml': 'apiVersion: apps/v1\nkind: Deployment\nmetadata: { name: deck }\n',
      'site/patches/unnamed.yaml': 'apiVersion: apps/v1\nkind: Deployment\nmetadata: { name: deck }\n',
      'pod.yaml': 'apiVersion: v1\nkind: Pod\nmetadata: { name: dinghy }\nspec: { containers: [] }\n',
      'argument.yaml': JSON.stringify({
        ...config('tide', {}),
        data: { height: '{{inputs.height}}' },
        wind: 1,
      }),
      'kind.yaml': 'apiVersion: harbour.example/v1\nkind: Gull\nmetadata: { name: grey }\n',
      'hostile/broken.yaml': 'a: [1, 2\nb: }\n',
      'hostile/circle.yaml':
        'apiVersion: v1\nkind: ConfigMap\nmetadata: &m\n  name: round\n  annotations: *m\n',
      'hostile/laughs.yaml': `a: &a [x,x,x,x,x,x,x,x,x]\n${[...'bcdefghij'].map((name, index) => `${name}: &${name} [${Array(9).fill(`*${'abcdefghi'[index]}`)}]`).join('\n')}\n`,
      'hostile/deep.yaml': '['.repeat(50_000),
      'hostile/huge.yaml': `a: ${' '.repeat(17 * 1024 * 1024)}b\n`,
      'node_modules/package/pod.yaml': 'kind: [',
    });
    output = await corpus(folder);
  });

  test('is applied, definitions first, with exact numbers and plain texts', () => {
    expect(output.text).not.toMatch(/lantern\.yaml/i);
    expect(output.text).not.toContain('buoy');
    expect(output.code).toBe(0);
  });

  test('tells refusals in the words of the server', () => {
    expect(output.text).toMatch(
      /refused \(dry create, dry apply, create, apply\): Pod dinghy \(\S+pod\.yaml\)\n {4}422 Pod "dinghy" is invalid: spec\.containers: Required value/,
    );
    expect(output.text).toMatch(
      /ConfigMap Bad Name \(\S+list\.json\)\n {4}422 ConfigMap "Bad Name" is invalid/,
    );
    expect(output.text).toMatch(
      /refused, with places to fill in \([a-z, ]+\): ConfigMap tide \S+\n {4}400 .*unknown field "wind"/,
    );
    expect(output.text).toContain('kinds that the server does not serve: 1 harbour.example/v1 Gull');
  });

  test('counts what is no manifest by what it is', () => {
    expect(output.text).toMatch(/^skipped: .*\b3 templates/m);
    expect(output.text).toMatch(/^skipped: .*\b3 of Kustomize/m);
    expect(output.text).toMatch(/^skipped: .*\b2 values/m);
  });

  test('stands files that are broken, endless or huge', () => {
    for (const [name, words] of [
      ['broken', ''],
      ['circle', '.*contains itself|.*alias'],
      ['laughs', '.*alias'],
      ['deep', '.*levels'],
      ['huge', '.*larger than 16 MiB'],
    ])
      expect(output.text).toMatch(new RegExp(`^unreadable: \\S+${name}\\.yaml: (${words})`, 'm'));
  });

  test('gets a line in the table', () => {
    const [title, line] = output.text.trimEnd().split('\n').slice(-2);
    const columns = title!.trim().split(/\s{2,}/);
    const values = line!.trim().split(/\s{2,}/);
    const row = Object.fromEntries(columns.map((column, index) => [column, values[index]]));
    expect(row).toMatchObject({
      objects: '7',
      definitions: '1',
      unreadable: '5',
      unknown: '1',
      refused: '3',
      '5xx': '0',
    });
    expect(Number(row.MB)).toBeGreaterThan(20);
  });
});

describe('two servers', () => {
  /** A server that answers as the other, but for a few. */
  const proxy = createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const { accept, 'content-type': type } = request.headers;
    const answer = await fetch(behind + request.url, {
      method: request.method!,
      headers: { accept: accept ?? '*/*', ...(type ? { 'content-type': type } : {}) },
      ...(chunks.length > 0 ? { body: Buffer.concat(chunks) } : {}),
    });
    const text = await answer.text();
    const isOdd = request.method === 'POST' && text.includes('"odd"');
    response.writeHead(isOdd ? 500 : answer.status, { 'content-type': 'application/json' });
    response.end(isOdd ? '{"message":"all is lost"}' : text.replace('"ebb"', '"flood"'));
  });
  let behind = '';

  afterAll(() => void proxy.close());

  test('are compared, and differences end it with 1', async () => {
    const folder = await write({
      'a.json': JSON.stringify(config('odd', {})),
      'b.json': JSON.stringify(config('tide', { now: 'ebb' })),
      'c.json': JSON.stringify(config('same', { now: 'slack' })),
    });
    const [one, other] = await Promise.all([answering(...inMemory), answering(...inMemory)]);
    behind = other.url;
    proxy.listen(0, '127.0.0.1');
    await new Promise((resolve) => proxy.once('listening', resolve));
    const address = `http://127.0.0.1:${(proxy.address() as AddressInfo).port}`;
    const { code, text } = await corpus(folder, '--server', one.url, '--compare', address);
    expect(text).toMatch(/differs \(dry create, create\): ConfigMap odd \S+\n {4}20[01] ≠ 500 all is lost/);
    expect(text).toMatch(/differs \([a-z, ]+\): ConfigMap tide \S+\n {4}\.data\.now: "ebb" ≠ "flood"/);
    expect(text).not.toContain('ConfigMap same');
    expect(code).toBe(1);
    await Promise.all([one.end(), other.end()]);
  });
});

test('a folder that is not there, and no folder, are told', async () => {
  expect(await corpus('/nowhere/at/all')).toEqual({ code: 2, text: 'corpus: there is no /nowhere/at/all\n' });
  expect(await corpus()).toEqual({
    code: 2,
    text: 'corpus: name the folders whose manifests are to be applied\n',
  });
});

test('answers of two servers are alike whatever the order of their causes and the names that they gave', async () => {
  const { differencesOf } = (await import(join(dirname(script), 'corpus/differences.mjs'))) as {
    differencesOf(one: object, other: object, sent: object): string[];
  };
  const refused = (name: string, ...fields: string[]) => ({
    status: 422,
    warnings: '',
    body: {
      message: `Lantern "${name}" is invalid: ${fields.join()}`,
      details: { name, causes: fields.map((field) => ({ field, message: `not in ${name}` })) },
    },
  });
  const sent = { metadata: { generateName: 'north-' } };
  const one = refused('north-4xk2p', 'spec.a', 'spec.b');
  expect(differencesOf(one, refused('north-z9v8q', 'spec.b', 'spec.a'), sent)).toEqual([]);
  expect(differencesOf(one, refused('north-z9v8q', 'spec.b', 'spec.c'), sent)).not.toEqual([]);
  expect(differencesOf(one, refused('north-z9v8q', 'spec.b', 'spec.a'), {})).not.toEqual([]);
});
