/** Proves that the memory of the process is known where /proc cannot be read. */
import { expect, it, vi } from 'vitest';
import { residentBytes } from './platform.ts';

it('the memory of the process is known with /proc and without', () => {
  const usual = residentBytes();
  const rss = vi.spyOn(process.memoryUsage, 'rss').mockImplementation(() => {
    throw new Error('ENOENT: no such file or directory, uv_resident_set_memory');
  });
  const peak = residentBytes();
  rss.mockRestore();
  expect(usual).toBeGreaterThan(10e6);
  expect(peak).toBeGreaterThan(10e6);
});
