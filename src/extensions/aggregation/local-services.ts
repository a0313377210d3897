/**
 * The APIServices of the versions that this server itself serves. Those of built-in versions are created at the start;
 * those of custom kinds come and go with their versions. Deleted ones are created again.
 */
import type { APIService } from '../../api/generated/types.ts';
import type { Kind } from '../../api/kind/kind.ts';
import { apiService, apiServiceName, localCondition } from '../../api/kinds/apiregistration/api-service.ts';
import { collectionOf, targetOf } from '../../registry/target.ts';
import { remove } from '../../registry/verbs/delete.ts';
import type { Collection } from '../../registry/view/collection.ts';
import { everything } from '../../registry/view/filter.ts';
import { actingAs } from '../../registry/writers.ts';
import type { Writing } from '../../registry/writing.ts';
import { watchChanges } from './change-watch.ts';
import { localPriority } from './priorities.ts';

const label = 'kube-aggregator.kubernetes.io/automanaged';
const atStart = 'onstart';
const always = 'true';
/** The version of APIService itself, which has no APIService. */
const ownVersion = apiService.apiVersion;

export class LocalServices {
  readonly #collection: Collection;
  readonly #closers: (() => void)[] = [];
  #working: Promise<void> | undefined;
  #again = false;
  #closed = false;

  constructor(
    private readonly writing: Writing,
    /** Versions that are served and have no stored kinds. */
    private readonly computed: readonly string[],
    private readonly report: (error: Error) => void,
  ) {
    this.#collection = writing.registry.view.collection(apiService);
  }

  async start(): Promise<void> {
    this.#closers.push(
      this.writing.registry.kinds.follow(({ added, removed, replaced }) => {
        // A version may be served no longer, or again.
        const isWrong = ({ apiVersion, custom, hidden }: Kind): boolean =>
          custom === true && hidden === (this.#collection.get('', nameOf(apiVersion)) !== undefined);
        if (added.length || removed.length || replaced.some(isWrong)) this.#settle();
      }),
      watchChanges(this.#collection, (_, name) => {
        if (!this.#collection.get('', name)) this.#settle();
      }),
    );
    await Promise.all([...this.#builtin()].map((apiVersion) => this.#seed(apiVersion, atStart)));
    this.#settle();
  }

  async close(): Promise<void> {
    this.#closed = true;
    for (const close of this.#closers) close();
    await this.#working;
  }

  *#builtin(): Iterable<string> {
    const versions = new Set(this.computed);
    for (const { apiVersion, custom } of this.writing.registry.kinds.served())
      if (!custom) versions.add(apiVersion);
    versions.delete(ownVersion);
    yield* versions;
  }

  #custom(): Set<string> {
    const versions = new Set<string>();
    for (const { apiVersion, custom } of this.writing.registry.kinds.served())
      if (custom) versions.add(apiVersion);
    return versions;
  }

  /**
   * Creates missing APIServices of custom versions and removes superfluous ones; several changes are handled together.
   */
  #settle(): void {
    if (this.#closed) return;
    this.#again = true;
    this.#working ??= this.#work()
      .catch(this.report)
      .finally(() => {
        this.#working = undefined;
        // A change may have come after the last pass.
        if (this.#again) this.#settle();
      });
  }

  async #work(): Promise<void> {
    while (this.#again && !this.#closed) {
      this.#again = false;
      await null;
      const custom = this.#custom();
      await Promise.all([...custom].map((apiVersion) => this.#seed(apiVersion, always)));
      const names = new Set([...custom].map((apiVersion) => nameOf(apiVersion)));
      for (const entry of this.#collection.select(everything).entries)
        if (entry.labels?.[label] === always && !names.has(entry.name)) await this.#remove(entry.name);
    }
  }

  async #seed(apiVersion: string, managed: string): Promise<void> {
    const name = nameOf(apiVersion);
    if (this.#collection.get('', name)) return;
    const [version, group] = apiVersion.split('/').reverse() as [string, string?];
    const priority = localPriority(apiVersion, this.writing.registry.kinds.minor);
    const service: APIService = {
      metadata: { name, labels: { [label]: managed } },
      spec: {
        ...(group ? { group } : {}),
        version,
        groupPriorityMinimum: priority.group,
        versionPriority: priority.version,
      },
      status: { conditions: [localCondition(this.writing.registry.now())] },
    };
    await this.writing.registry.seed(
      actingAs('kube-apiserver', 'create'),
      collectionOf(apiService, ''),
      service,
    );
  }

  async #remove(name: string): Promise<void> {
    const target = targetOf({ kind: apiService, namespace: '', name });
    try {
      await remove(this.writing, actingAs('kube-apiserver', 'delete'), target, {});
    } catch (error) {
      if ((error as { code?: number }).code !== 404) throw error;
    }
  }
}

function nameOf(apiVersion: string): string {
  const [version, group = ''] = apiVersion.split('/').reverse() as [string, string?];
  return apiServiceName(group, version);
}
