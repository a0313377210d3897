/**
 * A test file's name says how it runs:
 *
 * - `*.test.ts` shares a worker with others, because loading the modules anew for every file takes longer than most tests.
 * - `*.alone.test.ts` has a worker of its own: it replaces what modules export, or measures or changes its process. Those
 *   that replace something are loaded by vitest, all others by Node, which takes less time.
 * - `*.kubectl.test.ts` talks to kubectl: to the newest version found, and before a release to each.
 * - `*.every-kubectl.test.ts` talks to each version always, because versions speak different protocols.
 * - `*.release.test.ts`, after one of these words or without, runs before a release alone: `npm run test:release`.
 *
 * Each older version of kubectl is a project. `npm test` fetches versions; without it, those count that are on this
 * machine.
 */
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { defineConfig } from 'vitest/config';
import { BaseSequencer, type TestSpecification } from 'vitest/node';
import { buildThread } from './scripts/build/thread.mjs';
import { compiledFolder, compiledSources, compileSources } from './scripts/compiled-sources.mjs';
import { findEtcds } from './scripts/etcds.mjs';
import { findJest } from './scripts/jest.mjs';
import { findKubectls } from './scripts/kubectls.mjs';

const all: Record<string, string> =
  JSON.parse(process.env.WHERRY_KUBECTLS ?? 'null') ?? (await findKubectls());

const foundEtcds: Record<string, string> =
  JSON.parse(process.env.WHERRY_ETCDS ?? 'null') ?? (await findEtcds());

const jest: string = process.env.WHERRY_JEST ?? (await findJest()) ?? '';

/** Before a release everything runs, with every version of kubectl and of etcd: see scripts/test-release.mjs. */
const isRelease = process.env.WHERRY_RELEASE === '1';

/** Tests with this word in their names, in these folders. */
const named = (word: string): string[] =>
  ['test', 'release.test'].map((ending) => `{src,test,web}/**/*.${word}.${ending}.ts`);

const aloneTests = named('alone');
/** Those that replace what modules export, or load them anew, which vitest's own loader alone can do. */
const replacingTests = ['src', 'test', 'web']
  .flatMap((folder) =>
    readdirSync(folder, { recursive: true, encoding: 'utf8' }).map((name) =>
      path.posix.join(folder, name.replaceAll('\\', '/')),
    ),
  )
  .filter(
    (file) =>
      /\.alone\..*test\.ts$/.test(file) &&
      /\bvi\.(mock|doMock|resetModules)\(/.test(readFileSync(file, 'utf8')),
  );
const everyKubectlTests = named('every-kubectl');
const kubectlTests = [...named('kubectl'), ...everyKubectlTests];
/** Those of `npm test` in one file: each worker would load all sources for one or two of them. */
const everyKubectlSuite = 'test/kubectl/every-kubectl.suite.ts';
const otherTests = ['**/node_modules/**', ...(isRelease ? [] : ['**/*.release.test.ts'])];

const versions = Object.entries(all).sort(([a], [b]) => a.localeCompare(b, 'en', { numeric: true }));
const newest = Object.fromEntries(versions.slice(-1));
const older = Object.fromEntries(versions.slice(0, -1));

/**
 * Started first within their project, because they take longest: one that began last would run alone at the end. Those of
 * the dashboard come together, because workers keep a browser for the next of them.
 */
const longTests = [
  'src/cluster/node/runtimes',
  'src/cluster/store/etcd',
  'src/ingress/',
  'src/node/network/',
  'src/store/etcd/',
  'src/store/lmdb',
  'test/access/joining.',
  'test/attack/attack.',
  'test/attack/growth.',
  'test/cli/cli.test',
  'test/cli/named.',
  'test/clusters/replicas',
  'test/clusters/runtimes',
  'test/clusters/soak',
  'test/contract/contract.',
  'test/dashboard/',
  'test/house/docs.',
  'test/streams/lifecycle',
  'test/wire/empty',
];

/**
 * Files of one project come one after the other: a worker is kept for the next file of the same project alone, and a new
 * one loads all sources again. Projects with few files come first, so that the end is shared by all workers.
 */
class ByProject extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const projects = new Map<string, TestSpecification[]>();
    for (const file of await super.sort(files))
      projects.set(file.project.name, [...(projects.get(file.project.name) ?? []), file]);
    const isLong = ({ moduleId }: TestSpecification): boolean =>
      longTests.some((name) => moduleId.includes(`/${name}`));
    return [...projects.values()]
      .sort((a, b) => a.length - b.length)
      .flatMap((all) => [...all.filter(isLong), ...all.filter((file) => !isLong(file))]);
  }
}

