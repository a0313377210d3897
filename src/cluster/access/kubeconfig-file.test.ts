/** Proves that a context goes where kubectl would write it, and that nothing of others is lost or replaced. */
import {
  lstatSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeEach, describe, expect, it, vi } from 'vitest';
import { contextEntry, mergeContext, removeContext } from './kubeconfig-file.ts';

const folder = mkdtempSync(path.join(tmpdir(), 'wherry-kubeconfig-'));
const file = (name: string): string => path.join(folder, name);
const text = (name: string): string => readFileSync(file(name), 'utf8');
const config = JSON.stringify({
  clusters: [{ name: 'wherry', cluster: { server: 'https://127.0.0.1:6443' } }],
  users: [{ name: 'wherry-admin', user: { token: 'secret' } }],
});
const dev = contextEntry('dev', '/data/dev', config);

beforeEach(() => {
  for (const name of ['a', 'b', 'link', 'a.lock']) rmSync(file(name), { force: true });
  vi.stubEnv('KUBECONFIG', [file('a'), '', file('b'), file('a')].join(path.delimiter));
});

afterAll(() => {
  vi.unstubAllEnvs();
  rmSync(folder, { recursive: true, force: true });
});

describe('a new context', () => {
  it('goes into the last file of the list when there is none, and is the current one', async () => {
    expect(await mergeContext(dev, false)).toEqual({ file: file('b'), isCurrent: true });
    expect(text('b')).toContain('current-context: wherry-dev');
    expect(statSync(file('b')).mode & 0o777).toBe(0o600);
  });

  it('goes into the first that exists, and leaves what is current in another', async () => {
    writeFileSync(file('a'), 'kind: Config\n');
    writeFileSync(file('b'), '{"kind": "Config", "current-context": "mine"}');
    expect(await mergeContext(dev, false)).toEqual({ file: file('a'), isCurrent: false });
    expect(text('a')).not.toContain('current-context');
    expect(await mergeContext(dev, true)).toEqual({ file: file('a'), isCurrent: true });
    expect(text('a')).toContain('current-context: wherry-dev');
  });

  it('is brought up to date in the file where it is', async () => {
    writeFileSync(file('b'), 'kind: Config\n');
    await mergeContext(dev, false);
    writeFileSync(file('a'), 'kind: Config\n');
    await mergeContext({ ...dev, user: { token: 'other' } }, false);
    expect(text('a')).toBe('kind: Config\n');
    expect(text('b').match(/token: other/g)).toHaveLength(1);
    expect(text('b')).not.toContain('secret');
  });

  it('is written through a link, which stays', async () => {
    writeFileSync(file('a'), '# mine\nkind: Config\n');
    symlinkSync(file('a'), file('link'));
    vi.stubEnv('KUBECONFIG', file('link'));
    await mergeContext(dev, false);
    expect(lstatSync(file('link')).isSymbolicLink()).toBe(true);
    expect(text('a')).toMatch(/^# mine\n(.*\n)*.*wherry-dev/);
  });

  it('never replaces entries of another cluster', async () => {
    for (const list of ['clusters', 'users', 'contexts']) {
      const before = `kind: Config\n${list}:\n  - name: wherry-dev\n    other: 1\n`;
      writeFileSync(file('a'), before);
      await expect(mergeContext(dev, true)).rejects.toThrow(/of another cluster, which stays as it is/);
      expect(text('a')).toBe(before);
    }
    writeFileSync(file('a'), 'kind: Config\n');
    await mergeContext({ ...dev, identity: '/elsewhere' }, false);
    await expect(mergeContext(dev, true)).rejects.toThrow(/of another cluster/);
    expect(await removeContext('wherry-dev', '/data/dev')).toEqual([]);
    expect(text('a')).toContain('/elsewhere');
  });

  it('is not written to what is no kubeconfig', async () => {
    for (const wrong of ['- a\n', 'kind: Pod\n', 'a: [\n']) {
      writeFileSync(file('a'), wrong);
      await expect(mergeContext(dev, false)).rejects.toThrow(/a cannot be used \(/);
      expect(text('a')).toBe(wrong);
    }
    await expect(mergeContext(dev, false)).rejects.toThrow(
      / \(line 2, column 1: the closing \] is missing\)$/,
    );
    vi.stubEnv('KUBECONFIG', folder);
    await expect(mergeContext(dev, false)).rejects.toThrow(`${folder} cannot be used (EISDIR)`);
  });

  it('stays whole, and nothing is left beside it, when the disk is full', async () => {
    writeFileSync(file('a'), 'kind: Config\n');
    // A disk that is full, where the new file would be.
    const fresh = `${file('a')}.${process.pid}.new`;
    symlinkSync('/dev/full', fresh);
    await expect(mergeContext(dev, false)).rejects.toThrow(/a cannot be used \(ENOSPC\)/);
    expect(text('a')).toBe('kind: Config\n');
    expect(readdirSync(folder)).toEqual(['a']);
  });

  it('waits for the lock of another program', async () => {
    writeFileSync(file('a'), 'kind: Config\n');
    writeFileSync(file('a.lock'), '');
    const merging = mergeContext(dev, false);
    await new Promise((resolve) => setImmediate(resolve));
    expect(text('a')).toBe('kind: Config\n');
    rmSync(file('a.lock'));
    await merging;
    expect(text('a')).toContain('wherry-dev');
  });
});

describe('a context that is removed', () => {
  it('takes all of the cluster with it, and what is current', async () => {
    const before = '# mine\nkind: Config\nclusters:\n  - name: x # kept\n';
    writeFileSync(file('a'), before);
    await mergeContext(dev, true);
    await mergeContext(contextEntry('two', '/data/two', config), false);
    expect(await removeContext('wherry-dev', '/data/dev')).toEqual([file('a')]);
    expect(text('a')).not.toContain('wherry-dev');
    expect(text('a')).toContain('wherry-two');
    expect(text('a')).toContain('x # kept');
  });
});
