/**
 * Objects in the form in which a copy can be brought to life: what belongs to the real nodes is left out, so that controllers
 * make it anew on others.
 */
import { isJsonObject } from '../../api/text/object.ts';
import type { NamedObject } from '../dump/stored-form.ts';

/** Made by nodes and controllers while they run. */
const madeAnew: ReadonlySet<string> = new Set([
  'Node',
  'Lease',
  'CSINode',
  'CSIStorageCapacity',
  'VolumeAttachment',
  'Event',
  'Endpoints',
  'EndpointSlice',
]);

/** Undefined: it is left out. */
export function aliveForm(object: NamedObject): NamedObject | undefined {
  const { kind, apiVersion, metadata } = object;
  if (madeAnew.has(kind) && (apiVersion === 'v1' || apiVersion.includes('k8s.io/'))) return undefined;
  if (kind !== 'Pod' || apiVersion !== 'v1') return object;
  const owners = Array.isArray(metadata['ownerReferences']) ? metadata['ownerReferences'] : [];
  // Its owner makes it again; that of a mirror pod is a node.
  if (owners.some((owner) => isJsonObject(owner) && owner['controller'] === true)) return undefined;
  const { nodeName: _node, ...spec } = isJsonObject(object['spec']) ? object['spec'] : {};
  return { ...object, spec, status: { phase: 'Pending' } };
}
