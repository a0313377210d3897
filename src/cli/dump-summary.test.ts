/** Proves that names in a dump cannot command the terminal that they are printed on. */
import { expect, it } from 'vitest';
import { summaryText } from './dump-summary.ts';

it('prints no control characters of names', () => {
  const problems = Array.from({ length: 100 }, () => ({
    file: 'a\u001b[2J\u009b/b',
    why: 'no \u202etext\u0007',
  }));
  const nothing = {
    files: 1,
    bytes: 0,
    objects: 0,
    kinds: { 'x\u001b[2J': 1 },
    logs: 0,
    duplicates: 0,
    inferred: ['y\u202e.z'],
  };
  const text = summaryText({ ...nothing, problems, problemCount: 100 });
  expect(text).toContain('a [2J /b: no  text ');
  expect(text).not.toMatch(/[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u202e]/);
});
