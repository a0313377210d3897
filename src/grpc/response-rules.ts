/**
 * What RFC 9113 demands of the headers of one answer: an optional series of 1xx, then the answer's own, then data, then
 * trailers with the end. An answer that breaks a rule is malformed: its call fails, and the connection goes on.
 */
import type { HeaderBlock, Headers } from './header-block.ts';

/** Where an answer is. */
interface AnswerState {
  /** Its own headers have come; what follows is data and trailers. */
  hasBegun: boolean;
  /** Bytes that are still to come, if it has said how long it is. */
  remaining: number | undefined;
}

/** What belongs to one connection of HTTP/1.1, and so to no message of HTTP/2. */
const connectionFields = new Set([
  'connection',
  'keep-alive',
  'proxy-connection',
  'transfer-encoding',
  'upgrade',
]);

/** Letters, digits and what else a name may have; no capitals in HTTP/2. */
const fieldName = /^[!#$%&'*+.^_`|~0-9a-z-]+$/;
/** No line ends, no NUL, and nothing blank at either end. */
const fieldValue = /^(?:[^\0\r\n\t ](?:[^\0\r\n]*[^\0\r\n\t ])?)?$/;

/**
 * What is wrong with a field of an answer by itself; undefined: nothing.
 * @param hasRegular a field that is not a pseudo-header came before it
 * @param isRepeated it was there before
 */
export function fieldProblem(
  name: string,
  value: string,
  hasRegular: boolean,
  isRepeated: boolean,
): string | undefined {
  if (!fieldValue.test(value)) return `the value of the header ${JSON.stringify(name)} is malformed`;
  if (name.startsWith(':')) {
    if (name !== ':status') return `an answer has the header ${JSON.stringify(name)}`;
    if (hasRegular) return 'the status comes after other headers';
    if (isRepeated) return 'an answer has two statuses';
    return /^[1-9]\d\d$/.test(value) ? undefined : `the status is ${JSON.stringify(value)}`;
  }
  if (!fieldName.test(name)) return `a header has the name ${JSON.stringify(name)}`;
  if (connectionFields.has(name) || (name === 'te' && value !== 'trailers'))
    return `the header ${name} is not for HTTP/2`;
  return undefined;
}

/**
 * Takes the next headers of an answer. Returns those that are to be told of, undefined for those that only announce others,
 * and what is wrong as text.
 */
export function takeHeaders(
  state: AnswerState,
  { fields, problem }: HeaderBlock,
  isLast: boolean,
): Headers | undefined | string {
  if (problem !== undefined) return problem;
  const status = fields[':status'];
  if (state.hasBegun) {
    if (status !== undefined) return 'trailers have a status';
    return isLast ? fields : 'trailers do not end the answer';
  }
  if (status === undefined) return 'an answer has no status';
  if (!status.startsWith('1')) {
    state.hasBegun = true;
    const length = fields['content-length'];
    if (length === undefined) return fields;
    state.remaining = Number(length);
    return /^\d{1,15}$/.test(length) ? fields : 'the length of an answer is not a number';
  }
  if (isLast) return 'an answer ends before it has begun';
  return status === '101' ? 'HTTP/2 has no status 101' : undefined;
}
