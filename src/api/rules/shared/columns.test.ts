// Proves the cells that tables of many kinds share.
import { expect, test } from 'vitest';
import { shownCell } from '../../values/elapsed.ts';
import { ageCell, containersCell, imagesCell, mapCell, orNone, wide } from './columns.ts';

test('maps are sorted, and none when empty', () => {
  expect(mapCell({ b: '2', a: '1', c: '' })).toBe('a=1,b=2,c=');
  expect(mapCell({})).toBe('<none>');
  expect(mapCell(undefined)).toBe('<none>');
});

test('empty text is none', () => {
  expect([orNone('a'), orNone(''), orNone(undefined), orNone(null)]).toEqual([
    'a',
    '<none>',
    '<none>',
    '<none>',
  ]);
});

test('containers and images', () => {
  const containers = [{ name: 'a', image: 'x' }, { name: 'b', image: 'y' }, {}];
  expect(containersCell(containers)).toBe('a,b,');
  expect(imagesCell(containers)).toBe('x,y,');
  expect(containersCell(undefined)).toBe('');
});

test('age', () => {
  const nowMs = Date.parse('2024-05-01T12:00:00Z');
  expect(shownCell(ageCell({ metadata: { creationTimestamp: '2024-05-01T11:50:00Z' } }), nowMs)).toBe('10m');
  expect(shownCell(ageCell({ metadata: {} }), nowMs)).toBe('<unknown>');
});

test('a wide column is the same column', () => {
  expect(wide({ name: 'A', description: 'b' })).toEqual({ name: 'A', description: 'b', wide: true });
});
