/**
 * What Go's errors say of a field. A struct that is part of another one is on its path, although no document shows it
 * (`spec.volumes.VolumeSource.hostPath`), and some lists and maps have types with names.
 */
import type { Field, Model } from './model.ts';

/** Names of the structs that are parts of others, the outer first. Their fields are those with more than one number. */
const parts: Readonly<Record<string, readonly string[]>> = {
  Volume: ['VolumeSource'],
  PersistentVolumeSpec: ['PersistentVolumeSource'],
  Probe: ['ProbeHandler'],
  EphemeralContainer: ['EphemeralContainerCommon'],
  IngressRule: ['IngressRuleValue'],
  RuleWithOperations: ['Rule'],
  NamedRuleWithOperations: ['RuleWithOperations', 'Rule'],
  DeviceClaimConfiguration: ['DeviceConfiguration'],
  DeviceAllocationConfiguration: ['DeviceConfiguration'],
  DeviceClassConfiguration: ['DeviceConfiguration'],
};

/** `path` without indexes begins in `model`. What is below a map stays as it is, because its keys may have dots. */
export function goPath(model: Model, path: string): string {
  let at: Model | undefined = model;
  const shown: string[] = [];
  for (const name of path.split('.')) {
    const field: Field | undefined = at?.fields.get(name);
    if (at && field) shown.push(...partsOf(at.name, field));
    shown.push(name);
    const inner: Field | undefined = field?.type === 'array' ? field.items : field;
    at = inner?.type === 'model' ? inner.model : undefined;
  }
  return shown.join('.');
}

const partsOf = (model: string, { pb }: Field): readonly string[] =>
  pb.length > 1 ? (parts[model] ?? ['LocalObjectReference']).slice(0, pb.length - 1) : [];

/** The name of a type of lists or maps; undefined: it has none. */
export function goCollection({ items, values }: Field, owner: Model): string | undefined {
  if (items?.type === 'model' && items.model.name === 'ValidationRule') return 'v1.ValidationRules';
  if (values?.type !== 'quantity') return undefined;
  return owner.file.includes('resource') ? 'map[v1.QualifiedName]resource.Quantity' : 'v1.ResourceList';
}
