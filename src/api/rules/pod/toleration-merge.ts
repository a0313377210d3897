/** Merges tolerations of a pod with those of its runtime class. */
import type { Toleration } from '../../generated/types.ts';
import { semanticEqual } from '../../text/object.ts';

/** The tolerations in their order, without those that another one covers; of equal ones, the first stays. */
export function mergedTolerations(all: readonly Toleration[]): Toleration[] {
  const merged: Toleration[] = [];
  for (const [i, toleration] of all.entries()) {
    const before = merged.some((other) => covers(other, toleration));
    const after = all
      .slice(i + 1)
      .some((other) => !semanticEqual(other, toleration) && covers(other, toleration));
    if (!before && !after) merged.push(toleration);
  }
  return merged;
}

/** Whether every taint that the second tolerates is tolerated by the first. */
function covers(wide: Toleration, narrow: Toleration): boolean {
  if (semanticEqual(wide, narrow)) return true;
  const everyKey = !wide.key && wide.operator === 'Exists';
  if ((wide.key ?? '') !== (narrow.key ?? '') && !everyKey) return false;
  if (wide.effect && wide.effect !== narrow.effect) return false;
  if (wide.effect === 'NoExecute' && wide.tolerationSeconds !== undefined) {
    const seconds = narrow.tolerationSeconds;
    if (seconds === undefined || seconds > wide.tolerationSeconds) return false;
  }
  if (wide.operator === 'Exists') return true;
  const isEqual = ({ operator }: Toleration): boolean => !operator || operator === 'Equal';
  return isEqual(wide) && isEqual(narrow) && (wide.value ?? '') === (narrow.value ?? '');
}
