/**
 * The ranges of cluster IPs: those of all ServiceCIDRs that are ready and not being deleted, the cluster's own first.
 * As long as the cluster's own is not stored, it is the one the server was started with.
 */

import type { ServiceCIDR } from '../../api/generated/types.ts';
import { type AddressRange, parseCIDR } from '../../api/values/addresses.ts';
import { Follower } from '../view/follower.ts';
import type { View } from '../view/view.ts';
import type { ClusterAddresses } from './cluster-addresses.ts';

export const rangeId = 'networking.k8s.io/servicecidrs';
/** The name of the cluster's own range. */
export const ownRangeName = 'kubernetes';

interface StoredRanges {
  readonly name: string;
  readonly ranges: readonly AddressRange[];
  readonly usable: boolean;
}

/** Whether addresses are given out from a ServiceCIDR. */
const isUsableRange = ({ metadata, status }: ServiceCIDR): boolean =>
  !metadata.deletionTimestamp &&
  status?.conditions?.some((one) => one.type === 'Ready' && one.status === 'True') === true;

export const rangesOf = ({ spec }: ServiceCIDR): AddressRange[] =>
  (spec?.cidrs ?? []).flatMap((text) => parseCIDR(text) ?? []);

export class StoredServiceRanges {
  readonly #stored: Follower<StoredRanges>;
  readonly #known = new Map<string, StoredRanges>();
  #changed = false;

  constructor(
    view: View,
    private readonly ips: ClusterAddresses,
  ) {
    this.#stored = new Follower<StoredRanges>(view.collection(rangeId), {
      read: (entry) => {
        const object = entry.peek() as ServiceCIDR;
        return { name: entry.name, ranges: rangesOf(object), usable: isUsableRange(object) };
      },
      gained: (stored) => {
        this.#known.set(stored.name, stored);
        this.#changed = true;
      },
      lost: ({ name }) => {
        this.#known.delete(name);
        this.#changed = true;
      },
    });
  }

  catchUp(): void {
    this.#stored.catchUp();
    if (!this.#changed) return;
    this.#changed = false;
    const rank = ({ name }: StoredRanges): string => (name === ownRangeName ? '' : name);
    const usable = [...this.#known.values()]
      .filter((stored) => stored.usable)
      .sort((a, b) => (rank(a) < rank(b) ? -1 : 1))
      .flatMap(({ ranges }) => ranges);
    this.ips.setRanges(this.#known.has(ownRangeName) ? usable : [...this.ips.own, ...usable]);
  }
}
