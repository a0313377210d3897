/** Proves that a template gives the row that would be made anew, at any time. */
import { expect, test } from 'vitest';
import { type Cell, Elapsed, shownCell } from '../values/elapsed.ts';
import { RowTemplate } from './row-template.ts';

const rowAt = (template: RowTemplate, nowMs: number): unknown => {
  const text = Buffer.alloc(template.bytesMax + 6, ' ');
  const end = template.write(text, 0, nowMs);
  expect(end).toBeLessThanOrEqual(template.bytesMax);
  return JSON.parse(`${text.toString('utf8', 0, end)}null}`);
};

const second = 1000;
const year = 365 * 24 * 3600 * second;

test('durations are filled in between any texts', () => {
  const cells: Cell[] = [
    'web "é" \\ 🛶',
    3,
    true,
    null,
    undefined,
    new Elapsed(0),
    '',
    new Elapsed(5 * second, '7 (ü"', ' ago)'),
    new Elapsed(Number.NaN),
  ];
  const template = new RowTemplate(cells, undefined);
  for (const nowMs of [-9 * second, 0, second, 119 * second, 599 * second, year, 7.99 * year, 9000 * year])
    expect(rowAt(template, nowMs)).toEqual({
      cells: cells.map((cell) => shownCell(cell, nowMs) ?? null),
      object: null,
    });
});

test('conditions come before the object', () => {
  const condition = { type: 'Completed', status: 'True', reason: 'Succeeded', message: 'done "well"' };
  expect(rowAt(new RowTemplate([], [condition]), 0)).toEqual({
    cells: [],
    conditions: [condition],
    object: null,
  });
  expect(rowAt(new RowTemplate([2n ** 60n], undefined), 0)).toEqual({
    cells: [Number(2n ** 60n)],
    object: null,
  });
});
