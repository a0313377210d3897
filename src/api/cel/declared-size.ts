/** The maximum sizes of values, from their declared types. */
import { isReserved } from './syntax/parser.ts';
import type { Type } from './values/types.ts';
import type { ValuePath } from './values/value-path.ts';

/** The size of the value at a path; undefined when the declaration does not limit it. */
export type DeclaredSize = (path: ValuePath) => number | undefined;

/** Looks into the types of variables. */
export function variableSize(variables: ReadonlyMap<string, Type>): DeclaredSize {
  return (path) => {
    const root = variables.get(path.variable);
    return root && sizeBelow(root, path.steps);
  };
}

/**
 * @param named whether an entry of a map with values of this type is known by the name that follows a dot, too
 */
export function sizeBelow(
  root: Type,
  steps: readonly string[],
  named: (value: Type) => boolean = () => false,
): number | undefined {
  let type: Type | undefined = root;
  for (const step of steps) {
    type = typeBelow(type, step, named);
    if (type === undefined) return undefined;
  }
  return type.sizeMax;
}

function typeBelow(type: Type, step: string, named: (value: Type) => boolean): Type | undefined {
  if (step === '@items' || step === '@values') {
    if (type.kind === 'list') return type.item;
    return type.kind === 'map' ? type.value : undefined;
  }
  if (step === '@keys') return type.kind === 'map' ? type.key : undefined;
  if (type.kind === 'map' && named(type.value)) return type.value;
  // Words of the language are found under their escaped names alone.
  return type.kind === 'object' && !isReserved(step) ? type.field(step) : undefined;
}
