/** Proves that the memory of the process is known where /proc cannot be read, and that a home folder is never the current one. */
import path from 'node:path';
import { expect, it, onTestFinished, vi } from 'vitest';
import { homeFolder, residentBytes } from './platform.ts';

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

it.each(['', 'relative'])('a home folder is absolute, also when HOME is "%s"', (home) => {
  onTestFinished(() => void vi.unstubAllEnvs());
  vi.stubEnv('HOME', home);
  vi.stubEnv('USERPROFILE', home);
  expect(path.isAbsolute(homeFolder() ?? path.sep)).toBe(true);
});
