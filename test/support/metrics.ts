/** A parser of Prometheus' text format, as strict as a scraper. */

export interface Sample {
  readonly name: string;
  readonly labels: Record<string, string>;
  readonly value: number;
}

export class Metrics {
  constructor(
    readonly all: readonly Sample[],
    /** By metric family. */
    readonly types: ReadonlyMap<string, string>,
  ) {}

  /** The samples of a name with at least these labels. */
  find(name: string, labels: Record<string, string> = {}): readonly Sample[] {
    const wanted = Object.entries(labels);
    return this.all.filter(
      (sample) => sample.name === name && wanted.every(([label, value]) => sample.labels[label] === value),
    );
  }

  /** The sum of these samples; 0 when there are none. */
  value(name: string, labels: Record<string, string> = {}): number {
    return this.find(name, labels).reduce((sum, { value }) => sum + value, 0);
  }
}

const sampleLine = /^([a-zA-Z_:][a-zA-Z0-9_:]*)(?:\{(.*)\})? (\S+)$/;
const label = /([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\]|\\["\\n])*)"(?:,|$)/y;

export function parseMetrics(text: string): Metrics {
  if (!text.endsWith('\n')) throw new Error('the last line does not end');
  const samples: Sample[] = [];
  const types = new Map<string, string>();
  const seen = new Set<string>();
  for (const line of text.slice(0, -1).split('\n')) {
    if (line.startsWith('# HELP ')) continue;
    const type = /^# TYPE (\S+) (counter|gauge|histogram)$/.exec(line);
    if (type) {
      if (types.has(type[1]!)) throw new Error(`${type[1]} has two types`);
      types.set(type[1]!, type[2]!);
      continue;
    }
    const sample = parseSample(line);
    const family = sample.name.replace(/_(bucket|sum|count)$/, (suffix) =>
      types.get(sample.name.slice(0, -suffix.length)) === 'histogram' ? '' : suffix,
    );
    if (!types.has(family)) throw new Error(`${line}: no type`);
    const id = JSON.stringify([sample.name, Object.entries(sample.labels).sort()]);
    if (seen.has(id)) throw new Error(`${line}: twice`);
    seen.add(id);
    samples.push(sample);
  }
  return new Metrics(samples, types);
}

function parseSample(line: string): Sample {
  const match = sampleLine.exec(line);
  if (!match) throw new Error(`not a sample: ${line}`);
  const labels: Record<string, string> = {};
  const text = match[2] ?? '';
  label.lastIndex = 0;
  while (label.lastIndex < text.length) {
    const part = label.exec(text);
    if (!part) throw new Error(`not labels: ${text}`);
    labels[part[1]!] = part[2]!.replace(/\\(.)/g, (_, char: string) => (char === 'n' ? '\n' : char));
  }
  const value = Number(match[3]!.replace(/^([+-])Inf$/, '$1Infinity'));
  if (Number.isNaN(value) && match[3] !== 'NaN') throw new Error(`not a number: ${line}`);
  return { name: match[1]!, labels, value };
}
