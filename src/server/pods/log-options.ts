/** The options of a log request: parsed, validated with Kubernetes' messages, and translated for the kubelet. */
import { badRequest, invalid as invalidObject } from '../../api/errors/errors.ts';
import { type FieldError, forbidden } from '../../api/errors/field-error.ts';
import { parseTime } from '../../api/values/time.ts';
import type { Query } from '../wire/query.ts';

const int64Max = 2n ** 63n - 1n;

export interface LogOptions {
  readonly container: string | undefined;
  /** Do not verify the kubelet's certificate. */
  readonly insecure: boolean;
  /** The query for the kubelet, with the requested options only. */
  readonly kubeletQuery: string;
}

export function logOptions(query: Query, pod: string): LogOptions {
  const sinceSeconds = int64(query, 'sinceSeconds');
  const tailLines = int64(query, 'tailLines');
  const limitBytes = int64(query, 'limitBytes');
  const sinceTime = time(query, 'sinceTime');
  const errors: FieldError[] = [];
  if (tailLines !== undefined && tailLines < 0n)
    errors.push(tooSmall('tailLines', tailLines, 'must be greater than or equal to 0'));
  if (limitBytes !== undefined && limitBytes < 1n)
    errors.push(tooSmall('limitBytes', limitBytes, 'must be greater than 0'));
  if (sinceSeconds !== undefined && query.has('sinceTime'))
    errors.push(forbidden('[]', 'at most one of `sinceTime` or `sinceSeconds` may be specified'));
  else if (sinceSeconds !== undefined && sinceSeconds < 1n)
    errors.push(tooSmall('sinceSeconds', sinceSeconds, 'must be greater than 0'));
  if (query.has('stream')) errors.push(forbidden('stream', 'may not be specified'));
  if (errors.length) throw invalidObject({ kind: 'PodLogOptions', group: '' }, pod, errors);
  const kubelet = new URLSearchParams();
  for (const name of ['follow', 'previous', 'timestamps']) if (query.flag(name)) kubelet.set(name, 'true');
  for (const [name, value] of Object.entries({ sinceSeconds, sinceTime, tailLines, limitBytes }))
    if (value !== undefined) kubelet.set(name, String(value));
  return {
    container: query.get('container'),
    insecure: query.flag('insecureSkipTLSVerifyBackend'),
    kubeletQuery: kubelet.toString(),
  };
}

const tooSmall = (field: string, value: bigint, why: string): FieldError => ({
  field,
  reason: 'FieldValueInvalid',
  message: `Invalid value: ${value}: ${why}`,
});

/** An integer parameter; an empty value is an error. */
function int64(query: Query, name: string): bigint | undefined {
  const text = query.get(name);
  if (text === undefined) return undefined;
  const refuse = (why: string) =>
    badRequest(`strconv.ParseInt: parsing ${JSON.stringify(text.slice(0, 256))}: ${why}`);
  if (!/^[+-]?\d+$/.test(text)) throw refuse('invalid syntax');
  // More digits are leading zeros, or out of range.
  const value = text.length > 256 ? int64Max + 1n : BigInt(text.replace(/^\+/, ''));
  if (value > int64Max || value < -int64Max - 1n) throw refuse('value out of range');
  return value;
}

/** A time parameter. Empty and `null` are Go's zero time, which means no limit. */
function time(query: Query, name: string): string | undefined {
  const text = query.get(name);
  if (!text || text === 'null') return undefined;
  try {
    return parseTime(text);
  } catch (error) {
    throw badRequest((error as Error).message);
  }
}
