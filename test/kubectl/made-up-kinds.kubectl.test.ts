/** kubectl with kinds of the shape and size of real ones: definitions applied, fields explained, objects applied. */
import { expect, test } from 'vitest';
import { madeUpKinds } from '../crds/kind-list.ts';
import { definitionOf } from '../crds/schema-words.ts';
import { isRelease } from '../support/tier.ts';
import { describeWith } from '../support/tools.ts';
import { withKubectl } from './kubectl.ts';

const list = (items: readonly object[]) => ({ apiVersion: 'v1', kind: 'List', items });

/** Without nulls: kubectl 1.20 drops them from its patches. */
const samples = madeUpKinds
  .map(({ group, kind, versions, sample: spec }) => ({
    apiVersion: `${group}/${versions.at(-1)!.name}`,
    kind,
    metadata: { name: 'sample' },
    spec,
  }))
  .filter((sample) => !JSON.stringify(sample).includes(':null'));

const definitions = madeUpKinds.map((kind) => definitionOf(kind, kind.versions.at(-1)));

/** Text without kubectl's line breaks. */
const joined = (text: string): string => text.replace(/\s+/g, ' ');

describeWith('kubectl')('kubectl', () => {
  const kubectl = withKubectl();
  const k = (...args: string[]) => kubectl().run(...args);

  test('applies large definitions and waits for them', async () => {
    await k('apply', '-f', kubectl().file('kinds.json', list(definitions)));
    await k('wait', '--for=condition=Established', '--timeout=60s', 'crd', '--all');
    const names = madeUpKinds.map(({ plural, group }) => `${plural}.${group}`);
    expect((await k('api-resources', '-o', 'name')).split('\n')).toEqual(expect.arrayContaining(names));
  });

  /** With `npm test` each third: the schemas of all are one document, and each command reads all of it. */
  const explained = madeUpKinds.filter((_, i) => isRelease || i % 3 === 0);
  test.each(explained.map((kind) => [kind.plural, kind] as const))('explains %s', async (plural, kind) => {
    const [[path, words]] = Object.entries(kind.explained) as [[string, string]];
    const version = `${kind.group}/${kind.versions.at(-1)!.name}`;
    expect(joined(await k('explain', `${plural}.${path}`, `--api-version=${version}`))).toContain(words);
  });

  test('applies objects; applying them again changes nothing', async () => {
    const file = kubectl().file('samples.json', list(samples));
    await k('apply', '-f', file);
    const kinds = madeUpKinds.map(({ plural, group }) => `${plural}.${group}`).join();
    const stored = async (): Promise<unknown> => {
      const { items } = await kubectl().json('get', kinds);
      return items.map(({ kind, metadata }: any) => [kind, metadata.generation, metadata.resourceVersion]);
    };
    const before = await stored();
    expect(before).toHaveLength(samples.length);
    await k('apply', '-f', file);
    expect(await stored()).toEqual(before);
    const [heading, row] = await kubectl().table('get', 'pgc');
    expect(heading).toEqual(['NAME', 'INSTANCES', 'PRIMARY']);
    expect(row?.[0]).toBe('sample');
  });
});
