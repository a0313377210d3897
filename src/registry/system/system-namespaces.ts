/** System namespaces: created at start; one that was deleted is created again within a minute. */
import { StatusError } from '../../api/errors/errors.ts';
import type { Registry } from '../registry.ts';
import { collectionOf } from '../target.ts';
import { create } from '../verbs/create.ts';
import { actingAs } from '../writers.ts';

const names: readonly string[] = ['default', 'kube-system', 'kube-public', 'kube-node-lease'];
const intervalMs = 60_000;

export class SystemNamespaces {
  #timer: NodeJS.Timeout | undefined;
  #running: Promise<void> | undefined;

  constructor(
    private readonly registry: Registry,
    private readonly onError: (error: Error) => void,
  ) {}

  /** Creates missing namespaces, and repeats that until it is closed. */
  async start(): Promise<void> {
    await ensureSystemNamespaces(this.registry);
    this.#timer = setInterval(() => {
      this.#running = ensureSystemNamespaces(this.registry).catch(this.onError);
    }, intervalMs);
    this.#timer.unref();
  }

  async close(): Promise<void> {
    clearInterval(this.#timer);
    await this.#running;
  }
}

export async function ensureSystemNamespaces(registry: Registry): Promise<void> {
  const kind = registry.kinds.resource('v1', 'namespaces')!;
  const missing = names.filter((name) => !registry.view.collection('core/namespaces').get('', name));
  await Promise.all(
    missing.map(async (name) => {
      try {
        await create(registry, actingAs('kube-apiserver', 'create'), collectionOf(kind, ''), {
          metadata: { name },
        });
      } catch (error) {
        // Another server on the same store created it first.
        if (!(error instanceof StatusError && error.code === 409)) throw error;
      }
    }),
  );
}
