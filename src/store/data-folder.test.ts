/** Proves that a data folder is closed to others, and that a folder its owner cannot write to stays so. */
import { chmodSync, mkdirSync, mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { openDataFolder } from './data-folder.ts';

it('takes rights away from others, gives none, and leaves a folder with other files alone', () => {
  const base = mkdtempSync(join(tmpdir(), 'wherry-folder-'));
  onTestFinished(() => rmSync(base, { recursive: true }));
  const modeOf = (name: string) => (statSync(join(base, name)).mode & 0o777).toString(8);
  const made = (name: string, mode: number) => {
    mkdirSync(join(base, name));
    chmodSync(join(base, name), mode);
  };
  made('open', 0o775);
  made('read-only', 0o555);
  made('shared', 0o775);
  writeFileSync(join(base, 'shared', 'notes.txt'), '');
  for (const name of ['new', 'open', 'read-only', 'shared']) openDataFolder(join(base, name));
  expect(['new', 'open', 'read-only', 'shared'].map(modeOf)).toEqual(['700', '700', '500', '775']);
});
