/** The forms of values that flags have: texts, files, choices, numbers, times, lists and truths. */
import { isIP } from 'node:net';
import type { Refuse, Value } from './option.ts';

const portMax = 65_535;

/** A text that `read` understands; where it does not, the flag must be as `expected` says. */
export const parsed = <T>(
  shown: string,
  expected: string,
  read: (text: string) => T | undefined,
): Value<T> => ({
  shown,
  form: 'text',
  read: ([text = ''], flag, refuse) => read(text) ?? refuse(wrong(flag, expected, text)),
});

const wrong = (flag: string, expected: string, text: string): string =>
  `${flag} must be ${expected}, not ${JSON.stringify(text)}`;

/** Any text. */
export const text = (shown: string): Value<string> => parsed(shown, 'a text', (given) => given);

/** A text that is not empty. @param demand what the flag must do: `name a file` */
export const filled = (shown: string, demand: string): Value<string> => ({
  shown,
  form: 'text',
  read: ([given = ''], flag, refuse) => given || refuse(`${flag} must ${demand}`),
});

/** An address to listen on. */
export const address: Value<string> = parsed('HOST', 'an IP address', (given) =>
  given === 'localhost' ? '127.0.0.1' : isIP(given) ? given : undefined,
);

export const file: Value<string> = filled('FILE', 'name a file');
export const folder: Value<string> = filled('FOLDER', 'name a folder');

/** One of some words, in a program as on the command line. */
export const oneOf = <const T extends string>(shown: string, ...choices: readonly T[]): Value<T> => ({
  ...parsed(shown, `one of ${choices.join(', ')}`, (given) => choices.find((choice) => choice === given)),
  completes: choices,
  problem: (name, value) =>
    choices.includes(value as T)
      ? undefined
      : `${name} must be ${quoted(choices)}, not ${JSON.stringify(value)}`,
});

/** One of some words, with a sentence of its own for programs that hand in another. */
export const oneOfSaying = <const T extends string>(
  shown: string,
  choices: readonly T[],
  sentence: (value: string) => string,
): Value<T> => ({
  ...oneOf(shown, ...choices),
  problem: (_name, value) => (choices.includes(value as T) ? undefined : sentence(JSON.stringify(value))),
});

/** `"a", "b" or "c"`. */
const quoted = (choices: readonly string[]): string => {
  const words = choices.map((choice) => JSON.stringify(choice));
  return words.length < 2 ? words.join() : `${words.slice(0, -1).join(', ')} or ${words.at(-1)}`;
};

/** One of some words, each of which stands for another value. */
export const wordFor = <T>(shown: string, meanings: Readonly<Record<string, T>>): Value<T> => ({
  shown,
  form: 'text',
  completes: Object.keys(meanings),
  read: ([given = ''], flag, refuse) =>
    Object.hasOwn(meanings, given)
      ? meanings[given]!
      : refuse(wrong(flag, `one of ${Object.keys(meanings).join(', ')}`, given)),
});

/** @param min of which a smaller number is refused with a sentence of its own */
export const count = (shown: string, max: number, min = 0): Value<number> => ({
  shown,
  form: 'text',
  read: ([given = ''], flag, refuse) => {
    const number = wholeNumber(given, max) ?? refuse(wrong(flag, `a number from 0 to ${max}`, given));
    return number < min ? refuse(`${flag} must be at least ${min}`) : number;
  },
});

/** A number from 0 on that may have a fraction. */
export const decimal = (shown: string, max: number): Value<number> =>
  parsed(shown, `a number from 0 to ${max}, such as 0.5`, (given) =>
    /^\d{1,9}(\.\d{1,9})?$/.test(given) && Number(given) <= max ? Number(given) : undefined,
  );

export const wholeNumber = (given: string, max: number): number | undefined =>
  /^\d{1,9}$/.test(given) && Number(given) <= max ? Number(given) : undefined;

export const port: Value<number> = parsed('PORT', `a number from 0 to ${portMax}`, (given) => portOf(given));

export const portOf = (given: string): number | undefined =>
  given.length <= 5 ? wholeNumber(given, portMax) : undefined;

export const on: Value<boolean> = { shown: '', form: 'switch', read: () => true };
export const off: Value<boolean> = { shown: '', form: 'switch', read: () => false };

export const truth: Value<boolean> = {
  shown: 'BOOL',
  form: 'truth',
  completes: ['true', 'false'],
  read: ([given = ''], flag, refuse) =>
    given === 'true' || (given !== 'false' && refuse(wrong(flag, 'true or false', given))),
};

/** Items with commas between, of which the empty ones do not count. */
export const items = (given: string): string[] => given.split(',').filter(Boolean);

export const list: Value<readonly string[]> = {
  shown: 'LIST',
  form: 'list',
  read: (given) => given.flatMap(items),
};

/** A value for each time that the flag is given. */
export const repeated = <T>(
  shown: string,
  read: (text: string, flag: string, refuse: Refuse) => T,
): Value<readonly T[]> => ({
  shown,
  form: 'repeated',
  read: (given, flag, refuse) => given.map((one) => read(one, flag, refuse)),
});

const unitsMs: Readonly<Record<string, number>> = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000 };

/** Milliseconds of a time such as `1h30m`. */
export function timeMs(given: string): number | undefined {
  if (!/^(?:\d{1,9}(?:ms|s|m|h)){1,4}$/.test(given)) return undefined;
  const parts = [...given.matchAll(/(\d+)(ms|s|m|h)/g)];
  return parts.reduce((sum, [, number, unit]) => sum + Number(number) * unitsMs[unit!]!, 0);
}

export const time: Value<number> = parsed('TIME', 'a time such as 30s, 2m or 24h', timeMs);

const lifeUnitsMs: Readonly<Record<string, number>> = { m: 60_000, h: 3_600_000, d: 86_400_000 };

/** Milliseconds of a time such as `90m`, `12h` or `30d`, of more than nothing. */
export function lifeMs(given: string): number | undefined {
  const [, number, unit] = /^(\d{1,6})([mhd])$/.exec(given) ?? [];
  return Number(number) * (lifeUnitsMs[unit ?? ''] ?? Number.NaN) || undefined;
}

/** Versions of the reviews that webhooks are sent. */
export const reviewVersion: Value<'v1' | 'v1beta1'> = parsed('VERSION', 'v1 or v1beta1', (given) =>
  given === 'v1' || given === 'v1beta1' ? given : undefined,
);
