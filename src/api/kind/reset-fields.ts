/**
 * Reset fields: what a path of a kind does not change, whatever is sent. Nobody can own it through that path. An update
 * of the object leaves its status alone, an update of the status the spec.
 */
import { type FieldSet, recursiveDifference, within } from '../values/field-set.ts';
import type { Kind } from './kind.ts';

export interface ResetFields {
  /** Fields of the root that are reset: comparisons need not look at them. */
  readonly roots: ReadonlySet<string>;
  /** The set without reset fields. */
  keep(set: FieldSet): FieldSet;
}

const nothingReset: ResetFields = { roots: new Set(), keep: (set) => set };

const without = (roots: readonly string[], more: FieldSet = {}): ResetFields => {
  const all: FieldSet = { ...Object.fromEntries(roots.map((name) => [`f:${name}`, {}])), ...more };
  return { roots: new Set(roots), keep: (set) => recursiveDifference(set, all) };
};

const only = (pattern: FieldSet): ResetFields => ({
  roots: nothingReset.roots,
  keep: (set) => within(set, pattern),
});

const metadata = (...names: string[]): FieldSet => ({
  'f:metadata': Object.fromEntries(names.map((name) => [`f:${name}`, {}])),
});

const resizable: FieldSet = { '*': { 'f:resources': {}, 'f:resizePolicy': {} } };

const statusReset = without(['status']);
const specReset = without(['spec']);
const statusOnly = without(['metadata', 'spec']);

/** By kind and part; other kinds and parts follow from whether the kind has a status. */
const special: Readonly<Record<string, ResetFields>> = {
  'apps/deployments status': without(['spec'], metadata('labels')),
  'core/pods status': without(['spec'], metadata('deletionTimestamp', 'ownerReferences')),
  'core/pods ephemeralcontainers': only({ 'f:spec': { 'f:ephemeralContainers': {} } }),
  'core/pods resize': only({ 'f:spec': { 'f:containers': resizable, 'f:initContainers': resizable } }),
  'certificates.k8s.io/certificatesigningrequests main': without(['spec', 'status']),
  'certificates.k8s.io/certificatesigningrequests status': without(['spec'], {
    'f:status': { 'f:conditions': {} },
  }),
  'certificates.k8s.io/certificatesigningrequests approval': without(['spec'], {
    'f:status': { 'f:certificate': {} },
  }),
  'networking.k8s.io/servicecidrs status': statusOnly,
  'resource.k8s.io/resourceclaims status': statusOnly,
  'storage.k8s.io/volumeattachments status': statusOnly,
};

export function resetFields(kind: Kind, part: string): ResetFields {
  const known = special[`${kind.storage.id} ${part}`];
  if (known) return known;
  if (part === 'status') return kind.custom ? statusOnly : specReset;
  return kind.hasStatus ? statusReset : nothingReset;
}
