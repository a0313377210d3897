/**
 * The unreported nodes controller: sets the conditions of a node that no agent has ever reported to Unknown, and adds
 * the taint for that, when the time for its first report is over. It is for servers without the node lifecycle
 * controller, which does the same. Nodes that an agent or a client has reported are left alone.
 */
import type { Node } from '../api/generated/types.ts';
import { timeToMs } from '../api/values/time.ts';
import { modify } from '../registry/verbs/modify.ts';
import {
  conditionOf,
  firstGraceShare,
  leaseNamespace,
  neverUpdated,
  sameTaints,
  silentConditions,
  taintsFor,
} from './node-marks.ts';
import {
  type Controller,
  ifUnchanged,
  observe,
  type RunningController,
  running,
  type SharedContext,
} from './shared/controller.ts';
import { WorkQueue } from './shared/work-queue.ts';

export const unreportedNodesController: Controller = {
  name: 'unreported-nodes',
  writer: 'node-controller',
  housekeeping: true,
  start: (context) => new UnreportedNodes(context).start(),
};

class UnreportedNodes {
  readonly #queue: WorkQueue;
  /** Nodes that were marked, and have reported since. */
  readonly #speaking = new Set<string>();

  constructor(private readonly context: SharedContext) {
    this.#queue = new WorkQueue({
      timers: context.registry.timers,
      work: (name) => this.#look(name),
      onError: (_, error) => context.onError(error),
    });
  }

  start(): RunningController {
    const observation = observe(this.context, 'core/nodes', (entry, previous) => {
      if (!entry) return void this.#speaking.delete(previous!.name);
      if (previous && isMarked(previous.peek() as Node) && !isMarked(entry.peek() as Node))
        this.#speaking.add(entry.name);
      this.#queue.add(entry.name);
    });
    return running([observation], [this.#queue]);
  }

  async #look(name: string): Promise<void> {
    const { registry } = this.context;
    const node = registry.view.collection('core/nodes').get('', name)?.peek() as Node | undefined;
    if (!node) return;
    if (this.#speaking.has(name)) {
      await this.#taint(node);
      this.#speaking.delete(name);
    } else if (isMarked(node)) await this.#taint(node);
    else if (!conditionOf(node, 'Ready')) await this.#wait(node);
  }

  async #wait(node: Node): Promise<void> {
    const { registry, settings } = this.context;
    const name = node.metadata.name!;
    const dueMs = timeToMs(node.metadata.creationTimestamp!) + settings.nodeGraceMs * firstGraceShare;
    const waitMs = dueMs - registry.sources.nowMs();
    if (waitMs > 0) return this.#queue.addAfter(name, waitMs);
    // The agent is alive, but has not reported its status yet.
    if (registry.view.collection('coordination.k8s.io/leases').get(leaseNamespace, name)) return;
    await this.#modify(name, 'status', (current) => {
      if (!conditionOf(current, 'Ready'))
        current.status = { ...current.status, conditions: silentConditions(current, registry.now()) };
    });
  }

  async #taint(node: Node): Promise<void> {
    const now = this.context.registry.now();
    if (sameTaints(node, taintsFor(node, now, false))) return;
    await this.#modify(node.metadata.name!, 'main', (current) => {
      const taints = taintsFor(current, now, false);
      current.spec = { ...current.spec, taints: taints.length ? taints : undefined };
    });
  }

  async #modify(name: string, part: 'main' | 'status', change: (node: Node) => void): Promise<void> {
    const { registry, writing, request } = this.context;
    const kind = registry.kinds.resource('v1', 'nodes')!;
    await ifUnchanged(
      modify(writing, request('update'), { kind, namespace: '', name, part }, (current) => {
        const node = current.object() as Node;
        change(node);
        return node;
      }),
    );
  }
}

/** Whether its conditions say that the node was never reported. */
const isMarked = (node: Node): boolean => conditionOf(node, 'Ready')?.reason === neverUpdated;
