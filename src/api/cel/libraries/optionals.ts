/** Optional values: `a.?b`, `a[?k]`, `optional.of(x)` and what can be done with them. */
import { define, type Overload } from '../values/functions.ts';
import {
  CelError,
  Duration,
  ListValue,
  MapValue,
  NoSuchOverload,
  Optional,
  type Value,
} from '../values/values.ts';

function present(optional: Optional): Value {
  if (optional.value === undefined) throw new CelError('optional.none() dereference');
  return optional.value;
}

function isZero(value: Value): boolean {
  if (value === null || value === '' || value === 0 || value === 0n || value === false) return true;
  if (value instanceof Uint8Array) return value.length === 0;
  if (value instanceof ListValue || value instanceof MapValue) return value.size === 0;
  return value instanceof Duration && value.ns === 0n;
}

/** `container[?key]`: none instead of an error when it is not there. */
function findIn(container: Value, key: Value): Optional {
  if (container instanceof MapValue) {
    const value = container.find(key);
    return value === undefined ? Optional.none : new Optional(value);
  }
  if (!(container instanceof ListValue)) throw new NoSuchOverload();
  const position = typeof key === 'bigint' ? key : -1n;
  return position >= 0n && position < BigInt(container.size)
    ? new Optional(container.at(Number(position)))
    : Optional.none;
}

/** Looks a key up in a container that may be an optional; the result is an optional, too. */
export function findInOptional(container: Value, key: Value): Optional {
  if (!(container instanceof Optional)) return findIn(container, key);
  return container.value === undefined ? Optional.none : findIn(container.value, key);
}

export const optionalLibrary = (): readonly Overload[] => [
  define('optional.of(A): optional(A)', (value: Value) => new Optional(value)),
  define('optional.none(): optional(A)', () => Optional.none),
  define('optional.ofNonZeroValue(A): optional(A)', (value: Value) =>
    isZero(value) ? Optional.none : new Optional(value),
  ),
  define('optional(A).hasValue(): bool', ({ value }: Optional) => value !== undefined),
  define('optional(A).value(): A', present),
  define('optional(A).or(optional(A)): optional(A)', (a: Optional, b: Optional) =>
    a.value === undefined ? b : a,
  ),
  define(
    'optional(A).orValue(A): A',
    ({ value }: Optional, other: Value) => value ?? (value === null ? null : other),
  ),
  define('_[?_](list(A), int): optional(A)', findInOptional),
  define('_[?_](map(A, B), A): optional(B)', findInOptional),
  define('_[?_](optional(list(A)), int): optional(A)', findInOptional),
  define('_[?_](optional(map(A, B)), A): optional(B)', findInOptional),
  define('_[_](optional(list(A)), int): optional(A)', findInOptional),
  define('_[_](optional(map(A, B)), A): optional(B)', findInOptional),
];
