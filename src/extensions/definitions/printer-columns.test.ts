/** Proves what the cells of custom objects show of every type of value. */
import { expect, test } from 'vitest';
import type { ApiObject } from '../../api/text/object.ts';
import { type Cell, shownCell } from '../../api/values/elapsed.ts';
import { printerColumns } from './printer-columns.ts';

const types = ['string', 'integer', 'number', 'boolean', 'date'];
const nowMs = Date.parse('2020-01-01T01:00:00Z');

function cellsOf(jsonPath: string, spec: unknown): Cell[] {
  const { cells } = printerColumns({
    additionalPrinterColumns: types.map((type) => ({ name: type, type, jsonPath })),
  });
  const object = { metadata: { name: 'a' }, spec } as unknown as ApiObject;
  return cells!(object)
    .slice(1)
    .map((cell) => shownCell(cell, nowMs));
}

test.each<[value: unknown, cells: Cell[]]>([
  ['text', ['text', null, null, null, '<invalid>']],
  ['', ['', null, null, null, '<unknown>']],
  ['null', ['null', null, null, null, '<unknown>']],
  [null, ['<no value>', null, null, null, null]],
  [5, ['5', 5, 5, null, null]],
  [-5.7, ['-5.7', -5, -5.7, null, null]],
  [1234567.5, ['1.2345675e+06', 1234567, 1234567.5, null, null]],
  [true, ['true', null, null, true, null]],
  [{ b: 1, a: '<x>' }, ['{"a":"\\u003cx\\u003e","b":1}', null, null, null, null]],
  [
    [1, 'a', null],
    ['[1,"a",null]', null, null, null, null],
  ],
  ['2020-01-01T00:00:00Z', ['2020-01-01T00:00:00Z', null, null, null, '60m']],
  ['2020-01-01T00:00:00+01:00', ['2020-01-01T00:00:00+01:00', null, null, null, '120m']],
  ['2020-01-01', ['2020-01-01', null, null, null, '<invalid>']],
  ['2099-01-01T00:00:00Z', ['2099-01-01T00:00:00Z', null, null, null, '<invalid>']],
])('%j', (value, cells) => {
  expect(cellsOf('.spec.v', { v: value })).toEqual(cells);
});

test.each<[path: string, first: Cell]>([
  ['.spec.l[0]', 'a'],
  ['.spec.l[-1]', 'c'],
  ['.spec.l[9]', null],
  ['.spec.l[]', 'a'],
  ['.spec.c[].status', 'False'],
  ['.spec.l[1:]', 'b'],
  ['.spec.l[*]', 'a'],
  ['.spec.c[?(@.type=="Ready")].status', 'True'],
  ['.spec.c[?(@.type=="None")].status', null],
  ['.spec.missing.more', null],
  ['.spec.l.x', null],
  ['.spec.m.a\\.b', 'dotted'],
])('%s', (path, first) => {
  const spec = {
    l: ['a', 'b', 'c'],
    c: [
      { type: 'Odd', status: 'False' },
      { type: 'Ready', status: 'True' },
    ],
    m: { 'a.b': 'dotted' },
  };
  expect(cellsOf(path, spec)[0]).toBe(first);
});

test('columns end before one whose path cannot be read', () => {
  const column = (name: string, jsonPath: string) => ({ name, type: 'string', jsonPath });
  const { columns, cells } = printerColumns({
    additionalPrinterColumns: [
      column('First', '.spec.a'),
      column('Bad', '.spec.b['),
      column('Last', '.spec.a'),
    ],
  } as Parameters<typeof printerColumns>[0]);
  expect(columns!.map(({ name }) => name)).toEqual(['Name', 'First']);
  expect(cells!({ metadata: { name: 'x' }, spec: { a: 'y' } } as unknown as ApiObject)).toEqual(['x', 'y']);
});
