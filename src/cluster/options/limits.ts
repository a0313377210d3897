/** The limits of a server as options, made from their table. */
import { type LimitForm, type Limits, limitForms, limitNames } from '../../server/http/limits.ts';
import { group, type Option, optionFor, type Value } from './option.ts';
import { parsed, timeMs } from './values.ts';

const option = optionFor('up', 'serve');
const kibibyte = 1024;
const byteUnits: Readonly<Record<string, number>> = {
  '': 1,
  Ki: kibibyte,
  Mi: kibibyte ** 2,
  Gi: kibibyte ** 3,
};

/** Whether a value is in range is checked by the limits. */
const values: Readonly<Record<LimitForm['unit'], Value<number>>> = {
  count: parsed('N', 'a number', (given) => (/^\d{1,15}$/.test(given) ? Number(given) : undefined)),
  bytes: parsed('BYTES', 'a number of bytes such as 4096, 64Ki or 3Mi', (given) => {
    const [, number, unit] = /^(\d{1,15})(Ki|Mi|Gi|)$/.exec(given) ?? [];
    return number === undefined ? undefined : Number(number) * byteUnits[unit!]!;
  }),
  ms: parsed('TIME', 'a time such as 500ms, 60s or 1m30s', timeMs),
};

/** Those of kube-apiserver that mean the same there. */
const passedOn: ReadonlySet<string> = new Set(['max-requests-inflight', 'max-mutating-requests-inflight']);

const limitOption = (form: LimitForm): Option<number> =>
  option({
    flag: form.option,
    value: values[form.unit],
    text: `\n${form.says}`,
    default: textOf(form),
    ...(passedOn.has(form.option) ? { isPassedOn: true } : {}),
  });

function textOf({ unit, default: value }: LimitForm): string {
  if (unit === 'ms') return `${value / 1000}s`;
  if (unit === 'count') return String(value);
  const [name, size] = Object.entries(byteUnits).findLast(([, size]) => value % size === 0)!;
  return `${value / size}${name}`;
}

export const limitOptions = {
  /** Limits of requests, watches and connections, and sizes from which on a warning is given. */
  limits: group<Partial<Limits>>(
    Object.fromEntries(limitNames.map((name) => [name, limitOption(limitForms[name])])) as {
      [name in keyof Limits]: Option<number>;
    },
    { isGiven: () => true, isCheckedByReader: true },
  ),
};
