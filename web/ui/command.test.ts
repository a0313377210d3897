/** Proves that a command stays one command, whatever its words hold. */
import { execFileSync } from 'node:child_process';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { commandText } from './command.ts';

it('is read by a shell as the words it was made of', () => {
  const words = fc
    .sample(
      fc.array(
        fc.string({ minLength: 1 }).filter((word) => !/[\0\n]/.test(word)),
        { minLength: 1, maxLength: 40 },
      ),
      3,
    )
    .flat();
  const text = commandText(['printf', '%s\\n', ...words, `$(id) ; 'quoted' "x" \\`], 'a b');
  expect(execFileSync('sh', ['-c', text], { encoding: 'utf8' }).split('\n').slice(0, -1)).toEqual([
    ...words,
    `$(id) ; 'quoted' "x" \\`,
    '--namespace',
    'a b',
  ]);
});
