/** Proves that a look at all processes of a machine, of which there may be thousands, leaves the event loop to others. */
import { readdirSync } from 'node:fs';
import { expect, it } from 'vitest';
import { platform } from '../../platform.ts';
import { findProcesses } from './process-table.ts';

it.runIf(platform.isLinux)('looks at a few processes in each turn of the event loop', async () => {
  let [turns, isOver] = [0, false];
  const turn = (): void => {
    turns++;
    if (!isOver) setImmediate(turn);
  };
  setImmediate(turn);
  await findProcesses(new Set(), { text: 'WHERRY_NOBODY=', prefix: true });
  isOver = true;
  const processes = readdirSync('/proc').filter((name) => /^\d+$/.test(name)).length;
  // Some processes may have come meanwhile.
  expect(turns).toBeGreaterThanOrEqual(Math.floor(processes / 20));
});
