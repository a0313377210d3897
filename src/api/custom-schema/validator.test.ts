/** Proves the texts, order and bounds of what the keywords of a schema report, and which errors an update may keep. */
import { describe, expect, it } from 'vitest';
import type { Schema } from '../model/json-schema.ts';
import { compileValidator } from './validator.ts';

const text = (schema: Schema, value: unknown, old?: unknown): string[] =>
  compileValidator({ properties: { x: schema } })
    .validate({ x: value }, old === undefined ? undefined : { x: old })
    .map(({ field, message }) => `${field}: ${message}`);

const whole = (message: string): string => `<nil>: Invalid value: "": ${message}`;

describe('keywords', () => {
  const table: [name: string, schema: Schema, value: unknown, errors: string[]][] = [
    [
      'a null',
      { type: 'string' },
      null,
      ['x: Invalid value: "null": x in body must be of type string: "null"'],
    ],
    ['a null that may be', { type: 'string', nullable: true, minLength: 5 }, null, []],
    [
      'a null outside of an enum',
      { type: 'string', nullable: true, enum: ['a'] },
      null,
      ['x: Unsupported value: null: supported values: "a"'],
    ],
    ['a null without a type', {}, null, []],
    [
      'a null where unknown fields are kept',
      { type: 'object', 'x-kubernetes-preserve-unknown-fields': true },
      null,
      ['x: Invalid value: "null": x in body must be of type object: "null"'],
    ],
    [
      'a null in a field that is unknown, and kept',
      { type: 'object', 'x-kubernetes-preserve-unknown-fields': true },
      { a: null, b: [null] },
      [],
    ],
    ['a whole number for a number', { type: 'number' }, 5, []],
    ['a number of 64 bits', { type: 'integer' }, 2n ** 63n - 1n, []],
    [
      'a number beyond 64 bits',
      { type: 'integer' },
      2n ** 63n,
      [
        'x: Invalid value: "number": x in body must be of type integer: "number"',
        whole('Checked value must be of type integer (default format) in x'),
      ],
    ],
    [
      'a number beyond a float',
      { type: 'number', format: 'float' },
      1e39,
      [whole('Checked value must be of type number with format float in x')],
    ],
    [
      'a number where a format is',
      { type: 'string', format: 'date' },
      5,
      ['x: Invalid value: "int64": x in body must be of type date: "int64"'],
    ],
    ['a text with a format and no type', { format: 'date' }, '2020-01-01', []],
    [
      'a bound that is cut off',
      { type: 'number', maximum: 1.5 },
      2,
      ['x: Invalid value: 2: x in body should be less than or equal to 1'],
    ],
    ['a bound that is not', { type: 'number', maximum: 1.5 }, 1.25, []],
    [
      'a fraction over its bound',
      { type: 'number', maximum: 1.5, minimum: 1.75 },
      1.6,
      [
        'x: Invalid value: 1.6: x in body should be greater than or equal to 1.75',
        'x: Invalid value: 1.6: x in body should be less than or equal to 1.5',
      ],
    ],
    [
      'a small bound',
      { type: 'number', minimum: 0.00001 },
      0.000001,
      ['x: Invalid value: 1e-06: x in body should be greater than or equal to 1e-05'],
    ],
    ['a multiple of a fraction', { type: 'number', multipleOf: 0.1 }, 0.3, []],
    [
      'no multiple of a fraction',
      { type: 'number', multipleOf: 0.1 },
      0.35,
      ['x: Invalid value: 0.35: x in body should be a multiple of 0.1'],
    ],
    ['a large multiple', { type: 'integer', multipleOf: 2 }, 2n ** 60n, []],
    [
      'an enum of numbers',
      { type: 'integer', enum: [1, 2] },
      3,
      ['x: Unsupported value: 3: supported values: "1", "2"'],
    ],
    ['an enum of objects', { type: 'object', enum: [{ a: 1, b: 2 }] }, { b: 2, a: 1 }, []],
    [
      'wrong type and enum',
      { type: 'string', enum: ['a'] },
      5,
      [
        'x: Invalid value: "integer": x in body must be of type string: "integer"',
        'x: Unsupported value: 5: supported values: "a"',
      ],
    ],
    ['code points', { type: 'string', maxLength: 2, minLength: 2 }, '😀😀', []],
    [
      'too few code points',
      { type: 'string', minLength: 2 },
      '😀',
      ['x: Invalid value: "😀": x in body should be at least 2 chars long'],
    ],
    [
      'a closed map',
      { type: 'object', additionalProperties: false },
      { k: 1 },
      ['x: Invalid value: "k": x.k in body is a forbidden property'],
    ],
    ['own keys only', { type: 'object', required: ['constructor'] }, {}, ['x.constructor: Required value']],
    [
      'required after properties',
      { type: 'object', properties: { a: { type: 'string' } }, required: ['b'] },
      { a: 1 },
      ['x.a: Invalid value: "integer": x.a in body must be of type string: "integer"', 'x.b: Required value'],
    ],
    [
      'none of all',
      { allOf: [{ minimum: 5 }, { minimum: 6 }] },
      1,
      [
        'x: Invalid value: 1: x in body should be greater than or equal to 5',
        'x: Invalid value: 1: x in body should be greater than or equal to 6',
        whole('"x" must validate all the schemas (allOf). None validated'),
      ],
    ],
    [
      'the closest alternative',
      { oneOf: [{ required: ['a'] }, { properties: { b: { minimum: 5 } }, required: ['b'] }] },
      { b: 1 },
      [
        whole('"x" must validate one and only one schema (oneOf). Found none valid'),
        'x.b: Invalid value: 1: x.b in body should be greater than or equal to 5',
      ],
    ],
    [
      'what is in an object that has too many members, and in one that has too few',
      {
        type: 'object',
        maxProperties: 1,
        properties: {
          a: { type: 'integer' },
          b: { minProperties: 2, additionalProperties: { type: 'integer' } },
        },
      },
      { a: 'x', b: { c: 'y' } },
      [
        'x: Too many: 2: must have at most 1 item',
        'x.a: Invalid value: "string": x.a in body must be of type integer: "string"',
        'x.b: Invalid value: 1: x.b in body should have at least 2 properties',
        'x.b.c: Invalid value: "string": x.b.c in body must be of type integer: "string"',
      ],
    ],
    ['one alternative of several', { anyOf: [{ minimum: 5 }, { maximum: 2 }] }, 1, []],
    ['int or string', { 'x-kubernetes-int-or-string': true, pattern: '^a' }, 5, []],
  ];
  it.each(table)('%s', (_name, schema, value, errors) => expect(text(schema, value)).toEqual(errors));
});

