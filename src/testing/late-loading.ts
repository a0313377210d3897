/** Loads the kit with the first test cluster: programs that start no test cluster do not pay for it. */
import type { TestCluster, TestClusterOptions } from './test-cluster.ts';

/** Starts a cluster for tests, in memory. Resolves when it has settled: nodes are registered, fixtures are applied. */
export async function testCluster(options: TestClusterOptions = {}): Promise<TestCluster> {
  const { startTestCluster } = await import('./test-cluster.ts');
  return startTestCluster(options);
}
