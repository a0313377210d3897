/**
 * Proves that the command and LMDB's binary for musl run where the C library is musl, as on Alpine: objects are written,
 * the process is killed, and they are there again. The runtime is Bun, because no registry of packages here has a Node
 * for musl.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { command } from '../support/child.ts';
import { Client } from '../support/http.ts';
import { muslRuntime, nativeFile } from './musl-runtime.ts';

const patienceMs = 60_000;
const runtime = muslRuntime();

/** Runs `wherry serve` on a folder. */
async function serve(folder: string, { program, libraries }: { program: string; libraries: string }) {
  const args = [command, 'serve', '--data-dir', 'data', '--port', '0', '--secure-port', 'off'];
  const env = { PATH: process.env.PATH, HOME: folder, LD_LIBRARY_PATH: libraries };
  const child = spawn(program, args, { cwd: folder, env, stdio: ['ignore', 'pipe', 'inherit'] });
  onTestFinished(() => void child.kill('SIGKILL'));
  let printed = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    printed += text;
  });
  await expect.poll(() => printed, { timeout: patienceMs }).toMatch(/ready at \S+\n/);
  return { child, client: new Client(/ready at (\S+)/.exec(printed)![1]!) };
}

it.skipIf(typeof runtime === 'string')(
  `a server keeps objects on disk${typeof runtime === 'string' ? ` (left out: ${runtime})` : ''}`,
  async () => {
    const folder = mkdtempSync(path.join(tmpdir(), 'wherry-musl-'));
    onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
    const maps = '/api/v1/namespaces/default/configmaps';
    const first = await serve(folder, runtime as Exclude<typeof runtime, string>);
    const loaded = readFileSync(`/proc/${first.child.pid}/maps`, 'utf8');
    expect(loaded).toMatch(/ld-musl-|linux-musl\/libc\.so/);
    expect(loaded).toContain(path.basename(nativeFile));
    expect(loaded).not.toMatch(/libc\.so\.6|glibc/);
    const made = await first.client.post(maps, { metadata: { name: 'kept' }, data: { word: 'grüß' } });
    expect(made.status).toBeLessThan(300);
    const exit = once(first.child, 'exit');
    first.child.kill('SIGKILL');
    await exit;
    const { client } = await serve(folder, runtime as Exclude<typeof runtime, string>);
    expect((await client.get(`${maps}/kept`)).body.data).toEqual({ word: 'grüß' });
  },
  patienceMs * 3,
);
