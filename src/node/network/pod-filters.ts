/**
 * Keeps the packet filters of a node's pods in line with network policies. A pod gets its rules before its containers
 * run.
 */
import type { Pod } from '../../api/generated/types.ts';
import type { Spawner } from '../process/spawner.ts';
import { type FilterSurroundings, filterScript, runFilter } from './packet-filter.ts';
import type { PolicyTable } from './policy-table.ts';

interface FilteredPod {
  readonly pod: Pod;
  readonly namespace: string;
  /** The script that ran last; undefined before the first. */
  script: string | undefined;
  /** Resolves when all scripts so far have run; they run one after the other. */
  work: Promise<void>;
}

export interface PodFiltersOptions {
  readonly spawner: Spawner;
  readonly surroundings: () => FilterSurroundings;
  readonly onError: (error: Error) => void;
}

export class PodFilters {
  readonly #pods = new Map<string, FilteredPod>();
  #table: PolicyTable | undefined;

  constructor(private readonly options: PodFiltersOptions) {}

  /** Starts to apply policies, also to pods that are attached already. */
  async follow(table: PolicyTable): Promise<void> {
    this.#table = table;
    table.onChange(() => this.refresh());
    await Promise.all([...this.#pods.values()].map((filtered) => this.#apply(filtered)));
  }

  /** Rejects when the rules of the pod cannot be set. */
  async attached(pod: Pod, namespace: string): Promise<void> {
    const filtered: FilteredPod = { pod, namespace, script: undefined, work: Promise.resolve() };
    this.#pods.set(pod.metadata.uid!, filtered);
    await this.#apply(filtered);
  }

  detached(uid: string): void {
    this.#pods.delete(uid);
  }

  refresh(): void {
    for (const filtered of this.#pods.values())
      this.#apply(filtered).catch((error: Error) => {
        // The pod's namespace may just have been removed.
        if (this.#pods.has(filtered.pod.metadata.uid!)) this.options.onError(error);
      });
  }

  #apply(filtered: FilteredPod): Promise<void> {
    const work = filtered.work.catch(() => undefined).then(() => this.#run(filtered));
    filtered.work = work;
    return work;
  }

  async #run(filtered: FilteredPod): Promise<void> {
    const { pod, namespace } = filtered;
    const { spawner, surroundings } = this.options;
    const rules = await this.#table?.rulesFor(pod);
    const isolated = rules?.ingress || rules?.egress;
    // A pod that was never isolated needs no filter.
    if (!isolated && filtered.script === undefined) return;
    const script = filterScript(rules ?? { ingress: undefined, egress: undefined }, surroundings());
    if (script === filtered.script || !this.#pods.has(pod.metadata.uid!)) return;
    await runFilter(spawner, namespace, script);
    filtered.script = script;
  }
}
