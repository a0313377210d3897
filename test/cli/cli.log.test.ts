/** Proves that the built command tells what happens when it is asked to, one line each, as JSON or as text, on any disk. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, openSync } from 'node:fs';
import { expect, it, onTestFinished } from 'vitest';
import { Child, command } from '../support/child.ts';
import { isRelease } from '../support/tier.ts';

async function linesOf(...args: string[]): Promise<string[]> {
  const child = new Child(['serve', '--in-memory', '--port', '0', ...args]);
  const url = await child.ready();
  await (await fetch(`${url}/api/v1/namespaces`)).text();
  child.signal('SIGTERM');
  await child.exited;
  return child.stderr.split('\n').filter(Boolean);
}

it('info is JSON, and tells the configuration but no request', async () => {
  const lines = (await linesOf('--log-level', 'info')).map((line) => JSON.parse(line));
  expect(lines[0]).toMatchObject({ level: 30, msg: 'configuration', store: 'memory' });
  expect(lines.some(({ msg }) => /^request/.test(msg))).toBe(false);
});

it('debug tells every request, as text when that is asked for', async () => {
  const lines = await linesOf('--log-level', 'debug', '--log-format', 'text');
  expect(lines[0]).toMatch(/^\S+Z info {2}configuration url=http:\S+ store=memory /);
  expect(lines.find((line) => /request: GET \/api\/v1\/namespaces 200/.test(line))).toMatch(
    / debug request: .* method=GET url=\/api\/v1\/namespaces verb=list code=200 ms=\d+ user=system:unsecured /,
  );
});

it.each(isRelease ? ['json', 'text'] : ['json'])(
  'a log that cannot be written as %s does not end the server',
  async (format) => {
    const full = openSync('/dev/full', 'w');
    const args = ['serve', '--in-memory', '--port', '0', '--log-level', 'debug', '--log-format', format];
    const server = spawn(process.execPath, [command, ...args], { stdio: ['ignore', 'pipe', full] });
    closeSync(full);
    onTestFinished(() => void server.kill('SIGKILL'));
    const [line] = await once(server.stdout!.setEncoding('utf8'), 'data');
    const url = /http:\S+/.exec(line)![0];
    for (let i = 0; i < 20; i++) expect((await fetch(`${url}/healthz`)).status).toBe(200);
    server.kill('SIGTERM');
    expect(await once(server, 'exit')).toEqual([0, null]);
  },
);

it('the default tells nothing of it', async () => {
  expect(await linesOf()).toEqual([]);
});