/** One version of etcd, the machine's own, and before a release all. */
const etcds = Object.fromEntries(Object.entries(foundEtcds).slice(0, isRelease ? undefined : 1));

const folder = mkdtempSync(path.join(tmpdir(), 'wherry-tests-'));
process.on('exit', () => rmSync(folder, { recursive: true, force: true }));

/**
 * Misuse of shared memory and shared objects fails in tests; see src/switches.ts. Tests on etcd find its versions. No test
 * touches clusters or the kubeconfig of the user who runs it. Programs in Go (kubectl, etcd, container engines) collect
 * garbage a quarter as often: it is a fifth of what a call of kubectl costs.
 */
const environment = {
  GOGC: '400',
  WHERRY_ASSERT: '1',
  WHERRY_ETCDS: JSON.stringify(etcds),
  WHERRY_JEST: jest,
  XDG_DATA_HOME: path.join(folder, 'data'),
  KUBECONFIG: path.join(folder, 'kubeconfig'),
};

/**
 * For workers with many files: a larger young generation, collected by one thread, takes a tenth of the processor time
 * off; other threads would only take turns on CI's two processors. Workers of one file measure with Node's own settings.
 *
 * A function has to run four times as much as usual before it is optimised, which takes another tenth off: most run
 * so seldom in tests that this costs more than it saves. Tried with Node 20, whose flags others do not all have.
 */
const isNode20 = process.versions.node.startsWith('20.');
const sharedWorker = {
  isolate: false,
  execArgv: [
    '--max-semi-space-size=64',
    '--single-threaded-gc',
    ...(isNode20 ? ['--interrupt-budget=270336'] : []),
  ],
};

/** Node cannot start a thread from TypeScript, so the one that writes to LMDB is built for the tests of the sources. */
const lmdbThread = pathToFileURL(await buildThread(folder)).href;

const define = { lmdbThreadFile: JSON.stringify(lmdbThread) };

const sources = await compileSources(folder, define);

/**
 * What all projects share. It is given to each, because one that extends this file evaluates it again, and compiles all
 * sources again with it.
 */
const shared = {
  setupFiles: ['test/support/setup.ts'],
  server: { deps: { external: [compiledFolder] } },
  // Bounds against tests that hang, not measurements: a slow machine must pass.
  testTimeout: 240_000,
  hookTimeout: 240_000,
  // Half as often as usual: what is asked for costs processor time, much of it in a browser.
  expect: { poll: { timeout: 60_000, interval: 100 } },
  // More than processors that CI has, because many tests wait for something else than their own work.
  maxWorkers: 4,
};

/** A project whose tests see these versions. */
const project = (name: string, kubectls: Record<string, string>, files: object) => ({
  // A copy, because vitest takes out of the object what it has read.
  define: { ...define },
  test: {
    ...shared,
    name,
    env: {
      ...environment,
      WHERRY_KUBECTLS: JSON.stringify(kubectls),
      WHERRY_OLDER_KUBECTL: kubectls === all || kubectls === newest ? '' : '1',
    },
    ...files,
  },
});

/** The same with sources and tests that Node loads, so exports cannot be replaced. */
const compiledProject = (name: string, kubectls: Record<string, string>, files: object) => ({
  ...project(name, kubectls, files),
  plugins: [compiledSources(sources)],
});

/** The same with many files for each worker. */
const sharedProject = (name: string, kubectls: Record<string, string>, files: object) =>
  compiledProject(name, kubectls, { ...files, ...sharedWorker });

export default defineConfig({
  test: {
    ...shared,
    // Projects share what was made of the sources; without this each would transform all of them again. It is kept for
    // one run alone, because the thread's file is not part of what the cache looks at.
    experimental: { fsModuleCache: true, fsModuleCachePath: path.join(folder, 'modules') },
    sequence: { sequencer: ByProject },
    projects: [
      project('replacing', all, { include: replacingTests, exclude: otherTests }),
      compiledProject('alone', all, { include: aloneTests, exclude: [...otherTests, ...replacingTests] }),
      sharedProject('shared', newest, {
        include: ['{src,test,web}/**/*.test.ts'],
        exclude: [...otherTests, ...aloneTests],
      }),
      ...Object.entries(older).map(([version, program]) =>
        sharedProject(
          `kubectl ${version}`,
          { [version]: program },
          { include: isRelease ? kubectlTests : [everyKubectlSuite], exclude: otherTests },
        ),
      ),
    ],
  },
});
