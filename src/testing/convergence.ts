/**
 * Convergence: whether the parts of a cluster have anything left to do, and which. Retries and work due within a second
 * count while the clock runs; while it is frozen, nothing happens until it is moved.
 */
import { setImmediate as nextTick, setTimeout as sleep } from 'node:timers/promises';
import type { Pod } from '../api/generated/types.ts';
import type { ClusterParts } from '../cluster/cluster-parts.ts';
import { everything } from '../registry/view/filter.ts';
import type { VirtualClock } from './virtual-clock.ts';

/** Number of consecutive ticks of the event loop without busy parts. */
const calmTicks = 3;
/** After this many ticks the checks become less frequent, so that real work gets the processor. */
const eagerTicks = 200;
const pauseMs = 2;

export class Convergence {
  constructor(
    private readonly parts: ClusterParts,
    private readonly clock: VirtualClock,
  ) {}

  /** Whether anything is busy. Cheap checks come first, because the clock asks at every tick while it moves. */
  isBusy(): boolean {
    const { registry, definitions, nodes, controllers } = this.parts;
    return (
      nodes.requestsUnderWay > 0 ||
      this.clock.isDue ||
      registry.view.revision < (registry.store.revision() as number) ||
      !definitions.settled ||
      controllers()?.settled === false ||
      this.#busyNodes().length > 0
    );
  }

  /** What is busy, in words; empty when nothing is. */
  busy(): string[] {
    const { registry, definitions, nodes, controllers } = this.parts;
    const { view } = registry;
    const running = controllers();
    const busy = (running?.busy ?? []).map((name) => `the controller ${name}`);
    if (running && !running.busy && !running.settled) busy.push('the controllers');
    if (!definitions.settled) busy.push('the kinds of custom resource definitions');
    if (view.revision < (registry.store.revision() as number)) busy.push('the feed of changes');
    if (nodes.requestsUnderWay > 0) busy.push(`${nodes.requestsUnderWay} requests of nodes`);
    if (this.clock.isDue) busy.push('a timer that is due');
    if (busy.length === 0) for (const name of this.#busyNodes()) busy.push(`the node ${name}`);
    return busy;
  }

  /**
   * Resolves when nothing is busy; rejects after the timeout with a sentence about what is.
   * @param others further checks that must be idle
   */
  async reached(
    timeoutMs: number,
    what = 'the cluster has not settled',
    others: () => readonly string[] = () => [],
  ): Promise<void> {
    const deadlineMs = performance.now() + timeoutMs;
    let calm = 0;
    for (let ticks = 0; ; ticks++) {
      const isBusy = others().length > 0 || this.isBusy();
      calm = isBusy ? 0 : calm + 1;
      if (calm >= calmTicks) return;
      if (isBusy && performance.now() > deadlineMs)
        throw new Error(
          `${what} within ${timeoutMs} ms; still busy: ${[...this.busy(), ...others()].join(', ')}`,
        );
      await (calm > 0 || ticks < eagerTicks ? nextTick() : sleep(pauseMs));
    }
  }

  /** Busy nodes; checked last, because that walks over all pods. */
  #busyNodes(): string[] {
    const { registry, nodes } = this.parts;
    const { agents } = nodes;
    if (agents.size === 0) return [];
    const bound = new Map<string, Map<string, string>>([...agents.keys()].map((name) => [name, new Map()]));
    for (const entry of registry.view.collection('core/pods').select(everything).entries) {
      const { metadata, spec } = entry.peek() as Pod;
      bound.get(spec?.nodeName ?? '')?.set(metadata.uid!, String(entry.revision));
    }
    return [...agents].filter(([name, agent]) => agent.isBusy(bound.get(name)!)).map(([name]) => name);
  }
}
