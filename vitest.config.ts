/**
 * A test file's name says how it runs:
 *
 * - `*.test.ts` shares a worker with others, because loading the modules anew for every file takes longer than most tests.
 * - `*.alone.test.ts` has a worker of its own: it replaces what modules export, or measures or changes its process.
 * - `*.kubectl.test.ts` talks to kubectl: to the newest version found, and before a release to each.
 * - `*.every-kubectl.test.ts` talks to each version always, because versions speak different protocols.
 * - `*.release.test.ts`, after one of these words or without, runs before a release alone: `npm run test:release`.
 *
 * Each version of kubectl is a project. `npm test` fetches versions; without it, those count that are on this machine.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { defineConfig } from 'vitest/config';
import { BaseSequencer, type TestSpecification } from 'vitest/node';
import { findEtcds } from './scripts/etcds.mjs';
import { findJest } from './scripts/jest.mjs';
import { findKubectls } from './scripts/kubectls.mjs';
import { buildThread } from './scripts/thread.mjs';

const all: Record<string, string> = JSON.parse(process.env.WHERRY_KUBECTLS ?? 'null') ?? findKubectls();

const foundEtcds: Record<string, string> = JSON.parse(process.env.WHERRY_ETCDS ?? 'null') ?? findEtcds();

const jest: string = process.env.WHERRY_JEST ?? findJest() ?? '';

/** Before a release everything runs, with every version of kubectl and of etcd: see scripts/test-release.mjs. */
const isRelease = process.env.WHERRY_RELEASE === '1';

/** Tests with this word in their names, in these folders. */
const named = (word: string): string[] =>
  ['test', 'release.test'].map((ending) => `{src,test,web}/**/*.${word}.${ending}.ts`);

const aloneTests = named('alone');
const everyKubectlTests = named('every-kubectl');
const kubectlTests = [...named('kubectl'), ...everyKubectlTests];
const otherTests = ['**/node_modules/**', ...(isRelease ? [] : ['**/*.release.test.ts'])];

const newestKubectl = Object.keys(all)
  .sort((a, b) => a.localeCompare(b, 'en', { numeric: true }))
  .at(-1);

/** Started first, because they take longest: one that began last would run alone at the end. */
const longTests =
  /src\/(store\/(etcd\/|lmdb)|cluster\/(store\/etcd|node\/runtimes)|node\/network\/|ingress\/)|test\/(clusters\/(replicas|soak)|kubectl\/script)/;

class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const sorted = await super.sort(files);
    const isLong = ({ moduleId }: TestSpecification): boolean => longTests.test(moduleId);
    return [...sorted.filter(isLong), ...sorted.filter((file) => !isLong(file))];
  }
}

/** One version of etcd, the machine's own, and before a release all. */
const etcds = Object.fromEntries(Object.entries(foundEtcds).slice(0, isRelease ? undefined : 1));

const folder = mkdtempSync(path.join(tmpdir(), 'wherry-tests-'));
process.on('exit', () => rmSync(folder, { recursive: true, force: true }));

/**
 * Misuse of shared memory and shared objects fails in tests; see src/switches.ts. Tests on etcd find its versions. No test
 * touches clusters or the kubeconfig of the user who runs it.
 */
const environment = {
  WHERRY_ASSERT: '1',
  WHERRY_ETCDS: JSON.stringify(etcds),
  WHERRY_JEST: jest,
  XDG_DATA_HOME: path.join(folder, 'data'),
  KUBECONFIG: path.join(folder, 'kubeconfig'),
};

/** A project whose tests see these versions. */
const project = (name: string, kubectls: Record<string, string>, files: object) => ({
  extends: true as const,
  test: { name, env: { ...environment, WHERRY_KUBECTLS: JSON.stringify(kubectls) }, ...files },
});

/** Node cannot start a thread from TypeScript, so the one that writes to LMDB is built for the tests of the sources. */
const lmdbThread = pathToFileURL(await buildThread(folder)).href;

export default defineConfig({
  define: { lmdbThreadFile: JSON.stringify(lmdbThread) },
  test: {
    setupFiles: ['test/support/setup.ts'],
    // Projects share what was made of the sources; without this each would transform all of them again. It is kept for
    // one run alone, because the thread's file is not part of what the cache looks at.
    experimental: { fsModuleCache: true, fsModuleCachePath: path.join(folder, 'modules') },
    env: environment,
    // Bounds against tests that hang, not measurements: a slow machine must pass.
    testTimeout: 240_000,
    hookTimeout: 240_000,
    expect: { poll: { timeout: 60_000 } },
    sequence: { sequencer: LongestFirst },
    // More than processors that CI has, because many tests wait for something else than their own work.
    maxWorkers: 3,
    projects: [
      project('alone', all, { include: aloneTests, exclude: otherTests }),
      project('clusters', all, {
        include: ['test/**/*.test.ts'],
        exclude: [...otherTests, ...kubectlTests, ...aloneTests],
        isolate: false,
      }),
      project('parts', all, {
        include: ['{src,web}/**/*.test.ts'],
        exclude: [...otherTests, ...kubectlTests, ...aloneTests],
        isolate: false,
      }),
      ...Object.entries(all).map(([version, program]) =>
        project(
          `kubectl ${version}`,
          { [version]: program },
          {
            include: isRelease || version === newestKubectl ? kubectlTests : everyKubectlTests,
            exclude: otherTests,
            isolate: false,
          },
        ),
      ),
      ...(Object.keys(all).length
        ? []
        : [project('no kubectl', {}, { include: kubectlTests, exclude: otherTests })]),
    ],
  },
});
