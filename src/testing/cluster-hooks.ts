/**
 * Glue for test runners: one cluster for a file, in the same fresh state for each of its tests. The entry points of the
 * runners hand in their hooks; other runners can do the same.
 */
import { testCluster } from './late-loading.ts';
import type { TestCluster, TestClusterOptions } from './test-cluster.ts';

type Hook = (work: () => Promise<void>) => unknown;

/** The hooks of a test runner. */
export interface RunnerHooks {
  readonly beforeAll: Hook;
  readonly beforeEach: Hook;
  readonly afterAll: Hook;
}

/**
 * Makes a `useCluster` from the hooks of a test runner. It starts a cluster before the first test of a file, resets it
 * before each test and closes it after the last. What it gives can be used inside of tests and hooks.
 */
export const clusterHooks =
  ({ beforeAll, beforeEach, afterAll }: RunnerHooks) =>
  (options: TestClusterOptions = {}): TestCluster => {
    if (typeof beforeAll !== 'function')
      throw new Error('there are no hooks of a test runner here: run this by the runner, with its globals');
    let cluster: TestCluster | undefined;
    let isFresh = false;
    beforeAll(async () => {
      cluster = await testCluster(options);
      isFresh = true;
    });
    beforeEach(async () => {
      if (!isFresh) await cluster?.reset();
      isFresh = false;
    });
    afterAll(async () => {
      await cluster?.close();
      cluster = undefined;
    });
    return new Proxy({} as TestCluster, {
      get: (_, name) => {
        if (!cluster) throw new Error('the cluster runs while tests run: use it inside of a test or a hook');
        const value: unknown = Reflect.get(cluster, name, cluster);
        return typeof value === 'function' ? value.bind(cluster) : value;
      },
    });
  };
