/** System namespaces: created at start; one that was deleted is created again within a minute. */
import { StatusError } from '../../api/errors/errors.ts';
import { collectionOf } from '../target.ts';
import { create } from '../verbs/create.ts';
import { actingAs } from '../writers.ts';
import type { Writing } from '../writing.ts';

const names: readonly string[] = ['default', 'kube-system', 'kube-public', 'kube-node-lease'];
const intervalMs = 60_000;

export class SystemNamespaces {
  #timer: NodeJS.Timeout | undefined;
  #running: Promise<void> | undefined;

  constructor(
    private readonly writing: Writing,
    private readonly onError: (error: Error) => void,
  ) {}

  /** Creates missing namespaces, and repeats that until it is closed. */
  async start(): Promise<void> {
    await ensureSystemNamespaces(this.writing);
    this.#timer = setInterval(() => {
      this.#running = ensureSystemNamespaces(this.writing).catch(this.onError);
    }, intervalMs);
    this.#timer.unref();
  }

  async close(): Promise<void> {
    clearInterval(this.#timer);
    await this.#running;
  }
}

export async function ensureSystemNamespaces(writing: Writing): Promise<void> {
  const kind = writing.registry.kinds.resource('v1', 'namespaces')!;
  const missing = names.filter((name) => !writing.registry.view.collection('core/namespaces').get('', name));
  await Promise.all(
    missing.map(async (name) => {
      try {
        await create(writing, actingAs('kube-apiserver', 'create'), collectionOf(kind, ''), {
          metadata: { name },
        });
      } catch (error) {
        // Another server on the same store created it first.
        if (!(error instanceof StatusError && error.code === 409)) throw error;
      }
    }),
  );
}
