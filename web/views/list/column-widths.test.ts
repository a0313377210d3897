/** Proves that columns are as wide as their longest text, up to a bound, and never become narrower while rows come and go. */
import { expect, it } from 'vitest';
import type { Row } from '../../core/live-table.ts';
import { ColumnWidths, isLong, leastWidths, measuredBy } from './column-widths.ts';

const ten = (text: string): number => text.length * 10;
const rowOf = (...cells: string[]): Row => ({ uid: cells.join(), cells }) as unknown as Row;
const readers = [0, 1].map(
  (at) =>
    ({ cells }: Row) =>
      String(cells[at]),
);

it('makes columns as wide as their longest text so far, and cuts what is too long', () => {
  const columns = new ColumnWidths(readers, ['Name', 'Status'], ten);
  expect(columns.widths).toEqual([44, 64]);
  expect(columns.see([rowOf('pod', 'Ready')])).toBe(false);
  expect(columns.see([rowOf('pod-with-long-name', 'ImagePullBackOff')])).toBe(true);
  expect(columns.widths).toEqual([180, 160]);
  expect(columns.see([rowOf('a', 'b'), rowOf('x'.repeat(99), 'c')])).toBe(true);
  expect(columns.widths).toEqual([420, 160]);
  expect(isLong('x'.repeat(21), ten)).toBe(true);
  expect(isLong('x'.repeat(20), ten)).toBe(false);
});

it('looks at rows once, and again when their columns say something else', () => {
  const columns = new ColumnWidths(readers, ['Name', 'CPU'], ten);
  const row = rowOf('pod', '1m');
  columns.see([row]);
  const usage = [readers[0]!, () => '1234567m'];
  columns.readBy(usage);
  expect(columns.see([row])).toBe(true);
  expect(columns.see([row])).toBe(false);
  expect(columns.widths).toEqual([44, 80]);
});

it('lets the namespace give way where the columns do not fit beside each other', () => {
  expect(leastWidths([300, 420, 80], 480, true)).toEqual([200, 200, 80]);
  expect(leastWidths([300, 420, 80], 400, true)).toEqual([120, 200, 80]);
  expect(leastWidths([300, 420, 80], 200, true)).toEqual([90, 200, 80]);
  expect(leastWidths([60, 420, 80], 200, true)).toEqual([60, 200, 80]);
  expect(leastWidths([300, 80], 100, false)).toEqual([200, 80]);
});

it('looks at some of many rows, from the first to the last', () => {
  let looks = 0;
  const counted = [
    (row: Row) => {
      looks++;
      return String(row.cells[0]);
    },
  ];
  const columns = new ColumnWidths(counted, ['Name'], ten);
  columns.sample(Array.from({ length: 50_000 }, (_, n) => rowOf(n > 49_000 ? 'long-names-here' : 'short')));
  expect(columns.widths).toEqual([150]);
  expect(looks).toBeLessThanOrEqual(501);
});

it('adds up glyphs, each of which is measured once', () => {
  const asked: string[] = [];
  const widthOf = measuredBy((text) => {
    asked.push(text);
    return text === 'i' ? 3.2 : 8;
  });
  expect([widthOf('mimi'), widthOf('im')]).toEqual([23, 12]);
  // Glyphs beyond ASCII may come from a font that the canvas does not have.
  expect(widthOf('船')).toBe(14);
  expect(asked).toEqual(['m', 'i', '船']);
});
