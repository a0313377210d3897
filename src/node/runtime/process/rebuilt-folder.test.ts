/** Proves that folders are copied as they are, and that a large one leaves the event loop to others. */
import {
  chmodSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readlinkSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { rebuildFolder } from './rebuilt-folder.ts';

let base: string;
beforeEach(() => {
  base = mkdtempSync(join(tmpdir(), 'wherry-rebuilt-'));
  mkdirSync(join(base, 'real'));
});
afterEach(() => rmSync(base, { recursive: true, force: true }));

it('has an empty entry for each, and the same links and mode', async () => {
  const [real, root] = [join(base, 'real'), join(base, 'root')];
  writeFileSync(join(real, 'file'), 'content');
  mkdirSync(join(real, 'folder'));
  writeFileSync(join(real, 'folder', 'inner'), '');
  mkdirSync(join(real, 'skipped'));
  symlinkSync('file', join(real, 'link'));
  chmodSync(real, 0o751);
  const bound = await rebuildFolder(root, real, new Set([join(real, 'skipped')]));
  expect(bound.sort()).toEqual([join(real, 'file'), join(real, 'folder')]);
  const made = join(root, real);
  expect(readdirSync(made).sort()).toEqual(['file', 'folder', 'link']);
  expect(readlinkSync(join(made, 'link'))).toBe('file');
  expect(statSync(join(made, 'file')).size).toBe(0);
  expect(readdirSync(join(made, 'folder'))).toEqual([]);
  expect(statSync(made).mode & 0o777).toBe(0o751);
});

it('makes a few entries in a turn of the event loop', async () => {
  const [real, root] = [join(base, 'real'), join(base, 'root')];
  for (let i = 0; i < 200; i++) writeFileSync(join(real, String(i)), '');
  const made = join(root, real);
  let [isOver, before, most] = [false, 0, 0];
  const turn = (): void => {
    if (isOver) return;
    const count = readdirSync(made).length;
    most = Math.max(most, count - before);
    before = count;
    setImmediate(turn);
  };
  mkdirSync(made, { recursive: true });
  setImmediate(turn);
  await rebuildFolder(root, real, new Set());
  isOver = true;
  expect(readdirSync(made)).toHaveLength(200);
  // What a turn has begun may be done in the next one.
  expect(most).toBeLessThanOrEqual(16);
});
