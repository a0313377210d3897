/**
 * An index of the EndpointSlices of each service, by their label. It is always as current as the view: every query
 * first applies pending changes, and without queries it costs nothing.
 */
import type { EndpointSlice, Endpoints } from '../../api/generated/types.ts';
import { mirrorOf } from '../../api/rules/service/mirrored-endpoints.ts';
import { serviceNameLabel } from '../../api/rules/service/slice-endpoints.ts';
import type { Entry } from '../view/entry.ts';
import { Follower } from '../view/follower.ts';
import { memberKey } from '../view/key.ts';
import type { View } from '../view/view.ts';

export const sliceId = 'discovery.k8s.io/endpointslices';

/** The name of the service that a slice belongs to; undefined when it belongs to none. */
export const serviceOf = ({ labels }: Entry): string | undefined => labels?.[serviceNameLabel] || undefined;

export class ServiceSlices {
  readonly #follower: Follower<Entry>;
  readonly #slices = new Map<string, Set<Entry>>();

  constructor(private readonly view: View) {
    this.#follower = new Follower(view.collection(sliceId), {
      read: (entry) => entry,
      gained: (entry) => {
        const name = serviceOf(entry);
        if (name === undefined) return;
        const key = memberKey(entry.namespace, name);
        const slices = this.#slices.get(key);
        if (slices) slices.add(entry);
        else this.#slices.set(key, new Set([entry]));
      },
      lost: (entry) => {
        const key = memberKey(entry.namespace, serviceOf(entry) ?? '');
        const slices = this.#slices.get(key);
        slices?.delete(entry);
        if (slices?.size === 0) this.#slices.delete(key);
      },
    });
  }

  /**
   * The slices of a service, or its Endpoints in the form of slices where no controller has made slices. Undefined when
   * there is neither.
   */
  contents(namespace: string, service: string): EndpointSlice[] | undefined {
    const slices = this.of(namespace, service);
    if (slices.length) return slices.map((entry) => entry.peek() as EndpointSlice);
    const endpoints = this.view.collection('core/endpoints').get(namespace, service)?.peek();
    if (!endpoints) return undefined;
    const { groups } = mirrorOf(endpoints as Endpoints);
    return [...groups.IPv4, ...groups.IPv6].map((group) => ({ metadata: {}, ...group })) as EndpointSlice[];
  }

  of(namespace: string, service: string): Entry[] {
    this.#follower.catchUp();
    return [...(this.#slices.get(memberKey(namespace, service)) ?? [])];
  }
}
