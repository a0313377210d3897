/** A server with the test kit under `/wherry/testing`, for tests in other languages. */
import type { Cluster } from '../cluster/cluster.ts';
import type { StartOptions } from '../cluster/options/start-options.ts';
import { Kit } from './kit.ts';
import { testingPages } from './testing-pages.ts';

/** Longer than for simulated nodes, because real ones take longer. */
const settledMs = 30_000;

/** Resolves when nodes are registered and everything has settled: the state that a reset returns to. */
export async function startTestingServer(options: StartOptions): Promise<Cluster> {
  const kit = await Kit.start({ start: options, seed: undefined, pages: testingPages });
  try {
    await kit.cluster.nodesReady;
    await kit.convergence.reached(settledMs);
    await kit.begin();
  } catch (error) {
    await kit.close();
    throw error;
  }
  return { ...kit.cluster, close: () => kit.close() };
}
