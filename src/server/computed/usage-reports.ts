/**
 * Usage reports: resource usage of nodes and pods, requested from the agents of all nodes when a client asks for
 * metrics.
 */
import type { Node } from '../../api/generated/types.ts';
import type { Registry } from '../../registry/registry.ts';
import { everything } from '../../registry/view/filter.ts';
import type { NodeConnector } from '../../streams/dial/node-connector.ts';
import { locateNode } from '../pods/node-location.ts';
import { askNode } from '../pods/node-request.ts';

/** Reports are cached this long. */
const freshMs = 5_000;
/** Nodes that are queried concurrently. */
const askedMax = 32;
const answerMs = 5_000;
const answerBytesMax = 32 * 1024 * 1024;

export interface Usage {
  /** Time of the measurement. */
  readonly time: string;
  readonly nanoCores: number;
  readonly memoryBytes: number;
}

export interface PodReport {
  readonly namespace: string;
  readonly name: string;
  readonly containers: readonly (Usage & { readonly name: string })[];
}

export interface NodeReport extends Usage {
  readonly name: string;
  readonly pods: readonly PodReport[];
}

/** The fields of a kubelet's summary that are used. */
interface Summary {
  readonly node: Measured;
  readonly pods?: readonly {
    readonly podRef: { readonly name: string; readonly namespace: string };
    readonly containers?: readonly (Measured & { readonly name: string })[];
  }[];
}

interface Measured {
  readonly cpu?: { readonly time: string; readonly usageNanoCores?: number };
  readonly memory?: { readonly workingSetBytes?: number };
}

export class UsageReports {
  #newest: { readonly atMs: number; readonly reports: Promise<readonly NodeReport[]> } | undefined;

  constructor(
    private readonly registry: Registry,
    private readonly nodes: NodeConnector,
  ) {}

  /** The usage of all nodes that answer. */
  all(): Promise<readonly NodeReport[]> {
    const nowMs = this.registry.sources.nowMs();
    if (!this.#newest || nowMs - this.#newest.atMs >= freshMs)
      this.#newest = { atMs: nowMs, reports: this.#ask() };
    return this.#newest.reports;
  }

  /** The usage of the pods of a namespace, by name. */
  async podUsage(namespace: string): Promise<Map<string, { milliCpu: number; memoryBytes: number }>> {
    const usage = new Map<string, { milliCpu: number; memoryBytes: number }>();
    for (const { pods } of await this.all())
      for (const pod of pods) {
        if (pod.namespace !== namespace) continue;
        const nanoCores = pod.containers.reduce((sum, one) => sum + one.nanoCores, 0);
        const memoryBytes = pod.containers.reduce((sum, one) => sum + one.memoryBytes, 0);
        usage.set(pod.name, { milliCpu: nanoCores / 1e6, memoryBytes });
      }
    return usage;
  }

  async #ask(): Promise<NodeReport[]> {
    const waiting = [...this.registry.view.collection('core/nodes').select(everything).entries];
    const reports: NodeReport[] = [];
    const work = async (): Promise<void> => {
      for (let entry = waiting.shift(); entry; entry = waiting.shift()) {
        const report = await this.#report(entry.object() as Node).catch(() => undefined);
        if (report) reports.push(report);
      }
    };
    await Promise.all(Array.from({ length: askedMax }, work));
    return reports;
  }

  async #report(node: Node): Promise<NodeReport> {
    const location = locateNode(node);
    const path = '/stats/summary?only_cpu_and_memory=true';
    const summary = (await askNode(this.nodes, location, { path, answerMs, answerBytesMax })) as Summary;
    return {
      name: location.name,
      ...usageOf(summary.node),
      pods: (summary.pods ?? []).map(({ podRef, containers = [] }) => ({
        namespace: podRef.namespace,
        name: podRef.name,
        containers: containers.map((one) => ({ name: one.name, ...usageOf(one) })),
      })),
    };
  }
}

const usageOf = ({ cpu, memory }: Measured): Usage => ({
  time: String(cpu?.time ?? ''),
  nanoCores: Number(cpu?.usageNanoCores ?? 0),
  memoryBytes: Number(memory?.workingSetBytes ?? 0),
});
