/** Proves that a file can be replaced by many writers at once: every reader sees one of the texts, and nothing is left. */
import { lstat, mkdtemp, readdir, readFile, readlink, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { removeUnfinished, replaceFile, replaceLink } from './replaced-file.ts';

let folder = '';
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'wherry-replaced-'));
});
afterEach(() => rm(folder, { recursive: true, force: true }));

describe('a file that is replaced', () => {
  it('has the text of one of its writers, in the asked mode', async () => {
    const path = join(folder, 'a');
    const texts = Array.from({ length: 50 }, (_, i) => `${i}`.repeat(1000));
    const seen: string[] = [];
    await Promise.all(
      texts.map(async (text) => {
        await replaceFile(path, text, 0o640);
        seen.push(await readFile(path, 'utf8'));
      }),
    );
    expect(seen.filter((text) => !texts.includes(text))).toEqual([]);
    expect((await stat(path)).mode & 0o777).toBe(0o640);
    expect(await readdir(folder)).toEqual(['a']);
  });

  it('is not written through a link', async () => {
    await writeFile(join(folder, 'target'), 'kept');
    await symlink('target', join(folder, 'a'));
    await replaceFile(join(folder, 'a'), 'new', 0o600);
    expect(await readFile(join(folder, 'target'), 'utf8')).toBe('kept');
    expect((await lstat(join(folder, 'a'))).isFile()).toBe(true);
  });

  it('stays when it cannot be replaced', async () => {
    await expect(replaceFile(join(folder, 'none', 'a'), 'text', 0o600)).rejects.toThrow('ENOENT');
    await expect(replaceLink(folder, 'anything')).rejects.toThrow();
    expect(await readdir(folder)).toEqual([]);
  });

  it('may be a link', async () => {
    const targets = Array.from({ length: 20 }, (_, i) => `to-${i}`);
    await Promise.all(targets.map((target) => replaceLink(join(folder, 'l'), target)));
    expect(targets).toContain(await readlink(join(folder, 'l')));
    expect(await readdir(folder)).toEqual(['l']);
  });

  it('loses what killed writers have left, and nothing else', async () => {
    for (const name of ['a', '.a.0123456789ab.new', '.b.0123456789ab.new', '.a.new', 'a.0123456789ab.new'])
      await writeFile(join(folder, name), '');
    await removeUnfinished(join(folder, 'a'));
    expect((await readdir(folder)).sort()).toEqual([
      '.a.new',
      '.b.0123456789ab.new',
      'a',
      'a.0123456789ab.new',
    ]);
    await removeUnfinished(join(folder, 'none', 'a'));
  });
});
