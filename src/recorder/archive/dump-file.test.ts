/** Proves that a dump has a bound on its files and on all bytes together, and that each says so in words. */
import { expect, it } from 'vitest';
import { DumpReading } from './dump-file.ts';

it('reads 500,000 files of one dump, and none after them', () => {
  const reading = new DumpReading();
  for (let i = 0; i < 500_000; i++) reading.admits('a', 0);
  expect(() => reading.admits('a', 0)).toThrow('it has more than 500000 files');
});

it('reads 8 GiB of all archives together, however little each unpacks to', () => {
  const reading = new DumpReading();
  const part = 400 * 1024 * 1024;
  const unpack = (): void => reading.unpacked(part, { total: 0 }, part);
  for (let i = 0; i < 20; i++) unpack();
  expect(unpack).toThrow('it has more than 8589934592 bytes');
});

it('says of a file that it is too large, or its path too long', () => {
  const reading = new DumpReading();
  expect(reading.admits('large', 401 * 1024 * 1024)).toBe(false);
  expect(reading.admits('x'.repeat(5_000), 1)).toBe(false);
  expect(reading.problems.map(({ why }) => why)).toEqual([
    'it has more than 400 MiB, the most that a file may have: dump kinds or namespaces into files of their own',
    'its path has more than 4096 characters',
  ]);
});
