/**
 * The default roles and bindings of a cluster. With a secure door they exist before the first answer, because users are
 * authorized by them; otherwise they are written right after it, so that the start does not take longer.
 */
import type { Writing } from '../../registry/writing.ts';
import type { HealthCheck } from '../../server/observe/health.ts';
import { Startup } from '../shared/health-checks.ts';

export class DefaultPolicy {
  readonly #startup = new Startup();
  #planting: Promise<void> | undefined;
  #soon: NodeJS.Immediate | undefined;

  constructor(private readonly writing: Writing) {}

  /** Writes missing objects, once; all callers share the same promise. */
  plant(): Promise<void> {
    if (!this.#planting) {
      this.#planting = this.#plant();
      this.#startup.follow(this.#planting);
    }
    return this.#planting;
  }

  /** Writes them when the start has finished its other work. */
  plantSoon(onError: (error: Error) => void): void {
    this.#soon = setImmediate(() => void this.plant().catch(onError));
  }

  /** A health check whether the policy exists, under kube-apiserver's name. */
  get check(): HealthCheck {
    return {
      name: 'poststarthook/rbac/bootstrap-roles',
      readyOnly: true,
      failure: () => this.#startup.failure,
    };
  }

  /** Resolves when nothing is being written any more. */
  async close(): Promise<void> {
    clearImmediate(this.#soon);
    await this.#planting?.catch(() => undefined);
  }

  /** Loaded on demand: it is the longest data of the server. */
  async #plant(): Promise<void> {
    const { ensureDefaultPolicy } = await import('../../access/authorization/bootstrap.ts');
    await ensureDefaultPolicy(this.writing);
  }
}
