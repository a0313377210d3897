/**
 * Reset fields: what a path of a kind does not change, whatever is sent. Nobody can own it through that path. An update
 * of the object leaves its status alone, an update of the status the spec.
 */
import { type FieldSet, recursiveDifference, within } from '../values/field-set.ts';

export interface ResetFields {
  /** Fields of the root that are reset: comparisons need not look at them. */
  readonly roots: ReadonlySet<string>;
  /** The set without reset fields. */
  keep(set: FieldSet): FieldSet;
}

export const nothingReset: ResetFields = { roots: new Set(), keep: (set) => set };

/** Resets fields of the root, and some fields inside others. */
export const resetting = (roots: readonly string[], more: FieldSet = {}): ResetFields => {
  const all: FieldSet = { ...Object.fromEntries(roots.map((name) => [`f:${name}`, {}])), ...more };
  return { roots: new Set(roots), keep: (set) => recursiveDifference(set, all) };
};

/** Resets all fields but those of a pattern. */
export const resettingAllBut = (pattern: FieldSet): ResetFields => ({
  roots: nothingReset.roots,
  keep: (set) => within(set, pattern),
});

/** Fields of the metadata. */
export const inMetadata = (...names: string[]): FieldSet => ({
  'f:metadata': Object.fromEntries(names.map((name) => [`f:${name}`, {}])),
});

export const statusReset = resetting(['status']);
export const specReset = resetting(['spec']);
/** For paths that change nothing but the status. */
export const statusOnly = resetting(['metadata', 'spec']);
