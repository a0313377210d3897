/** Exposition: metrics in the text format of Prometheus (version 0.0.4). */

export const expositionType = 'text/plain; version=0.0.4; charset=utf-8';

export type MetricLabels = Readonly<Record<string, string>>;

/** Labels as text, built once for metrics that are written often: `verb="GET",code="200"`. */
export const labelText = (labels: MetricLabels): string =>
  Object.entries(labels)
    .map(([name, value]) => `${name}="${escapeValue(value)}"`)
    .join(',');

/** Escapes quotes and line ends: values may come from clients, and must not add labels or samples. */
const escapeValue = (value: string): string =>
  value.replaceAll('\\', '\\\\').replaceAll('\n', '\\n').replaceAll('"', '\\"');

const escapeHelp = (text: string): string => text.replaceAll('\\', '\\\\').replaceAll('\n', '\\n');

function formatNumber(value: number): string {
  if (Number.isNaN(value)) return 'NaN';
  if (!Number.isFinite(value)) return value > 0 ? '+Inf' : '-Inf';
  return String(value);
}

export class Exposition {
  #text = '';
  #name = '';

  /** Starts a family; the samples that follow belong to it. */
  family(name: string, type: 'counter' | 'gauge' | 'histogram', help: string): this {
    this.#name = name;
    this.#text += `# HELP ${name} ${escapeHelp(help)}\n# TYPE ${name} ${type}\n`;
    return this;
  }

  /** `labels` is a result of `labelText`. */
  sample(value: number, labels = '', suffix = ''): this {
    this.#text += `${this.#name}${suffix}${labels && `{${labels}}`} ${formatNumber(value)}\n`;
    return this;
  }

  /** A family of one sample. */
  single(name: string, type: 'counter' | 'gauge', help: string, value: number): this {
    return this.family(name, type, help).sample(value);
  }

  toString(): string {
    return this.#text;
  }
}

/** A histogram with fixed buckets. */
export class Histogram {
  readonly #counts: number[];
  #sum = 0;
  #count = 0;

  /** @param bounds upper ends of the buckets, ascending */
  constructor(private readonly bounds: readonly number[]) {
    this.#counts = new Array<number>(bounds.length + 1).fill(0);
  }

  observe(value: number): void {
    // Linear search: most values are small, and end in the first bucket.
    let i = 0;
    while (i < this.bounds.length && value > this.bounds[i]!) i++;
    this.#counts[i]!++;
    this.#sum += value;
    this.#count++;
  }

  writeTo(out: Exposition, labels: string): void {
    const before = labels && `${labels},`;
    let sum = 0;
    for (const [i, bound] of this.bounds.entries()) {
      sum += this.#counts[i]!;
      out.sample(sum, `${before}le="${bound}"`, '_bucket');
    }
    out.sample(this.#count, `${before}le="+Inf"`, '_bucket');
    out.sample(this.#sum, labels, '_sum');
    out.sample(this.#count, labels, '_count');
  }
}
