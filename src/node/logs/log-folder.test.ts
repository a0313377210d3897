/** Proves that logs are where log shippers expect them, and that the log folder exposes nothing else. */

import { execFileSync } from 'node:child_process';
import { readdirSync, statSync } from 'node:fs';
import { mkdir, mkdtemp, readFile, readlink, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { LogFolder } from './log-folder.ts';

let base: string;
let pods: string;
let logs: LogFolder;
let nowMs: number;
let errors: Error[];

beforeEach(async () => {
  base = await mkdtemp(join(tmpdir(), 'wherry-logs-'));
  pods = join(base, 'node', 'pods');
  nowMs = Date.UTC(2026, 1, 3, 4, 5, 6);
  errors = [];
  logs = open();
});
afterEach(async () => {
  await rm(base, { recursive: true, force: true });
  expect(errors).toEqual([]);
});

const open = (podsFolder = pods): LogFolder =>
  new LogFolder(
    join(base, 'var', 'log'),
    [podsFolder],
    () => nowMs,
    (error) => errors.push(error),
  );

const run = (attempt = 0, uid = 'u1') => ({
  pod: { metadata: { name: 'web', namespace: 'shop', uid } },
  container: 'main',
  attempt,
  id: `${attempt}`.repeat(64),
});

/** Writes a log file, and returns it as a segment. */
async function segment(name: string, text: string, uid = 'u1') {
  const folder = join(pods, uid, 'containers', 'main');
  await mkdir(folder, { recursive: true });
  await writeFile(join(folder, name), text);
  return { path: join(folder, name), bytes: text.length };
}

/** All entries of the log folder, with what they are or their links lead to: a folder (d), a file (f), nothing (N). */
function tree(below = ''): string[] {
  const entries = readdirSync(join(logs.path, below), { withFileTypes: true });
  const lines = entries.flatMap((entry) => {
    const name = join(below, entry.name);
    const found = statSync(join(logs.path, name), { throwIfNoEntry: false });
    const line = `${name} ${found ? (found.isDirectory() ? 'd' : 'f') : 'N'}`;
    return entry.isDirectory() ? [line, ...tree(name)] : [line];
  });
  return lines.sort();
}

async function read(...path: string[]): Promise<string | undefined> {
  const found = await logs.find(path);
  if (!found) return undefined;
  if (found.kind === 'folder') return found.entries.map(({ name }) => name).join(' ');
  const text = await found.handle.readFile('utf8');
  await found.handle.close();
  return text;
}

const podFolder = 'shop_web_u1';
const byId = (attempt: number): string => `web_shop_main-${`${attempt}`.repeat(64)}.log`;

describe('a log', () => {
  it('is linked to by pod, container and attempt, and by the id of the container', async () => {
    await logs.show(run(), [await segment('0.log', 'one')]);
    expect(tree()).toEqual([
      'containers d',
      `containers/${byId(0)} f`,
      'pods d',
      `pods/${podFolder} d`,
      `pods/${podFolder}/main d`,
      `pods/${podFolder}/main/0.log f`,
    ]);
    expect(await readFile(join(logs.path, 'containers', byId(0)), 'utf8')).toBe('one');
    expect(await readlink(join(logs.path, 'containers', byId(0)))).toBe(`../pods/${podFolder}/main/0.log`);
  });

  it('keeps its name when a new file is begun; the old ones are named after the time', async () => {
    const [first, second, third] = [
      await segment('0.log', 'a'),
      await segment('0.log.1', 'b'),
      await segment('0.log.2', 'c'),
    ];
    await logs.show(run(), [first]);
    await logs.show(run(), [first, second]);
    await logs.show(run(), [first, second, third]);
    const folder = join(logs.path, 'pods', podFolder, 'main');
    const texts = ['0.log', '0.log.20260203-040506', '0.log.20260203-040506.1'];
    expect(await Promise.all(texts.map((name) => readFile(join(folder, name), 'utf8')))).toEqual([
      'c',
      'a',
      'b',
    ]);
    expect(await read('containers', byId(0))).toBe('c');
    // When the oldest file is deleted, its link goes, too.
    await rm(first.path);
    await logs.show(run(), [second, third]);
    expect(await read('pods', podFolder, 'main')).toBe('0.log 0.log.20260203-040506.1');
  });

  it('of the run before stays as long as it is kept', async () => {
    const before = await segment('0.log', 'before');
    await logs.show(run(0), [before]);
    await logs.show(run(1), [await segment('1.log', 'now')]);
    expect(await read('containers')).toBe(`${byId(0)} ${byId(1)}`);
    await rm(before.path);
    await logs.show(run(2), [await segment('2.log', 'then')]);
    expect(await read('containers')).toBe(`${byId(1)} ${byId(2)}`);
    expect(await read('pods', podFolder, 'main')).toBe('1.log 2.log');
  });

  it('of a pod that is gone is forgotten, and so is what another agent has left', async () => {
    await logs.show(run(0, 'u1'), [await segment('0.log', 'a', 'u1')]);
    await logs.show({ ...run(0, 'u2'), id: 'f'.repeat(64) }, [await segment('0.log', 'b', 'u2')]);
    await rm(join(pods, 'u1'), { recursive: true });
    await logs.forget('u1');
    expect(await read('pods')).toBe('shop_web_u2');
    expect(await read('containers')).toBe(`web_shop_main-${'f'.repeat(64)}.log`);
    await rm(pods, { recursive: true });
    // Foreign links stay, whatever their target.
    await symlink('/nowhere/else', join(logs.path, 'containers', 'mine.log'));
    await mkdir(join(logs.path, 'pods', 'kept', 'folder'), { recursive: true });
    await writeFile(join(logs.path, 'pods', 'kept', 'folder', 'file'), '');
    await open(join(base, 'other')).prune();
    expect(tree()).toEqual([
      'containers d',
      'containers/mine.log N',
      'pods d',
      'pods/kept d',
      'pods/kept/folder d',
      'pods/kept/folder/file f',
    ]);
  });
});

describe('what is found', () => {
  it('is in the folder, or a log of a pod; nothing else, by whatever way', async () => {
    await logs.show(run(), [await segment('0.log', 'text')]);
    await writeFile(join(base, 'secret'), 'secret');
    await writeFile(join(pods, 'u1', 'secret'), 'secret');
    await writeFile(join(logs.path, 'own.log'), 'own');
    await symlink(join(base, 'secret'), join(logs.path, 'out.log'));
    await symlink(join(pods, 'u1', 'secret'), join(logs.path, 'pods', 'inside.log'));
    await symlink('/', join(logs.path, 'root'));
    await symlink('loop', join(logs.path, 'loop'));
    execFileSync('mkfifo', [join(logs.path, 'fifo')]);
    expect(await read('own.log')).toBe('own');
    expect(await read('pods', podFolder, 'main', '0.log')).toBe('text');
    expect(await read('containers', byId(0))).toBe('text');
    for (const path of [
      ['out.log'],
      ['pods', 'inside.log'],
      ['root', 'etc', 'passwd'],
      ['root'],
      ['loop'],
      ['fifo'],
      ['none'],
      ['..', '..', 'secret'],
      ['../../secret'],
      ['pods', '..', '..', '..', 'secret'],
      ['.', 'own.log'],
      ['', 'own.log'],
      ['own.log\0'],
      ['pods/..', 'own.log'],
      ['..\\secret'],
      ['own.log', 'below'],
    ])
      expect(await read(...path), path.join('/')).toBeUndefined();
  });

  it('is nothing while there is no folder', async () => {
    expect(await read()).toBeUndefined();
  });
});
