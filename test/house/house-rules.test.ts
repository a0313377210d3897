/** Proves that every hand-written file follows the house rules, and that violations are found. */
import { readdirSync, readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { complaintsAbout, complaintsAboutFolders } from './house-rules.ts';
import { largeCircles } from './type-circles.ts';

const folders = ['src', 'web', 'test', 'scripts', 'bench'];
const generated = 'src/api/generated/';

const files = folders
  .flatMap((folder) =>
    readdirSync(folder, { recursive: true, encoding: 'utf8' }).map((name) => `${folder}/${name}`),
  )
  .map((path) => path.replaceAll('\\', '/'))
  .filter((path) => /\.(tsx?|mjs|py)$/.test(path) && !path.startsWith(generated));

it('every file keeps the rules', () => {
  expect(files.length).toBeGreaterThan(500);
  expect(files.flatMap((path) => complaintsAbout({ path, text: readFileSync(path, 'utf8') }))).toEqual([]);
});

it('no folder has too many files', () => {
  expect(complaintsAboutFolders(files)).toEqual([]);
  const full = Array.from({ length: 31 }, (_, i) => `src/a/f${i}.ts`);
  expect(complaintsAboutFolders(full)).toEqual(['src/a: 31 files, more than 30']);
  expect(complaintsAboutFolders([...full.slice(1), 'src/a/a.test.ts', 'src/a/b/c.ts'])).toEqual([]);
});

describe('circles of imports, those of types included', () => {
  const program = files.filter((path) => /^(src|web)\/(?!.*\.(test|fixture|suite)\.)/.test(path));

  it('none is larger than three files', () => {
    const sources = program.map((path) => ({ path, text: readFileSync(path, 'utf8') }));
    expect(largeCircles(sources)).toEqual([]);
  });

  it('a larger one is found', () => {
    const file = (name: string, ...imports: string[]) => ({
      path: `src/${name}.ts`,
      text: imports.map((to, i) => `import type { A${i} } from './${to}.ts';`).join('\n'),
    });
    const three = [file('x/a', 'b'), file('x/b', 'c'), file('x/c', 'a', '../d')];
    expect(largeCircles([...three, file('d')])).toEqual([]);
    expect(largeCircles([...three, file('d', 'x/a')])).toEqual([
      ['src/d.ts', 'src/x/a.ts', 'src/x/b.ts', 'src/x/c.ts'],
    ]);
    const late = { path: 'src/d.ts', text: "export const load = () => import('./x/b.ts');" };
    expect(largeCircles([...three, late])).toHaveLength(1);
  });
});

// In pieces, because this file is looked at, too.
const mocking = ['vi', "mock('./b.ts');"].join('.');
const withKubectl = `describeWith('${'kubectl'}')('a', () => {});`;

const longFunction = (lines: number): string => `function a() {${'\n'.repeat(lines - 1)}}`;

describe('a file that breaks a rule is found', () => {
  const clock = 'reads the wall clock; take a clock as an option, or the one of src/clock.ts';
  const asks = 'asks which system this is; ask src/platform.ts, which tests can set';
  const off = 'a test that is switched off, or switches the others off';

  it.each([
    ['src/a/utils.ts', '', 'src/a/utils.ts: says nothing; name the noun that it helps'],
    ['test/helpers.ts', '', 'test/helpers.ts: says nothing; name the noun that it helps'],
    ['src/a.ts', 'const a = process.platform;', `src/a.ts:1: ${asks}`],
    ['src/a.ts', "import { arch, platform } from 'node:os';", `src/a.ts:1: ${asks}`],
    [
      'src/a/podWorker.ts',
      '',
      'src/a/podWorker.ts: a file is named in lower case, with hyphens between its words',
    ],
    [
      'src/a/pod_worker.ts',
      '',
      'src/a/pod_worker.ts: a file is named in lower case, with hyphens between its words',
    ],
    ['src/a/long.ts', '\n'.repeat(501), 'src/a/long.ts: 501 lines, more than 500'],
    ['src/a.ts', `\n${longFunction(81)}`, 'src/a.ts:2: a function of 81 lines, more than 80'],
    ['web/a.tsx', `const A = ${longFunction(90)};`, 'web/a.tsx:1: a function of 90 lines, more than 80'],
    [
      'src/a.ts',
      `class A { ${longFunction(82).slice(9)} }`,
      'src/a.ts:1: a function of 82 lines, more than 80',
    ],
    ['src/a.ts', 'export default 1;', 'src/a.ts:1: a default export; exports have names'],
    ['src/a.ts', '\nexport default class A {}', 'src/a.ts:2: a default export; exports have names'],
    ['src/a.ts', 'const a = 1; export { a as default };', 'src/a.ts:1: a default export; exports have names'],
    ['src/a.ts', 'const a = Date.now();', `src/a.ts:1: ${clock}`],
    ['src/a.ts', 'const a = (now = Date.now) => now();', `src/a.ts:1: ${clock}`],
    ['src/a.ts', 'const a = new Date();', `src/a.ts:1: ${clock}`],
    ['src/a.ts', 'const a = performance.timeOrigin;', `src/a.ts:1: ${clock}`],
    ['src/a.test.ts', "it.only('a', () => {});", `src/a.test.ts:1: ${off}`],
    ['src/a.test.ts', "describe.concurrent.skip('a', () => {});", `src/a.test.ts:1: ${off}`],
    ['src/a.ts', '\n/** Of a pod. */', 'src/a.ts:2: "Of" in a comment; begin with the thing that is meant'],
    [
      'src/a.ts',
      '/**\n * Of a pod.\n */',
      'src/a.ts:1: "Of" in a comment; begin with the thing that is meant',
    ],
    [
      'web/a.tsx',
      '  // What the\n  // other has not.',
      'web/a.tsx:1: "has not" in a comment; lacks, does not have, without',
    ],
    [
      'bench/a.mjs',
      '/* 0: there\n * is none. */',
      'bench/a.mjs:1: "is none" in a comment; say what is missing',
    ],
    [
      'src/a.test.ts',
      '/** Proves what clients are\n * told. */',
      'src/a.test.ts:1: "are told" in a comment; gets, is notified, is called with, is reported',
    ],
    [
      'scripts/a.mjs',
      '// Whoever asks.',
      'scripts/a.mjs:1: "Whoever" in a comment; name the one that is meant',
    ],
    ['test/a/a.test.ts', "test.todo('a');", `test/a/a.test.ts:1: ${off}`],
    ['test/a.test.ts', '', 'test/a.test.ts: belongs into a room of test/'],
    ['src/a.test.ts', mocking, 'src/a.test.ts: changes modules for others; it must be named *.alone.test.ts'],
    ['test/a/a.test.ts', withKubectl, 'test/a/a.test.ts: uses kubectl; it must be named *.kubectl.test.ts'],
    [
      'test/a/a.release.alone.test.ts',
      '',
      'test/a/a.release.alone.test.ts: the word release stands before .test.ts, after all others',
    ],
    ...['afterEach(() => {});', 'export const node = useNode();', 'const { a } = useA();'].map((text) => [
      'src/a.fixture.ts',
      text,
      'src/a.fixture.ts: has hooks for whoever imports it first; export a function that sets them',
    ]),
  ])('%s %j', (path, text, complaint) => {
    expect(complaintsAbout({ path, text })).toEqual([complaint]);
  });

  it.each([
    ['src/a.ts', `${longFunction(80)}\n${longFunction(80)}`],
    ['src/a.test.ts', longFunction(200)],
    ['test/a.ts', longFunction(200)],
    ['src/clock.ts', 'export const wallClock = (): number => Date.now();'],
    ['src/pod-worker.test.ts', 'const a = Date.now();'],
    ['src/a.alone.test.ts', mocking],
    ['test/a/a.every-kubectl.test.ts', withKubectl],
    ['test/a/soak.alone.release.test.ts', 'afterEach(() => {});'],
    ['src/a.fixture.ts', 'export function useA(): void {\n  afterEach(() => {});\n}'],
    ['src/a.ts', '// Date.now() is elsewhere\nconst a = new Date(0); const b = performance.now();'],
    ['src/a.test.ts', "it.skipIf(true)('a', () => {}); context.skip('no disk'); list.only;"],
    ['scripts/generate-types.mjs', 'const a = `export default {}`;'],
    ['src/a.ts', '/** Codes that are told apart; it has not begun, and none is left of them. */'],
    ['src/a.ts', "const words = 'whoever is told'; call(); /** One\n * of several: Offers. */"],
    ['test/a.ts', '// Of whoever is told.'],
  ])('and one that keeps them is not: %s', (path, text) => {
    expect(complaintsAbout({ path, text })).toEqual([]);
  });
});
