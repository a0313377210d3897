/** Proves that keys of several texts are made by `composedKey`, or are listed with the reason why they cannot collide. */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { joinedKeys, staleReasons } from './composed-keys.ts';

const root = join(import.meta.dirname, '../..');
const read = (path: string): string => readFileSync(join(root, path), 'utf8');

it('no key is joined by hand without a reason', () => {
  const paths = readdirSync(join(root, 'src'), { recursive: true, encoding: 'utf8' })
    .map((path) => `src/${path.replaceAll('\\', '/')}`)
    .filter((path) => path.endsWith('.ts') && !/\.(test|fixture|suite)\.ts$/.test(path));
  expect(paths.length).toBeGreaterThan(500);
  expect(paths.flatMap((path) => joinedKeys(path, read(path)))).toEqual([]);
});

it('every reason is for a key that there is', () => {
  expect(staleReasons((path) => (existsSync(join(root, path)) ? read(path) : undefined))).toEqual([]);
});

it.each([
  // biome-ignore lint/suspicious/noTemplateCurlyInString: code that is checked
  ['handed to a map', 'users.get(`${name} ${group}`)'],
  // biome-ignore lint/suspicious/noTemplateCurlyInString: code that is checked
  ['in a constant', 'const key = `${name}\\n${group}`;'],
  // biome-ignore lint/suspicious/noTemplateCurlyInString: code that is checked
  ['in a function', 'const userKey = (name: string): string => `${name}/${group}`;'],
])('a joined key is found %s', (_where, text) => {
  expect(joinedKeys('src/access/other.ts', text)).toHaveLength(1);
});

it('a key of one part, or of a namespace and a name, is left alone', () => {
  // biome-ignore lint/suspicious/noTemplateCurlyInString: code that is checked
  const text = 'all.get(`u${name}`); all.get(`${namespace}/${name}`); all.get(composedKey(a, b));';
  expect(joinedKeys('src/access/other.ts', text)).toEqual([]);
});
