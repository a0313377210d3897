/** Memory limits without cgroups: measures containers from time to time, and kills those above their limit. */

import {
  bySession,
  listProcesses,
  type ProcessEntry,
  proportionalBytes,
} from '../../process/process-table.ts';
import type { Spawner } from '../../process/spawner.ts';
import type { ContainerProcess } from './container-process.ts';

const lookMs = 1_000;

export class MemoryWatch {
  readonly #limits = new Map<ContainerProcess, number>();
  #timer: NodeJS.Timeout | undefined;
  #closed = false;

  constructor(
    private readonly spawner: Spawner,
    private readonly onError: (error: Error) => void,
  ) {}

  /** Watches a container, or changes its limit. */
  add(container: ContainerProcess, limitBytes: number): void {
    if (!this.#limits.has(container)) void container.exited.then(() => this.#limits.delete(container));
    this.#limits.set(container, limitBytes);
    this.#arm();
  }

  /** Memory that a container uses now. */
  async used(container: ContainerProcess): Promise<number> {
    return sum(membersOf(container, bySession(await listProcesses(this.spawner))), fairBytes);
  }

  close(): void {
    this.#closed = true;
    clearTimeout(this.#timer);
  }

  #arm(): void {
    if (this.#timer || this.#closed || !this.#limits.size) return;
    this.#timer = setTimeout(() => {
      this.#look()
        .catch(this.onError)
        .finally(() => {
          this.#timer = undefined;
          this.#arm();
        });
    }, lookMs);
    this.#timer.unref();
  }

  async #look(): Promise<void> {
    const sessions = bySession(await listProcesses(this.spawner));
    for (const [container, limit] of this.#limits) {
      const members = membersOf(container, sessions);
      // RSS counts shared pages once per process, so a sum above the limit is only a reason for an exact measurement.
      const above = sum(members, ({ rssBytes }) => rssBytes) > limit;
      if (above && sum(members, fairBytes) > limit) container.endForMemory();
    }
  }
}

const membersOf = (
  { sessions: own }: ContainerProcess,
  sessions: ReadonlyMap<number, readonly ProcessEntry[]>,
): ProcessEntry[] => [...own].flatMap((session) => sessions.get(session) ?? []);

const fairBytes = ({ pid, rssBytes }: ProcessEntry): number => proportionalBytes(pid) ?? rssBytes;

const sum = (entries: readonly ProcessEntry[], of: (entry: ProcessEntry) => number): number =>
  entries.reduce((total, entry) => total + of(entry), 0);
