/**
 * Tests that talk to kubectl run once for each version of it that is found, each as a project of its own. `npm test`
 * fetches versions; without it, those count that are on this machine. Tests of single parts and of whole clusters share
 * workers, because loading the modules anew for every file takes longer than most of these tests.
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

const etcds: Record<string, string> = JSON.parse(process.env.WHERRY_ETCDS ?? 'null') ?? findEtcds();

const jest: string = process.env.WHERRY_JEST ?? findJest() ?? '';

const kubectlTests = [
  'test/kubectl/*.test.ts',
  'test/apply/kubectl.test.ts',
  'test/streams/{attach,exec,lifecycle,logs,node-logs,pods,port-forward,proxy,terminal}.test.ts',
  'src/server/pods/proxying.clients.test.ts',
];

/**
 * Tests of single parts that can share a worker: they start no process, replace no module, measure no memory, and import
 * no file with hooks of its own, since these hold for the first file alone that imports it.
 */
const parts = [
  'src/{access,api,controllers,extensions,pki,registry,server}/**/!(long-answer).test.ts',
  'src/store/!(lmdb|lmdb-writer|damage).test.ts',
  'src/ingress/!(hostile).test.ts',
  'src/{client,envtest,grpc,testing}/**/*.test.ts',
  'src/cli/!(collector|code-cache|log).test.ts',
  'web/**/*.test.ts',
];

/** Tests of whole clusters that cannot share a worker: they replace what modules export, or measure their process. */
const aloneTests = [
  'test/cli/plain.test.ts',
  'test/clusters/{replicas,soak}.test.ts',
  'test/access/routes.test.ts',
  'test/controllers/{deployments.scaling,jobs.indexed}.test.ts',
  'test/streams/hostile.test.ts',
];

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

/** Misuse of shared memory and shared objects fails in tests; see src/switches.ts. Tests on etcd find its versions. */
const environment = { WHERRY_ASSERT: '1', WHERRY_ETCDS: JSON.stringify(etcds), WHERRY_JEST: jest };

/** A project whose tests see these versions. */
const project = (name: string, kubectls: Record<string, string>, files: object) => ({
  extends: true as const,
  test: { name, env: { ...environment, WHERRY_KUBECTLS: JSON.stringify(kubectls) }, ...files },
});

/** Node cannot start a thread from TypeScript, so the one that writes to LMDB is built for the tests of the sources. */
const folder = mkdtempSync(path.join(tmpdir(), 'wherry-tests-'));
process.on('exit', () => rmSync(folder, { recursive: true, force: true }));
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
      project('wherry', all, {
        include: ['src/**/*.test.ts', ...aloneTests],
        exclude: ['**/node_modules/**', ...kubectlTests, ...parts],
      }),
      project('clusters', all, {
        include: ['test/**/*.test.ts'],
        exclude: ['**/node_modules/**', ...kubectlTests, ...aloneTests],
        isolate: false,
      }),
      project('parts', all, { include: parts, exclude: kubectlTests, isolate: false }),
      ...Object.entries(all).map(([version, program]) =>
        project(`kubectl ${version}`, { [version]: program }, { include: kubectlTests, isolate: false }),
      ),
      ...(Object.keys(all).length ? [] : [project('no kubectl', {}, { include: kubectlTests })]),
    ],
  },
});
