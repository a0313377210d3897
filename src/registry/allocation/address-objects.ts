/**
 * IPAddress objects: one for each cluster IP, written and removed together with its service. An IPAddress takes its
 * address, also when a user or another program created it.
 */
import type { IPAddress } from '../../api/generated/types.ts';
import { familyOf } from '../../api/rules/service/service-addresses.ts';
import type { Companion } from '../companion.ts';
import type { Registry } from '../registry.ts';
import { collectionOf, named, type Place, type Target } from '../target.ts';
import type { Entry } from '../view/entry.ts';
import { Follower } from '../view/follower.ts';
import { memberKey } from '../view/key.ts';
import type { View } from '../view/view.ts';
import { actingAs } from '../writers.ts';
import type { ClusterAddresses } from './cluster-addresses.ts';

export const addressId = 'networking.k8s.io/ipaddresses';
export const managedByLabel = 'ipaddress.kubernetes.io/managed-by';
export const addressManager = 'ipallocator.k8s.io';
const familyLabel = 'ipaddress.kubernetes.io/ip-family';

/** The service that an IPAddress belongs to. */
type ServicePlace = Pick<Place, 'namespace' | 'name'>;

/** The key of the service that an IPAddress refers to; undefined for other parents. */
export function parentKeyOf(entry: Entry): string | undefined {
  const { group, resource, namespace = '', name = '' } = (entry.peek() as IPAddress).spec?.parentRef ?? {};
  return !group && resource === 'services' ? memberKey(namespace, name) : undefined;
}

interface Held {
  readonly entry: Entry;
  readonly parent: string | undefined;
}

export class AddressObjects {
  readonly #stored: Follower<Held>;
  /** The objects of each service. */
  readonly #byService = new Map<string, Set<Entry>>();

  constructor(view: View, ips: ClusterAddresses) {
    this.#stored = new Follower<Held>(view.collection(addressId), {
      read: (entry) => ({ entry, parent: parentKeyOf(entry) }),
      gained: ({ entry, parent }) => {
        ips.hold(entry.name);
        if (parent === undefined) return;
        const entries = this.#byService.get(parent);
        if (entries) entries.add(entry);
        else this.#byService.set(parent, new Set([entry]));
      },
      lost: ({ entry, parent }) => {
        ips.release(entry.name);
        if (parent === undefined) return;
        const entries = this.#byService.get(parent);
        entries?.delete(entry);
        if (entries?.size === 0) this.#byService.delete(parent);
      },
    });
  }

  catchUp(): void {
    this.#stored.catchUp();
  }

  of({ namespace, name }: ServicePlace): readonly Entry[] {
    this.catchUp();
    return [...(this.#byService.get(memberKey(namespace, name)) ?? [])];
  }

  /** Writes the objects of addresses that a service takes, and removes those of addresses that it gives back. */
  companion(registry: Registry, taken: readonly string[], released: readonly string[]): Companion {
    const written: { place: Target; revision: number }[] = [];
    return {
      write: async (service, locks) => {
        const has = this.of(service).map(({ name }) => name);
        const write = async (ip: string): Promise<void> => {
          const { request, target, value } = encodedAddress(registry, ip, service);
          const revision = await registry.commit(request, target, value, 0, locks);
          if (revision !== undefined) written.push({ place: target, revision });
        };
        await Promise.all(taken.filter((ip) => !has.includes(ip)).map(write));
      },
      settled: async (service, stored) => {
        if (!stored)
          for (const { place, revision } of written)
            await registry.commit(actingAs('kube-apiserver', 'delete'), place, null, revision);
        if (stored && released.length) {
          const gone = this.of(service).filter(({ name }) => released.includes(name));
          await Promise.all(gone.map((entry) => removeAddress(registry, entry)));
        }
      },
    };
  }

  /** Removes the IPAddresses of a deleted service; newer ones belong to a new service of the same name. */
  async removeOf(registry: Registry, service: ServicePlace, removed: number): Promise<void> {
    const gone = this.of(service).filter(({ revision }) => revision < removed);
    await Promise.all(gone.map((entry) => removeAddress(registry, entry)));
  }
}

/** Creates the IPAddress of an address that a service has already. False: there is one of that name. */
export async function plantAddress(registry: Registry, ip: string, service: ServicePlace): Promise<boolean> {
  const { request, target, value } = encodedAddress(registry, ip, service);
  return (await registry.commit(request, target, value, 0)) !== undefined;
}

/** Removes an IPAddress, unless it has changed meanwhile. */
export async function removeAddress(registry: Registry, entry: Entry): Promise<void> {
  await registry.commit(actingAs('kube-apiserver', 'delete'), entry, null, entry.revision);
}

function encodedAddress(registry: Registry, ip: string, { namespace, name }: ServicePlace) {
  const kind = registry.kinds.resource('networking.k8s.io/v1', 'ipaddresses')!;
  const target = named(collectionOf(kind, ''), ip);
  const request = actingAs('kube-apiserver', 'create');
  const address: IPAddress = {
    metadata: {
      name: ip,
      uid: registry.sources.uid(),
      creationTimestamp: registry.now(),
      labels: {
        [familyLabel]: familyOf(ip),
        [managedByLabel]: addressManager,
      },
    },
    spec: { parentRef: { resource: 'services', namespace, name } },
  };
  return { request, target, value: registry.encode(request, target, address) };
}
