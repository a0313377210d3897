/** The health checks of a cluster's process: store, view, controllers and nodes. */
import type { Node } from '../../api/generated/types.ts';
import type { Registry } from '../../registry/registry.ts';
import type { HealthCheck } from '../../server/observe/health.ts';

/** The state of a part that is being started, and may fail to. */
export class Startup {
  #state: 'pending' | 'done' | Error = 'pending';

  /** Records the outcome. */
  follow(done: Promise<unknown>): void {
    done.then(
      () => (this.#state = 'done'),
      (error: Error) => (this.#state = error),
    );
  }

  get failure(): string | undefined {
    if (this.#state === 'done') return undefined;
    return this.#state === 'pending' ? 'still starting' : `could not start: ${this.#state.message}`;
  }
}

/**
 * Fails if the newest write has failed, or a read fails. A restart of the server does not heal a store that others share.
 */
export const storeCheck = (registry: Registry): HealthCheck => ({
  name: 'store',
  failure: async () => {
    if (registry.writeFailure) return registry.writeFailure.message;
    await registry.store.revision();
    await registry.store.get('health');
    return undefined;
  },
});

/** Fails if the view is behind the store, because reads and watches are answered from it. */
export const viewCheck = ({ view, kinds }: Registry): HealthCheck => ({
  name: 'view',
  failure: async () => {
    const events = kinds.resource('v1', 'events');
    for (const each of new Set([view, ...(events ? [view.of(events)] : [])])) {
      await each.caughtUp();
      if (each.failure) return each.failure.message;
    }
    return undefined;
  },
});

export const controllersCheck = (failure: HealthCheck['failure']): HealthCheck => ({
  name: 'controllers',
  failure,
});

/** Checks the nodes run by this process; others have their own health. */
export const nodesCheck = (
  { view }: Registry,
  names: () => readonly string[],
  startup: Startup,
): HealthCheck => ({
  name: 'nodes',
  readyOnly: true,
  failure: () => {
    if (startup.failure) return startup.failure;
    const nodes = view.collection('core/nodes');
    const unready = names().filter((name) => !isReady(nodes.get('', name)?.object() as Node | undefined));
    return unready.length ? `not ready: ${unready.join(', ')}` : undefined;
  },
});

const isReady = (node: Node | undefined): boolean =>
  node?.status?.conditions?.some(({ type, status }) => type === 'Ready' && status === 'True') ?? false;

/** Fails while the server still answers, but is about to close. */
export const shutdownCheck = (isClosing: () => boolean): HealthCheck => ({
  name: 'shutdown',
  readyOnly: true,
  failure: () => (isClosing() ? 'process is shutting down' : undefined),
});
