/**
 * The service CIDR controller: marks ranges as ready, and keeps a range that is being deleted until all addresses of
 * services are in other ranges.
 */

import type { Condition, ServiceCIDR } from '../../api/generated/types.ts';
import type { AddressRange } from '../../api/values/addresses.ts';
import { parseIP } from '../../api/values/addresses.ts';
import { addressId, addressManager, managedByLabel } from '../../registry/allocation/address-objects.ts';
import { rangeId, rangesOf } from '../../registry/allocation/service-ranges.ts';
import { targetOf } from '../../registry/target.ts';
import { modify } from '../../registry/verbs/modify.ts';
import type { Entry } from '../../registry/view/entry.ts';
import { everything } from '../../registry/view/filter.ts';
import {
  type Controller,
  ifUnchanged,
  observe,
  type RunningController,
  running,
  type SharedContext,
  writeStatus,
} from '../shared/controller.ts';
import { WorkQueue } from '../shared/work-queue.ts';

const finalizer = 'networking.k8s.io/service-cidr-finalizer';
/** How long servers that have not seen the deletion yet may still allocate addresses from the range. */
const graceMs = 10_000;

const readyMessage = 'Kubernetes Service CIDR is ready';
const terminatingMessage =
  'There are still IPAddresses referencing the ServiceCIDR, please remove them or create a new ServiceCIDR';

export const serviceCidrController: Controller = {
  name: 'servicecidr',
  housekeeping: true,
  writer: 'service-cidrs-controller',
  start: (context) => new RangeKeeper(context).start(),
};

class RangeKeeper {
  readonly #queue: WorkQueue;

  constructor(private readonly context: SharedContext) {
    this.#queue = new WorkQueue({
      timers: context.registry.timers,
      work: (name) => this.#sync(name),
      onError: (_, error) => context.onError(error),
    });
  }

  start(): RunningController {
    const observations = [
      observe(this.context, rangeId, (entry, previous) => {
        this.#queue.add((entry ?? previous)!.name);
        this.#lookAgain();
      }),
      observe(this.context, addressId, (entry) => {
        if (!entry) this.#lookAgain();
      }),
    ];
    return running(observations, [this.#queue]);
  }

  /** Processes ranges again that wait for their addresses to be released, or for another range that contains them. */
  #lookAgain(): void {
    for (const entry of this.#all(rangeId))
      if ((entry.peek() as ServiceCIDR).metadata.deletionTimestamp) this.#queue.add(entry.name);
  }

  #all(id: typeof rangeId | typeof addressId): readonly Entry[] {
    return this.context.registry.view.collection(id).select(everything).entries;
  }

  async #sync(name: string): Promise<void> {
    const { registry } = this.context;
    await registry.view.caughtUp();
    const entry = registry.view.collection(rangeId).get('', name);
    if (!entry) return;
    const range = entry.object() as ServiceCIDR;
    if (range.metadata.deletionTimestamp) return this.#letGo(entry, range);
    if (!range.metadata.finalizers?.includes(finalizer)) return this.#setFinalizer(entry, true);
    if (!conditionOf(range))
      await this.#setReady(entry, range, { status: 'True', reason: '', message: readyMessage });
  }

  async #letGo(entry: Entry, range: ServiceCIDR): Promise<void> {
    if (!range.metadata.finalizers?.includes(finalizer)) return;
    if (!this.#isSpare(entry, range))
      return this.#setReady(entry, range, {
        status: 'False',
        reason: 'Terminating',
        message: terminatingMessage,
      });
    const sinceMs = Date.parse(range.metadata.deletionTimestamp ?? '');
    const leftMs = sinceMs + graceMs - this.context.registry.sources.nowMs();
    if (leftMs > 0) return this.#queue.addAfter(entry.name, leftMs);
    await this.#setFinalizer(entry, false);
  }

  /** Whether other ranges contain all its addresses, or at least those in use. */
  #isSpare({ name }: Entry, range: ServiceCIDR): boolean {
    const others = this.#all(rangeId)
      .filter((other) => other.name !== name)
      .map((other) => other.peek() as ServiceCIDR)
      .filter(({ metadata }) => !metadata.deletionTimestamp)
      .flatMap(rangesOf);
    const own = rangesOf(range);
    if (
      own.every((one) => others.some((other) => includes(other, one.first) && includes(other, one.last, one)))
    )
      return true;
    return this.#all(addressId).every((address) => {
      if (address.labels?.[managedByLabel] !== addressManager) return true;
      const ip = parseIP(address.name);
      const isIn = (one: AddressRange): boolean => ip?.family === one.family && includes(one, ip.value);
      return !own.some(isIn) || others.some(isIn);
    });
  }

  async #setFinalizer(entry: Entry, wanted: boolean): Promise<void> {
    const { writing, request } = this.context;
    await ifUnchanged(
      modify(writing, request('update'), targetOf(entry), (current) => {
        const object = current.object();
        const others = (object.metadata.finalizers ?? []).filter((one) => one !== finalizer);
        object.metadata.finalizers = wanted ? [...others, finalizer] : others;
        return object;
      }),
    );
  }

  async #setReady(
    entry: Entry,
    range: ServiceCIDR,
    ready: Pick<Condition, 'status' | 'reason' | 'message'>,
  ): Promise<void> {
    const known = conditionOf(range);
    if (known?.status === ready.status && known?.reason === ready.reason) return;
    const others = (range.status?.conditions ?? []).filter(({ type }) => type !== 'Ready');
    const condition = { type: 'Ready', ...ready, lastTransitionTime: this.context.registry.now() };
    await writeStatus(this.context, entry, { conditions: [...others, condition] });
  }
}

const conditionOf = ({ status }: ServiceCIDR): Condition | undefined =>
  status?.conditions?.find(({ type }) => type === 'Ready');

const includes = (range: AddressRange, address: bigint, of: AddressRange = range): boolean =>
  range.family === of.family && address >= range.first && address <= range.last;
