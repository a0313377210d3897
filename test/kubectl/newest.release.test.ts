/** Proves that the newest kubectl that Debian has works with clusters of the minors of its time. It is fetched for this. */
import { describe, expect, it } from 'vitest';
import { newestKubectl } from '../../scripts/kubectls.mjs';
import { kubectlOnMinor } from './minor.suite.ts';

const said: string[] = [];
const newest = await newestKubectl((message: string) => said.push(message));

describe.skipIf(!newest)('the newest kubectl', () => {
  it('is there', () => {
    expect(newest!.version).toBe('1.36');
  });
  for (const minor of newest ? ['1.35', '1.36'] : []) kubectlOnMinor(minor, newest);
});

it('is fetched, or why it cannot be is said', () => {
  expect(newest ?? said.at(-1)).toBeTruthy();
});
