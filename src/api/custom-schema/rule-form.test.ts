/** Proves how errors of rules and of the schema around them are reported together. */
import { expect, test } from 'vitest';
import type { Schema, ValidationRule } from '../model/json-schema.ts';
import { checkSchema } from './schema-check.ts';

const texts = (schema: Schema, statusEnabled = false): string[] =>
  checkSchema(schema, 'S', { statusEnabled }).map(({ field, message }) => `${field}: ${message}`);

const ruled = (rule: Partial<ValidationRule>, schema: Schema = { type: 'string' }): Schema => ({
  ...schema,
  'x-kubernetes-validations': [{ rule: 'true', ...rule }],
});
const object = (properties: Record<string, Schema>): Schema => ({ type: 'object', properties });
const uncompiled = expect.stringMatching(
  /^S\.properties\[b\]\.x-kubernetes-validations\[0\]\.rule: .*undefined field 'y'/s,
);
const wrongList: Schema = { type: 'array', 'x-kubernetes-list-type': 'map', items: { type: 'object' } };
const wrongListText =
  'S.properties[a].x-kubernetes-list-map-keys: Required value: must not be empty if x-kubernetes-list-type is map';
const wrongRule = ruled({ rule: 'self.y == 1' }, object({ x: { type: 'string' } }));

test('rules beside a wrong keyword are compiled, and those around it are not', () => {
  expect(texts(object({ a: wrongList, b: wrongRule }))).toEqual([wrongListText, uncompiled]);
  expect(texts(ruled({ rule: 'self.y == 1' }, object({ a: wrongList })))).toEqual([wrongListText]);
});

test('wrong structure and wrong defaults leave the form of rules to be told', () => {
  const reason =
    'S.properties[b].x-kubernetes-validations[0].reason: Unsupported value: "Odd": supported values: "FieldValueDuplicate", "FieldValueForbidden", "FieldValueInvalid", "FieldValueRequired"';
  const odd = ruled({ rule: 'self.nope', reason: 'Odd' });
  expect(texts(object({ a: {}, b: odd }))).toEqual([
    'S.properties[a].type: Required value: must not be empty for specified object fields',
    reason,
  ]);
  expect(texts(object({ a: { type: 'string', default: 1 }, b: odd }))).toEqual([
    'S.properties[a].default: Invalid value: "integer":  in body must be of type string: "integer"',
    reason,
  ]);
});

test('errors at the root do not keep rules from being compiled', () => {
  expect(texts({ ...object({ b: wrongRule }), nullable: true })).toEqual([
    'S.nullable: Forbidden: nullable cannot be true at the root',
    uncompiled,
  ]);
});

test('a field path can be wrong in two ways', () => {
  expect(texts(object({ b: ruled({ fieldPath: ' ' }), c: ruled({ fieldPath: '.\n' }) }))).toEqual([
    'S.properties[b].x-kubernetes-validations[0].fieldPath: Invalid value: " ": must be non-empty if specified',
    'S.properties[b].x-kubernetes-validations[0].fieldPath: Invalid value: " ": must be a valid path',
    'S.properties[c].x-kubernetes-validations[0].fieldPath: Invalid value: ".\\n": must not contain line breaks',
    'S.properties[c].x-kubernetes-validations[0].fieldPath: Invalid value: ".\\n": must be a valid path',
  ]);
});

test.each<[path: string, schema: Schema, isValid: boolean]>([
  ['.a-b', object({ 'a-b': { type: 'string' } }), true],
  ['.1 b', object({ '1 b': { type: 'string' } }), true],
  ["['a.b']", object({ 'a.b': { type: 'string' } }), true],
  ["['it\\'s']", object({ "it's": { type: 'string' } }), true],
  ["['\\q']", object({ q: { type: 'string' } }), false],
  ["['a'", object({ a: { type: 'string' } }), false],
  ["['a']x", object({ a: { type: 'string' } }), false],
  ['[a]', object({ a: { type: 'string' } }), false],
  ['.m.x', object({ m: { type: 'object', additionalProperties: { type: 'string' } } }), true],
  [".m['x']", object({ m: { type: 'object', additionalProperties: { type: 'string' } } }), true],
  ['.l[0]', object({ l: { type: 'array', items: { type: 'string' } } }), false],
  ['.a.', object({ a: { type: 'object', properties: { b: { type: 'string' } } } }), false],
])('the field path %s', (fieldPath, schema, isValid) => {
  expect(texts(object({ b: ruled({ fieldPath }, schema) }))).toHaveLength(isValid ? 0 : 1);
});

test('a wrong rule hides its message, and that it names no old value', () => {
  const both = ruled({ rule: 'self.nope', messageExpression: '1', optionalOldSelf: false });
  expect(texts(object({ b: both }))).toEqual([
    expect.stringMatching(/rule: Invalid value: .*type 'string' does not support field selection/s),
    'S.properties[b].x-kubernetes-validations[0].optionalOldSelf: Invalid value: false: may not be set if oldSelf is not used in rule',
  ]);
});

test('what may be anything is no bool and no string', () => {
  const any: Schema = { 'x-kubernetes-int-or-string': true };
  expect(texts(object({ b: ruled({ rule: 'self' }, any) }))).toEqual([
    expect.stringMatching(/cel expression must evaluate to a bool$/),
  ]);
  expect(texts(object({ b: ruled({ messageExpression: 'self' }, any) }))).toEqual([
    expect.stringMatching(/messageExpression must evaluate to a string$/),
  ]);
});

test('keywords that are there and empty are not supported either', () => {
  const schema = { type: 'object', additionalItems: {}, dependencies: {}, $ref: '', id: '', definitions: {} };
  expect(texts(object({ a: schema }))).toEqual([
    'S.properties[a].additionalItems: Forbidden: additionalItems is not supported',
    'S.properties[a].dependencies: Forbidden: dependencies is not supported',
    'S.properties[a].$ref: Forbidden: $ref is not supported',
  ]);
});
