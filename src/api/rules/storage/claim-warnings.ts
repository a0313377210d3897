/** Warnings about claims: storage in fractions of a byte. */
import { child } from '../../errors/field-error.ts';
import type { PersistentVolumeClaimSpec } from '../../generated/types.ts';
import { fractionWarning } from '../shared/fraction-warning.ts';

export function* claimSpecWarnings(
  spec: PersistentVolumeClaimSpec | undefined,
  path: string,
): Generator<string, void, undefined> {
  const { requests, limits } = spec?.resources ?? {};
  yield* fractionWarning(requests, 'storage', child(path, 'resources.requests'));
  yield* fractionWarning(limits, 'storage', child(path, 'resources.limits'));
}
