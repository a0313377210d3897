/** Query parameters, parsed as Kubernetes does. */
import { badRequest } from '../../api/errors/errors.ts';
import { exactNumber, isInt64 } from '../../api/text/exact-json.ts';

/** A query with more parameters is refused. */
const parametersMax = 1000;

export class Query {
  readonly #values: Map<string, string[]>;

  constructor(text: string) {
    this.#values = new Map();
    if (!text) return;
    if (hasTooMany(text)) throw badRequest(`a request may have at most ${parametersMax} query parameters`);
    for (const [name, value] of new URLSearchParams(text)) {
      const values = this.#values.get(name);
      if (values) values.push(value);
      else this.#values.set(name, [value]);
    }
  }

  /** The first value, or undefined. */
  get(name: string): string | undefined {
    return this.#values.get(name)?.[0];
  }

  all(name: string): readonly string[] {
    return this.#values.get(name) ?? [];
  }

  has(name: string): boolean {
    return this.#values.has(name);
  }

  /** A boolean parameter: absent, `false` and `0` are false; everything else is true, also an empty value. */
  flag(name: string): boolean {
    return this.optionalFlag(name) ?? false;
  }

  optionalFlag(name: string): boolean | undefined {
    const value = this.get(name);
    if (value === undefined) return undefined;
    return value !== '0' && value.toLowerCase() !== 'false';
  }

  integer(name: string): number | undefined {
    const value = this.get(name);
    if (value === undefined || value === '') return undefined;
    if (!/^[+-]?\d+$/.test(value))
      throw badRequest(`strconv.ParseInt: parsing ${JSON.stringify(value)}: invalid syntax`);
    const number = exactNumber(value);
    if (typeof number === 'bigint' ? !isInt64(number) : !Number.isSafeInteger(number))
      throw badRequest(`strconv.ParseInt: parsing ${JSON.stringify(value)}: value out of range`);
    // Counts and seconds beyond 2^53 need not be exact.
    return Number(number);
  }
}

/** Counts without parsing: URLSearchParams would make half a million values of a query of a mebibyte. */
function hasTooMany(text: string): boolean {
  let count = 0;
  for (let start = 0; start < text.length; ) {
    const found = text.indexOf('&', start);
    const end = found < 0 ? text.length : found;
    if (end > start && ++count > parametersMax) return true;
    start = end + 1;
  }
  return false;
}
