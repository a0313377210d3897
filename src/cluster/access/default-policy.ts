/**
 * The default roles and bindings of a cluster. Where users are checked by them, they are there before the first answer;
 * everywhere else they are written right after it, so that the start does not take longer.
 */
import type { Writing } from '../../registry/writing.ts';
import type { HealthCheck } from '../../server/observe/health.ts';
import { Startup } from '../shared/health-checks.ts';

export class DefaultPolicy {
  readonly #startup = new Startup();
  #planting: Promise<void> | undefined;
  #soon: NodeJS.Immediate | undefined;

  constructor(private readonly writing: Writing) {}

  /** Writes what is missing, once; every caller waits for the same. */
  plant(): Promise<void> {
    if (!this.#planting) {
      this.#planting = this.#plant();
      this.#startup.follow(this.#planting);
    }
    return this.#planting;
  }

  /** Does so when what the start still has to do is done. */
  plantSoon(onError: (error: Error) => void): void {
    this.#soon = setImmediate(() => void this.plant().catch(onError));
  }

  /** Whether the policy is there, by the name that it has in kube-apiserver. */
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

  /** Loaded by those who need it: it is the longest text of the server that is no code. */
  async #plant(): Promise<void> {
    const { ensureDefaultPolicy } = await import('../../access/authorization/bootstrap.ts');
    await ensureDefaultPolicy(this.writing);
  }
}
