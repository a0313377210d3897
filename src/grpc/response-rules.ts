/**
 * Rules of RFC 9113 for the headers of one answer: optional 1xx headers, then the answer's own, then data, then
 * trailers with the end. An answer that breaks a rule is malformed: its call fails, and the connection goes on.
 */
import { isFieldName, isForbidden } from '../http2/field-rules.ts';
import type { HeaderBlock, Headers } from './header-block.ts';

/** The progress of an answer. */
interface AnswerState {
  /** Whether its own headers have arrived; data and trailers follow. */
  hasBegun: boolean;
  /** Bytes still to come, if it has a content-length. */
  remaining: number | undefined;
}

/** Valid values: no line ends, no NUL, and no blanks at either end. */
const fieldValue = /^(?:[^\0\r\n\t ](?:[^\0\r\n]*[^\0\r\n\t ])?)?$/;

/**
 * Why a single field of an answer is invalid; undefined when it is valid.
 * @param hasRegular whether a field that is not a pseudo-header came before it
 * @param isRepeated whether it was there before
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
  if (!isFieldName(name)) return `a header has the name ${JSON.stringify(name)}`;
  if (isForbidden(name, value)) return `the header ${name} is not for HTTP/2`;
  return undefined;
}

/**
 * Processes the next headers of an answer. Returns headers to deliver, undefined for 1xx headers, or a text that says
 * what is wrong.
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
