/** The options for limits, made from the table of limits: names, help, and parsing. */
import { type LimitForm, type LimitOption, type Limits, limitForms, limitNames } from '../cluster/index.ts';

const kibibyte = 1024;
const byteUnits: Readonly<Record<string, number>> = {
  '': 1,
  Ki: kibibyte,
  Mi: kibibyte ** 2,
  Gi: kibibyte ** 3,
};
const msUnits: Readonly<Record<string, number>> = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000 };
const valueNames = { count: 'N', bytes: 'BYTES', ms: 'TIME' } as const;

/** The column where an option's description begins. */
const indent = ' '.repeat(24);

const limitArg = { type: 'string', for: ['up', 'serve'] } as const;

/** For `parseArgs`. */
export const limitArgs = Object.fromEntries(
  limitNames.map((name) => [limitForms[name].option, limitArg]),
) as unknown as Record<LimitOption, typeof limitArg>;

export const limitHelp = limitNames
  .map((name) => {
    const form = limitForms[name];
    return `  --${form.option} ${valueNames[form.unit]}\n${indent}${form.says} (default ${formatValue(form)})\n`;
  })
  .join('');

function formatValue({ unit, default: value }: LimitForm): string {
  if (unit === 'ms') return `${value / 1000}s`;
  if (unit === 'count') return String(value);
  const [name, size] = Object.entries(byteUnits).findLast(([, size]) => value % size === 0)!;
  return `${value / size}${name}`;
}

/** @param refuse throws */
export function readLimits(
  values: Partial<Record<LimitOption, string>>,
  refuse: (message: string) => never,
): Partial<Limits> {
  const limits: Partial<Record<keyof Limits, number>> = {};
  for (const name of limitNames) {
    const { option, unit } = limitForms[name];
    const text = values[option as LimitOption];
    if (text === undefined) continue;
    limits[name] =
      readers[unit](text) ?? refuse(`--${option} must be ${expectations[unit]}, not ${JSON.stringify(text)}`);
  }
  return limits;
}

const expectations = {
  count: 'a number',
  bytes: 'a number of bytes such as 4096, 64Ki or 3Mi',
  ms: 'a time such as 500ms, 60s or 1m30s',
} as const;

/** Undefined: not a valid value. Whether it is in range is checked by the limits. */
const readers: Record<LimitForm['unit'], (text: string) => number | undefined> = {
  count: (text) => (/^\d{1,15}$/.test(text) ? Number(text) : undefined),
  bytes: (text) => {
    const match = /^(\d{1,15})(Ki|Mi|Gi|)$/.exec(text);
    return match ? Number(match[1]) * byteUnits[match[2]!]! : undefined;
  },
  ms: (text) => {
    if (!/^(?:\d{1,9}(?:ms|s|m|h)){1,4}$/.test(text)) return undefined;
    const parts = [...text.matchAll(/(\d+)(ms|s|m|h)/g)];
    return parts.reduce((sum, [, number, unit]) => sum + Number(number) * msUnits[unit!]!, 0);
  },
};
