/**
 * Proves that compiled code is cached in the user's cache folder, that damaged or missing cache files do no
 * harm, and that nothing is written next to the command.
 */

import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { cp, mkdir, mkdtemp, readdir, readFile, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest';
import { optimized } from '../../src/switches.ts';
import { isRelease } from '../support/tier.ts';

const root = join(import.meta.dirname, '../..');
let folder: string;
let cache: string;
let child: ChildProcess | undefined;

/** A copy of the built command, and a cache folder that is empty before its first run. */
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'wherry-launch-'));
  await symlink(join(root, 'node_modules'), join(folder, 'node_modules'));
  cache = join(folder, 'cache');
  await mkdir(cache);
  await cp(join(root, 'dist'), join(folder, 'dist'), { recursive: true });
  if (optimized) expect(await answers(isKept)).toBe('ok');
});

afterEach(end);
afterAll(async () => {
  await end();
  await rm(folder, { recursive: true });
});

async function end(): Promise<void> {
  if (!child) return;
  const exited = once(child, 'exit');
  child.kill('SIGKILL');
  await exited;
  child = undefined;
}

/** Starts the command, and ends it when it has answered and `until` resolves to true. */
async function answers(until: (url: string) => Promise<boolean> = async () => true): Promise<string> {
  child = spawn(process.execPath, [join(folder, 'dist/cli.cjs'), 'serve', '--in-memory', '--port', '0'], {
    stdio: ['ignore', 'pipe', 'inherit'],
    env: { ...process.env, NODE_OPTIONS: undefined, XDG_CACHE_HOME: cache },
  });
  const [line] = await once(child.stdout!, 'data');
  const url = /http:\S+/.exec(String(line))![0];
  const text = await (await fetch(`${url}/healthz`)).text();
  await vi.waitFor(async () => expect(await until(url)).toBe(true), { timeout: 60_000 });
  await end();
  return text;
}

const codeFile = async (): Promise<string | undefined> => {
  const names = await readdir(join(cache, 'wherry')).catch(() => []);
  const name = names.find((each) => each.endsWith('.code'));
  return name && join(cache, 'wherry', name);
};
const isKept = async (): Promise<boolean> => (await codeFile()) !== undefined;

describe.runIf(optimized)('compiled code', () => {
  it('is kept by the first that runs for a while, and found by the next', async () => {
    const file = (await codeFile())!;
    const { size, mtimeMs } = await stat(file);
    expect(size).toBeGreaterThan(100_000);
    expect(await answers()).toBe('ok');
    expect((await stat(file)).mtimeMs).toBe(mtimeMs);
    expect(await readdir(join(folder, 'dist'))).toEqual(await readdir(join(root, 'dist')));
  });

  it('loads modules that are needed later', async () => {
    // Proves that signing a token, which imports an ES module, works with cached code.
    await answers(async (url) => {
      const accounts = `${url}/api/v1/namespaces/default/serviceaccounts`;
      const post = (path: string, body: object) =>
        fetch(path, { method: 'POST', body: JSON.stringify(body) });
      await post(accounts, { metadata: { name: 'signer' } });
      const answer = await post(`${accounts}/signer/token`, { spec: {} });
      const { status } = (await answer.json()) as { status: { token: string } };
      return /^[\w-]+\.[\w-]+\.[\w-]+$/.test(status.token);
    });
  });

  const damages: [string, (bytes: Buffer) => Buffer][] = [
    ['is damaged', (bytes) => bytes.fill(0x55, 5_000, 5_100)],
    ['is cut off', (bytes) => bytes.subarray(0, 10_000)],
    ['is empty', () => Buffer.alloc(0)],
  ];
  it.each(isRelease ? damages : damages.slice(0, 1))(
    'that %s is not run, and is made anew',
    async (_, damage) => {
      const file = (await codeFile())!;
      const good = await readFile(file);
      await writeFile(file, damage(Buffer.from(good)));
      const bad = (await stat(file)).ino;
      expect(await answers(async () => (await stat(file)).ino !== bad)).toBe('ok');
    },
  );
});

it('npm start prints times without what installing has taken', async () => {
  const installMs = 3_000;
  await mkdir(join(folder, 'scripts'));
  for (const name of ['package.json', 'scripts/start.mjs']) await cp(join(root, name), join(folder, name));
  const wait = `Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ${installMs})`;
  await writeFile(
    join(folder, 'scripts/install.mjs'),
    `export const installPackages = () => ${wait}; export const run = () => { throw new Error('it is built'); };`,
  );
  for (const name of ['src', 'web']) await mkdir(join(folder, name));
  const begunMs = performance.now();
  const options = ['--in-memory', '--port', '0', '--secure-port', 'off', '--simulated-nodes', '1'];
  child = spawn(process.execPath, [join(folder, 'scripts/start.mjs'), ...options], {
    stdio: ['ignore', 'pipe', 'inherit'],
    env: { ...process.env, NODE_OPTIONS: undefined, XDG_CACHE_HOME: cache },
  });
  let text = '';
  for await (const part of child.stdout!) {
    text += String(part);
    if (text.includes('Ready after')) break;
  }
  const [, ready, api] = /Ready after ([\d.]+) s, the API after ([\d.]+) s/.exec(text)!;
  expect(Number(api)).toBeLessThanOrEqual(Number(ready));
  expect(Number(ready) * 1_000).toBeLessThan(performance.now() - begunMs - installMs + 10);
});
