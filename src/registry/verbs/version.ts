/** Resource versions in requests: revisions of the store, as decimal numbers. */
import { badRequest, invalidOptions, plain, versionTooLarge } from '../../api/errors/errors.ts';
import { forbidden, invalid, notSupported } from '../../api/errors/field-error.ts';
import type { Compatibility } from '../compatibility.ts';
import type { View } from '../view/view.ts';

/** How long a request waits for a version that the view has not reached. */
const futureWaitMs = 3_000;

export type VersionMatch = 'Exact' | 'NotOlderThan' | undefined;

/** Versions are unsigned numbers of 64 bits. */
const versionMax = 2n ** 64n - 1n;

function readingError(text: string) {
  const problem = /^\d+$/.test(text) ? 'value out of range' : 'invalid syntax';
  return invalid('resourceVersion', text, `strconv.ParseUint: parsing ${JSON.stringify(text)}: ${problem}`);
}

/** The version a request names; undefined for none. A version above 2^53 is treated as one in the future. */
export function parseVersion(
  text: string | undefined,
  verb: 'get' | 'list' | 'watch',
  compatibility: Compatibility = 'contract',
): number | undefined {
  if (text === undefined || text === '') return undefined;
  const digits = /^0*(\d{1,20})$/.exec(text)?.[1];
  if (digits !== undefined && BigInt(digits) <= versionMax)
    return Math.min(Number(digits), Number.MAX_SAFE_INTEGER);
  const error = readingError(text);
  // Kubernetes 1.1 answered 422 for a watch; a current server answers with a bare 500.
  if (verb === 'watch' && compatibility === 'contract') throw invalidOptions('ListOptions', [error]);
  const message = `${error.field}: ${error.message}`;
  throw verb === 'list' ? badRequest(`invalid resource version: ${message}`) : plain(message);
}

export function parseMatch(
  match: string | undefined,
  version: string | undefined,
  continued: boolean,
): VersionMatch {
  if (!match) return undefined;
  const refuse = (detail: string) =>
    invalidOptions('ListOptions', [forbidden('resourceVersionMatch', detail)]);
  if (continued) throw refuse('resourceVersionMatch is forbidden when continue is provided');
  if (!version) throw refuse('resourceVersionMatch is forbidden unless resourceVersion is provided');
  if (match !== 'Exact' && match !== 'NotOlderThan')
    throw invalidOptions('ListOptions', [
      notSupported('resourceVersionMatch', match, ['Exact', 'NotOlderThan', '']),
    ]);
  if (match === 'Exact' && version === '0')
    throw refuse('resourceVersionMatch "exact" is forbidden for resourceVersion "0"');
  return match;
}

/** Waits a short time for a version in the future; then throws a 504. */
export async function awaitVersion(view: View, version: number): Promise<void> {
  if (version <= view.revision) return;
  const giveUp = new AbortController();
  const timer = setTimeout(() => giveUp.abort(), futureWaitMs);
  try {
    await view.reached(version, giveUp.signal);
  } finally {
    clearTimeout(timer);
  }
  if (version > view.revision) throw versionTooLarge(version, view.revision);
}
