/**
 * Leader election: where several servers share a store, one of them runs the controllers. They agree through a Lease.
 * Clocks of servers are not compared: a lease has expired when a candidate has not seen it change for its duration.
 */
import type { Lease } from '../../api/generated/types.ts';
import type { Verb } from '../../api/kind/kind.ts';
import type { ApiObject } from '../../api/text/object.ts';
import { formatMicroTime } from '../../api/values/time.ts';
import type { Request } from '../../registry/request.ts';
import { collectionOf, targetOf } from '../../registry/target.ts';
import { create } from '../../registry/verbs/create.ts';
import { modify } from '../../registry/verbs/modify.ts';
import type { Entry } from '../../registry/view/entry.ts';
import { actingAs } from '../../registry/writers.ts';
import type { Timer } from '../../timers.ts';
import { type ControllerContext, ifUnchanged, type RunningController } from './controller.ts';

const namespace = 'kube-system';
const name = 'wherry-controllers';
/** One lease for all controllers together. */
const by = (verb: Verb): Request => actingAs('kube-controller-manager', verb);

export interface ElectionTiming {
  /** A leader that has not renewed its lease for this long is replaced. */
  readonly leaseMs: number;
  /** A leader that could not renew its lease for this long steps down, before another can take over. */
  readonly renewMaxMs: number;
  /** How often a lease is renewed, or checked. */
  readonly retryMs: number;
}

const defaultTiming: ElectionTiming = { leaseMs: 15_000, renewMaxMs: 10_000, retryMs: 2_000 };

export class LeaderElection implements RunningController {
  #leading: RunningController | undefined;
  /** The lease as last seen to change, and when. */
  #seen = { version: '', atMs: 0 };
  #renewedMs = 0;
  #timer: Timer | undefined;
  #round: Promise<void> = Promise.resolve();
  #closed = false;

  constructor(
    private readonly context: ControllerContext,
    private readonly identity: string,
    private readonly lead: () => RunningController,
    private readonly timing: ElectionTiming = defaultTiming,
  ) {
    this.#next();
  }

  get isLeader(): boolean {
    return this.#leading !== undefined;
  }

  get settled(): boolean {
    return this.#leading?.settled ?? true;
  }

  /** Steps down, and releases the lease so that another can take over at once. */
  async close(): Promise<void> {
    this.#closed = true;
    this.context.registry.timers.clear(this.#timer);
    await this.#round;
    if (!this.#leading) return;
    await this.#stepDown();
    await this.#write((spec) => ({ ...spec, holderIdentity: '', leaseDurationSeconds: 1 })).catch(
      this.context.onError,
    );
  }

  #next(): void {
    this.#round = this.#try()
      .catch(this.context.onError)
      .then(async () => {
        const silentMs = this.#nowMs() - this.#renewedMs;
        if (this.#leading && silentMs > this.timing.renewMaxMs) await this.#stepDown();
        if (this.#closed) return;
        this.#timer = this.context.registry.timers.set(() => this.#next(), this.timing.retryMs);
        this.#timer.unref();
      });
  }

  #nowMs(): number {
    return this.context.registry.sources.nowMs();
  }

  async #stepDown(): Promise<void> {
    const leading = this.#leading;
    this.#leading = undefined;
    await leading?.close();
  }

  /** One round: acquires or renews the lease if possible. */
  async #try(): Promise<void> {
    await this.context.registry.view.caughtUp();
    const entry = this.#entry();
    if (!entry) {
      if (await this.#create()) this.#won();
      return;
    }
    const { spec = {} } = entry.object() as Lease;
    const version = String(entry.revision);
    if (version !== this.#seen.version) this.#seen = { version, atMs: this.#nowMs() };
    const mine = spec.holderIdentity === this.identity;
    const lastsMs = (spec.leaseDurationSeconds ?? 0) * 1000;
    if (!mine && spec.holderIdentity && this.#nowMs() - this.#seen.atMs < lastsMs) {
      if (this.#leading) await this.#stepDown();
      return;
    }
    const now = formatMicroTime(this.#nowMs());
    const taken = await this.#write(
      (before) => ({
        ...before,
        holderIdentity: this.identity,
        leaseDurationSeconds: Math.ceil(this.timing.leaseMs / 1000),
        acquireTime: mine ? before.acquireTime : now,
        renewTime: now,
        leaseTransitions: (before.leaseTransitions ?? 0) + (mine ? 0 : 1),
      }),
      entry.revision,
    );
    if (taken) this.#won();
  }

  #won(): void {
    this.#renewedMs = this.#nowMs();
    if (!this.#leading && !this.#closed) this.#leading = this.lead();
  }

  #entry(): Entry | undefined {
    return this.context.registry.view.collection('coordination.k8s.io/leases').get(namespace, name);
  }

  async #create(): Promise<boolean> {
    const { registry, writing } = this.context;
    const kind = registry.kinds.resource('coordination.k8s.io/v1', 'leases')!;
    const now = formatMicroTime(this.#nowMs());
    const lease: Lease = {
      metadata: { name, namespace },
      spec: {
        holderIdentity: this.identity,
        leaseDurationSeconds: Math.ceil(this.timing.leaseMs / 1000),
        acquireTime: now,
        renewTime: now,
        leaseTransitions: 0,
      },
    };
    return ifUnchanged(create(writing, by('create'), collectionOf(kind, namespace), lease as ApiObject));
  }

  /** Writes the lease if it is unchanged; false when another candidate was faster. */
  async #write(
    change: (spec: NonNullable<Lease['spec']>) => Lease['spec'],
    revision?: number,
  ): Promise<boolean> {
    const { registry, writing } = this.context;
    const kind = registry.kinds.resource('coordination.k8s.io/v1', 'leases')!;
    let lost = false;
    const changed = await ifUnchanged(
      modify(writing, by('update'), targetOf({ kind, namespace, name }), (current) => {
        const lease = current.object() as Lease;
        lost =
          revision === undefined
            ? lease.spec?.holderIdentity !== this.identity
            : current.revision !== revision;
        return (lost ? lease : { ...lease, spec: change(lease.spec ?? {}) }) as ApiObject;
      }),
    );
    return changed && !lost;
  }
}