describe('updates', () => {
  const short: Schema = { type: 'string', maxLength: 1 };
  const pair: Schema = { type: 'object', properties: { a: short, b: short } };
  const tooLong = (field: string): string => `${field}: Too long: may not be more than 1 byte`;

  it('may keep what is wrong, and not change it to something else that is', () => {
    expect(text(pair, { a: 'xx', b: 'y' }, { a: 'xx' })).toEqual([]);
    expect(text(pair, { a: 'xy' }, { a: 'xx' })).toEqual([tooLong('x.a')]);
    expect(text(pair, { a: 'xx' }, {})).toEqual([tooLong('x.a')]);
  });

  it('match items by their keys, and compare other lists whole', () => {
    const keyed: Schema = {
      type: 'array',
      'x-kubernetes-list-type': 'map',
      'x-kubernetes-list-map-keys': ['a'],
      items: { type: 'object', properties: { a: { type: 'string' }, b: short } },
    };
    const one = { a: 'one', b: 'xx' };
    const two = { a: 'two', b: 'yy' };
    expect(text(keyed, [two, one], [one, two])).toEqual([]);
    expect(text(keyed, [one, two], [one])).toEqual([tooLong('x[1].b')]);
    const list: Schema = { type: 'array', items: short };
    expect(text(list, ['xx'], ['xx'])).toEqual([]);
    expect(text(list, ['xx', 'y'], ['xx'])).toEqual([tooLong('x[0]')]);
  });

  it('may keep alternatives that fail, and what a node lacks, when nothing below changes', () => {
    const choice: Schema = { type: 'object', oneOf: [{ required: ['a'] }], required: ['c'] };
    expect(text(choice, { b: 1 }, { b: 1 })).toEqual([]);
    expect(text(choice, { b: 2 }, { b: 1 })).toHaveLength(3);
  });
});

describe('bounds', () => {
  it('reports some of very many errors', () => {
    const list = Array.from({ length: 50_000 }, () => 'xx');
    const errors = text({ type: 'array', items: { type: 'string', maxLength: 1 } }, list);
    expect(errors.length).toBe(1000);
  });

  it('quotes a huge enum a few times only', () => {
    const allowed = Array.from({ length: 50_000 }, (_, i) => `value-${i}`);
    const list = Array.from({ length: 1000 }, () => 'xx');
    const errors = text({ type: 'array', items: { type: 'string', enum: allowed } }, list);
    expect(errors.length).toBeLessThan(5);
  });

  it('finds no alternative valid only because the list of errors is full', () => {
    const list = [...Array.from({ length: 2000 }, () => 'xx'), 5];
    const items: Schema = { anyOf: [{ maxLength: 1, maximum: 1 }] };
    const errors = compileValidator({ items }).validate(list);
    expect(errors.length).toBe(1000);
    expect(compileValidator({ items: { not: items.anyOf![0]! } }).validate(list)).toEqual([]);
  });

  it('ends when alternatives multiply the work', () => {
    const anyOf: Schema[] = Array.from({ length: 5000 }, (_, i) => ({ minimum: i + 2 }));
    const list = Array.from({ length: 5000 }, () => 1);
    const errors = text({ type: 'array', items: { type: 'integer', anyOf } }, list);
    expect(errors).toEqual([expect.stringContaining('too many steps')]);
  });
});
