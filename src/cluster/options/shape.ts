/**
 * Shapes: how parts of `wherry.yaml` are written that no flag can say. A shape reads a value and is a piece of the JSON
 * schema that editors use, so that both say the same.
 */
import type { Path } from '../../api/text/placed-yaml.ts';
import { nearestName } from '../shared/suggestion.ts';
import { timeMs } from './values.ts';

/** Items of a list and fields of a map in a file. */
const itemsMax = 10_000;
/** Longest time between two stages of a lifecycle and the like. */
const timeMaxMs = 30 * 86_400_000;

/** A value in a file. */
export interface Found {
  readonly value: unknown;
  readonly path: Path;
  /** A scalar as it is written. */
  readonly source: string | undefined;
  /** A part of it. */
  at(part: string | number): Found;
  /** A path as it is from the current folder: relative ones begin at the folder of the file. */
  near(path: string): string;
  /** Throws an error that names the place. @param of which place of a field: that of its name */
  refuse(message: string, of?: 'key'): never;
}

export interface Shape<T> {
  /** What it is, for messages: `a list`. */
  readonly is: string;
  readonly schema: Readonly<Record<string, unknown>>;
  read(found: Found): T;
}

const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

const labelOf = (path: Path): string =>
  path.reduce<string>(
    (text, part) => (typeof part === 'number' ? `${text}[${part}]` : text ? `${text}.${part}` : part),
    '',
  );

const wrong = (found: Found, is: string): never =>
  found.refuse(`${labelOf(found.path) || 'the file'} must be ${is}`);

/** Any scalar, as it is written. @param check says what is wrong with a text */
export const texts = (
  is = 'a text',
  check: (text: string) => boolean = () => true,
  schema: object = {},
): Shape<string> => ({
  is,
  schema: { type: ['string', 'number', 'boolean'], ...schema },
  read: (found) =>
    found.source !== undefined && found.value !== null && check(found.source)
      ? found.source
      : wrong(found, is),
});

export const words = <const T extends string>(...choices: readonly T[]): Shape<T> => {
  const is = `one of ${choices.join(', ')}`;
  return {
    is,
    schema: { enum: choices },
    read: (found) => choices.find((choice) => choice === found.source) ?? wrong(found, is),
  };
};

export const truths: Shape<boolean> = {
  is: 'true or false',
  schema: { type: 'boolean' },
  read: (found) => (typeof found.value === 'boolean' ? found.value : wrong(found, 'true or false')),
};

export const counts = (min: number, max: number): Shape<number> => {
  const is = `a whole number from ${min} to ${max}`;
  return {
    is,
    schema: { type: 'integer', minimum: min, maximum: max },
    read: (found) =>
      Number.isInteger(found.value) && (found.value as number) >= min && (found.value as number) <= max
        ? (found.value as number)
        : wrong(found, is),
  };
};

/** A part of a whole, from 0 to 1. */
export const shares: Shape<number> = {
  is: 'a number from 0 to 1',
  schema: { type: 'number', minimum: 0, maximum: 1 },
  read: (found) =>
    typeof found.value === 'number' && found.value >= 0 && found.value <= 1
      ? found.value
      : wrong(found, 'a number from 0 to 1'),
};

/** Milliseconds, written as `500ms`, `5s` or `1h30m`. */
export const times: Shape<number> = {
  is: 'a time such as 500ms, 5s or 1h30m, at most 720h',
  schema: { type: ['string', 'integer'], pattern: '^(\\d{1,9}(ms|s|m|h)){1,4}$|^0$' },
  read: (found) => {
    const ms = found.source === '0' ? 0 : timeMs(found.source ?? '');
    return ms !== undefined && ms <= timeMaxMs ? ms : wrong(found, times.is);
  },
};

export const listOf = <T>(item: Shape<T>): Shape<readonly T[]> => ({
  is: 'a list',
  schema: { type: 'array', items: item.schema, maxItems: itemsMax },
  read: (found) => {
    const { value } = found;
    if (!Array.isArray(value) || value.length > itemsMax)
      return wrong(found, `a list of at most ${itemsMax} items`);
    return value.map((_, i) => item.read(found.at(i)));
  },
});

export const mapOf = <T>(item: Shape<T>): Shape<Readonly<Record<string, T>>> => ({
  is: 'a map',
  schema: { type: 'object', additionalProperties: item.schema, maxProperties: itemsMax },
  read: (found) => {
    const { value } = found;
    if (!isObject(value) || Object.keys(value).length > itemsMax)
      return wrong(found, `a map of at most ${itemsMax} keys`);
    return Object.fromEntries(Object.keys(value).map((name) => [name, item.read(found.at(name))]));
  },
});

/** Anything, which its reader checks. */
export const anyValue = (is: string): Shape<unknown> => ({ is, schema: {}, read: ({ value }) => value });

/** An object whose fields are not known here. */
export const anyObject: Shape<Readonly<Record<string, unknown>>> = {
  is: 'an object',
  schema: { type: 'object' },
  read: (found) => (isObject(found.value) ? found.value : wrong(found, 'an object')),
};

export interface Field<T> {
  readonly shape: Shape<T>;
  readonly says: string;
}

type Fields = Readonly<Record<string, Field<unknown>>>;
type FieldsOf<Declared> = {
  readonly [name in keyof Declared]?: Declared[name] extends Field<infer T> ? T : never;
};

export const field = <T>(shape: Shape<T>, says: string): Field<T> => ({ shape, says });

/** An object with these fields, all of which may be absent. @param check what is wrong with them together */
export const objectOf = <const Declared>(
  declared: Declared,
  check: (read: FieldsOf<Declared>) => string | undefined = () => undefined,
): Shape<FieldsOf<Declared>> => {
  const fields = declared as unknown as Fields;
  const properties = Object.fromEntries(
    Object.entries(fields).map(([name, { shape, says }]) => [name, { ...shape.schema, description: says }]),
  );
  return {
    is: 'an object',
    schema: { type: 'object', properties, additionalProperties: false },
    read: (found) => {
      const { value } = found;
      if (!isObject(value)) return wrong(found, `an object with ${Object.keys(fields).join(', ')}`);
      const read: Record<string, unknown> = {};
      for (const name of Object.keys(value)) {
        if (!Object.hasOwn(fields, name))
          found.at(name).refuse(unknownField(name, found.path, fields), 'key');
        if (value[name] !== null && value[name] !== undefined)
          read[name] = fields[name]!.shape.read(found.at(name));
      }
      const problem = check(read as FieldsOf<Declared>);
      return problem === undefined
        ? (read as FieldsOf<Declared>)
        : found.refuse(`${labelOf(found.path)} ${problem}`);
    },
  };
};

function unknownField(name: string, path: Path, fields: Fields): string {
  const meant = nearestName(name, Object.keys(fields));
  const advice =
    meant === undefined
      ? `there are ${Object.keys(fields).join(', ')}`
      : `did you mean ${JSON.stringify(meant)}?`;
  return `${labelOf(path)} has no field ${JSON.stringify(name)}; ${advice}`;
}

/** A value that a program hands in, which no file has. @param refuse throws */
export const handedValue = (value: unknown, path: Path, refuse: (message: string) => never): Found => ({
  value,
  path,
  source: value === null || typeof value === 'object' ? undefined : String(value),
  near: (place) => place,
  at: (part) => handedValue((value as Record<string | number, unknown>)[part], [...path, part], refuse),
  refuse,
});
