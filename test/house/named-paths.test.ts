/**
 * Proves that ARCHITECTURE.md, CONTRIBUTING.md, the decisions and the pages of the layers name only files and folders that
 * exist, and so do scripts, that every layer has a page, and that the picture of the whole stays short.
 */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { missingPaths, namedPaths } from './named-paths.ts';

const root = join(import.meta.dirname, '../..');
const architectureBytesMax = 25_000;

const below = (folder: string): string[] =>
  readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' }).map(
    (name) => `${folder}/${name.replaceAll('\\', '/')}`,
  );
const paths = [
  ...readdirSync(root),
  ...['.ci', '.github', 'bench', 'docs', 'examples', 'scripts', 'src', 'test', 'web'].flatMap(below),
];
const layers = readdirSync(join(root, 'src'), { withFileTypes: true })
  .filter((entry) => entry.isDirectory())
  .map(({ name }) => `src/${name}`);
const textOf = (path: string): string => readFileSync(join(root, path), 'utf8');

describe('the documents', () => {
  it.each(['ARCHITECTURE.md', 'CONTRIBUTING.md', 'docs/decisions.md', 'web/README.md'])(
    '%s names only what exists',
    (page) => {
      expect(namedPaths(textOf(page)).length).toBeGreaterThan(5);
      expect(missingPaths(textOf(page), paths)).toEqual([]);
    },
  );

  it.each(layers)('%s has a page that names only what exists', (layer) => {
    expect(existsSync(join(root, layer, 'README.md'))).toBe(true);
    const text = textOf(`${layer}/README.md`);
    expect(namedPaths(text).length).toBeGreaterThan(3);
    expect(missingPaths(text, paths, `${layer}/`)).toEqual([]);
  });

  /** Vitest runs the tests that it finds, and says nothing of a file that is not there. */
  it('and scripts agree: what a script names in quotes exists, too', () => {
    const scripts = paths.filter((path) =>
      /^(?:(?:scripts|bench)\/.*\.mjs|knip\.ts|vitest\.config\.ts)$/.test(path),
    );
    const named = scripts.flatMap((path) => [
      ...textOf(path).matchAll(/'((?:bench|scripts|src|test|web)\/[\w./-]+\.(?:cjs|css|json|mjs|tsx?))'/g),
    ]);
    expect(named.length).toBeGreaterThan(20);
    expect(named.map(([, path]) => path!).filter((path) => !paths.includes(path))).toEqual([]);
  });

  it('have every layer and its page in the picture of the whole', () => {
    const text = textOf('ARCHITECTURE.md');
    expect(layers.filter((layer) => !text.includes(`(${layer}/README.md)`))).toEqual([]);
  });

  it('have a picture of the whole that is read in one go', () => {
    expect(Buffer.byteLength(textOf('ARCHITECTURE.md'))).toBeLessThanOrEqual(architectureBytesMax);
  });
});

describe('a name', () => {
  const tree = ['src', 'src/a', 'src/a/one.ts', 'src/b', 'src/b/two.ts', 'src/b/README.md'];

  it.each([
    'see `src/a/one.ts`, `a/one.ts` and `one.ts`',
    'the folders `src/a/` and `b/`',
    'any group: `src/<group>/two.ts`, `src/*/`, `src/a/o*.ts`',
    'made by the build: `dist/cli.cjs`; a URL: `/a/nothing/`; cut: `…/nothing.ts`; of users: `pod.yaml`',
    'not in backticks: nothing.ts; code: `Entry.object`, `a / b`, `apps/v1`',
    '```\nsrc/a/one.ts nothing.ts\n```',
  ])('that exists is not reported: %s', (text) => {
    expect(missingPaths(text, tree)).toEqual([]);
  });

  it.each([
    ['see `src/a/two.ts`', 'src/a/two.ts'],
    ['see `ne.ts`', 'ne.ts'],
    ['the folder `c/`', 'c/'],
    ['the command `node src/c.mjs --check`', 'src/c.mjs'],
    ['any group: `<group>/three.ts`', '<group>/three.ts'],
    ['```mermaid\nx["src/c: things"]\n```', 'src/c'],
  ])('that does not exist is: %s', (text, name) => {
    expect(missingPaths(text, tree)).toEqual([name]);
  });

  it('without a slash is looked for in the folder of its page', () => {
    expect(missingPaths('`one.ts`, `two.ts`, `a/one.ts`, `a/`', tree, 'src/b/')).toEqual(['one.ts']);
  });
});
