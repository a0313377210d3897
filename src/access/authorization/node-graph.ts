/**
 * The graph of nodes: which objects the pods of a node need, so that the node may read only these. It is derived from
 * the view's changes, which are applied when it is queried.
 */
import type { PersistentVolume, Pod } from '../../api/generated/types.ts';
import { mirrorAnnotation, podReferences, volumeSecretPlaces } from '../../api/rules/pod/pod-references.ts';
import type { Entry } from '../../registry/view/entry.ts';
import { Follower } from '../../registry/view/follower.ts';
import type { View } from '../../registry/view/view.ts';

/** Resources that a node may reach. */
export type Reached =
  | 'pods'
  | 'secrets'
  | 'configmaps'
  | 'serviceaccounts'
  | 'persistentvolumeclaims'
  | 'persistentvolumes';

const placeOf = (resource: Reached, namespace: string, name: string): string =>
  `${resource}/${namespace}/${name}`;

interface PodEdges {
  readonly node: string;
  readonly places: readonly string[];
}

interface VolumeEdges {
  /** The claim it is bound to. */
  readonly claim: string;
  /** The volume itself, and the secrets that mounting it needs. */
  readonly places: readonly string[];
}

export class NodeGraph {
  /** How many pods of each node need an object. */
  readonly #byNode = new Map<string, Map<string, number>>();
  /** Which claims lead to an object through volumes, and through how many. */
  readonly #claims = new Map<string, Map<string, number>>();
  readonly #followers: readonly { catchUp(): void }[];

  constructor(view: View) {
    this.#followers = [
      new Follower<PodEdges>(view.collection('core/pods'), {
        read: podEdges,
        gained: ({ node, places }) => count(this.#byNode, node, places, 1),
        lost: ({ node, places }) => count(this.#byNode, node, places, -1),
      }),
      new Follower<VolumeEdges>(view.collection('core/persistentvolumes'), {
        read: volumeEdges,
        gained: ({ claim, places }) => {
          for (const place of places) count(this.#claims, place, [claim], 1);
        },
        lost: ({ claim, places }) => {
          for (const place of places) count(this.#claims, place, [claim], -1);
        },
      }),
    ];
  }

  /** Whether a pod of the node needs an object, by itself or for one of its volumes. */
  reaches(node: string, resource: Reached, namespace: string, name: string): boolean {
    for (const follower of this.#followers) follower.catchUp();
    const places = this.#byNode.get(node);
    if (!places) return false;
    const place = placeOf(resource, namespace, name);
    if (places.has(place)) return true;
    for (const claim of this.#claims.get(place)?.keys() ?? []) if (places.has(claim)) return true;
    return false;
  }
}

/** Adds to a counter; removes it at zero. */
function count(
  counts: Map<string, Map<string, number>>,
  key: string,
  places: readonly string[],
  step: 1 | -1,
): void {
  if (places.length === 0) return;
  let known = counts.get(key);
  if (!known) {
    known = new Map();
    counts.set(key, known);
  }
  for (const place of places) {
    const number = (known.get(place) ?? 0) + step;
    if (number > 0) known.set(place, number);
    else known.delete(place);
  }
  if (known.size === 0) counts.delete(key);
}

const nowhere: PodEdges = { node: '', places: [] };

function podEdges(entry: Entry): PodEdges {
  const node = entry.field('spec.nodeName');
  if (!node) return nowhere;
  const { namespace, name } = entry;
  const own = placeOf('pods', namespace, name);
  const { metadata, spec = {} } = entry.peek() as Pod;
  // References of a mirror pod do not count: its node made it, and could reference anything.
  if (metadata.annotations?.[mirrorAnnotation] !== undefined) return { node, places: [own] };
  const { secrets, configMaps, claims } = podReferences(name, spec);
  const places = [own];
  if (spec.serviceAccountName) places.push(placeOf('serviceaccounts', namespace, spec.serviceAccountName));
  for (const secret of secrets) places.push(placeOf('secrets', namespace, secret));
  for (const map of configMaps) places.push(placeOf('configmaps', namespace, map));
  for (const claim of claims) places.push(placeOf('persistentvolumeclaims', namespace, claim));
  return { node, places };
}

function volumeEdges(entry: Entry): VolumeEdges {
  const volume = entry.peek() as PersistentVolume;
  const { claimRef } = volume.spec ?? {};
  if (!claimRef?.name) return { claim: '', places: [] };
  return {
    claim: placeOf('persistentvolumeclaims', claimRef.namespace ?? '', claimRef.name),
    places: [
      placeOf('persistentvolumes', '', entry.name),
      ...volumeSecretPlaces(volume).map(([namespace, name]) => placeOf('secrets', namespace, name)),
    ],
  };
}
