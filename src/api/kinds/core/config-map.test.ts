/** Proves the rules of config maps: keys, size, immutability, and their table row. */
import { expect, test } from 'vitest';
import { cells, createdAge, createErrors, error, texts, updateErrors } from '../kind.fixture.ts';
import { configMap } from './config-map.ts';

const bytesMax = 1_048_576;
const base64 = (bytes: number) => Buffer.alloc(bytes).toString('base64');
const immutableText = 'Forbidden: field is immutable when `immutable` is set';

test('what is fine', () => {
  expect(createErrors(configMap, {})).toEqual([]);
  expect(createErrors(configMap, { data: { 'a.b_c-D': '' }, binaryData: { b: 'eA==' } })).toEqual([]);
});

test.each([
  ['data', { data: { 'a/b': 'x' } }],
  ['binaryData', { binaryData: { 'a/b': 'eA==' } }],
])('bad key in %s', (path, body) => {
  expect(createErrors(configMap, body)).toEqual([
    error('I', `${path}[a/b]`, `Invalid value: "a/b": ${texts.configKey}`),
  ]);
});

test.each([
  ['.', "must not be '.'"],
  ['..', "must not be '..'"],
  ['..a', "must not start with '..'"],
])('key %s', (name, problem) => {
  expect(createErrors(configMap, { data: { [name]: 'x' } })).toEqual([
    error('I', `data[${name}]`, `Invalid value: "${name}": ${problem}`),
  ]);
});

test('a key in both maps', () => {
  expect(createErrors(configMap, { data: { a: 'b', c: 'd' }, binaryData: { a: 'eA==' } })).toEqual([
    error('I', 'data[a]', 'Invalid value: "a": duplicate of key present in binaryData'),
  ]);
});

test('values of both maps count, in bytes', () => {
  const half = bytesMax / 2;
  expect(
    createErrors(configMap, { data: { a: 'é'.repeat(half / 2) }, binaryData: { b: base64(half) } }),
  ).toEqual([]);
  expect(
    createErrors(configMap, { data: { a: 'x'.repeat(half) }, binaryData: { b: base64(half + 1) } }),
  ).toEqual([error('TL', '[]', 'Too long: may not be more than 1048576 bytes')]);
});

const fixed = { immutable: true, data: { a: 'b' }, binaryData: { c: 'eA==' } };

test.each<[string, object, string[]]>([
  ['nothing', fixed, []],
  ['labels', { ...fixed, metadata: { labels: { a: 'b' } } }, []],
  ['immutable', { ...fixed, immutable: false }, ['immutable']],
  ['immutable gone', { ...fixed, immutable: null }, ['immutable']],
  ['data', { ...fixed, data: { a: 'c' } }, ['data']],
  ['an empty key more', { ...fixed, data: { a: 'b', d: '' } }, ['data']],
  ['a key less', { ...fixed, data: null }, ['data']],
  ['binaryData', { ...fixed, binaryData: { c: 'eQ==' } }, ['binaryData']],
  ['all', { data: { z: '' } }, ['immutable', 'data', 'binaryData']],
])('change of an immutable map: %s', (_, body, fields) => {
  expect(updateErrors(configMap, body, fixed)).toEqual(
    fields.map((field) => error('F', field, immutableText)),
  );
});

test('a map that is not immutable may become so', () => {
  expect(updateErrors(configMap, { immutable: true, data: { a: 'c' } }, { data: { a: 'b' } })).toEqual([]);
});

test('cells', () => {
  expect(cells(configMap, { data: { a: '', b: 'x' }, binaryData: { c: 'eA==' } })).toEqual({
    Name: 'a',
    Data: 3,
    Age: createdAge,
  });
});
