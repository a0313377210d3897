/** Query parameters, parsed as Kubernetes does. */
import { badRequest } from '../../api/errors.ts';

/** A query with more parameters is refused. */
const parametersMax = 1000;

export class Query {
  readonly #values: Map<string, string[]>;

  constructor(text: string) {
    this.#values = new Map();
    if (!text) return;
    let count = 0;
    for (const [name, value] of new URLSearchParams(text)) {
      if (++count > parametersMax)
        throw badRequest(`a request may have at most ${parametersMax} query parameters`);
      const values = this.#values.get(name);
      if (values) values.push(value);
      else this.#values.set(name, [value]);
    }
  }

  /** The first value; undefined when there is none. */
  get(name: string): string | undefined {
    return this.#values.get(name)?.[0];
  }

  all(name: string): readonly string[] {
    return this.#values.get(name) ?? [];
  }

  has(name: string): boolean {
    return this.#values.has(name);
  }

  /** Absent, `false` and `0` are false; everything else is true, also an empty value. */
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
    const number = Number(value);
    if (!Number.isSafeInteger(number))
      throw badRequest(`strconv.ParseInt: parsing ${JSON.stringify(value)}: value out of range`);
    return number;
  }
}

const unitsMs: Record<string, number> = {
  ns: 1e-6,
  us: 1e-3,
  µs: 1e-3,
  ms: 1,
  s: 1000,
  m: 60_000,
  h: 3_600_000,
};

/** A Go duration such as `1m30s`, in milliseconds; undefined when it is not one. */
export function parseDurationMs(text: string): number | undefined {
  if (text === '0') return 0;
  let total = 0;
  let rest = text.replace(/^[+-]/, '');
  if (!rest || rest.length > 64) return undefined;
  while (rest) {
    const part = /^(\d+\.?\d*|\.\d+)(ns|us|µs|ms|s|m|h)/.exec(rest);
    if (!part) return undefined;
    total += Number(part[1]) * unitsMs[part[2]!]!;
    rest = rest.slice(part[0].length);
  }
  return text.startsWith('-') ? -total : total;
}
