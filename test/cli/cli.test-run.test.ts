/** Proves `wherry test`: the command finds its cluster, gets signals, and gives the run its exit code. */
import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { readCommandLine } from '../../src/cli/options.ts';
import { Child } from '../support/child.ts';
import { useCommand } from '../support/command.ts';
import { Client } from '../support/http.ts';
import { describeWith } from '../support/tools.ts';

const { children, run } = useCommand();

/** A command that is a script of Node. */
const script = (text: string): string[] => ['--', process.execPath, '-e', text];

const until = async <T>(found: () => T | undefined | null): Promise<T> => {
  for (const deadline = Date.now() + 60_000; ; ) {
    const value = found();
    if (value) return value;
    if (Date.now() > deadline) throw new Error('not in time');
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
};

describe('wherry test', () => {
  it('runs the command against a fresh cluster, and gives its output and exit code', async () => {
    const { code, stdout, stderr } = await run(
      'test',
      '--simulated-nodes',
      '1',
      ...script(`
        const fs = require('node:fs');
        const { clusters } = JSON.parse(fs.readFileSync(process.env.KUBECONFIG, 'utf8'));
        const url = process.env.WHERRY_URL;
        fetch(url + '/api/v1/nodes').then((answer) => answer.json()).then(({ items }) => {
          console.log(JSON.stringify({ same: clusters[0].cluster.server === url, nodes: items.length, kubeconfig: process.env.KUBECONFIG }));
          process.exitCode = 7;
        });`),
    );
    expect({ code, stderr }).toEqual({ code: 7, stderr: '' });
    const said = JSON.parse(stdout);
    expect(said).toMatchObject({ same: true, nodes: 1 });
    expect(existsSync(said.kubeconfig)).toBe(false);
  });

  it('gives the administrator of the secure door, when that is open', async () => {
    const { code, stdout } = await run(
      'test',
      '--secure-port=0',
      ...script(`
        const { clusters, users } = JSON.parse(require('node:fs').readFileSync(process.env.KUBECONFIG, 'utf8'));
        console.log(clusters[0].cluster.server.slice(0, 6), users[0].name);`),
    );
    expect({ code, stdout }).toEqual({ code: 0, stdout: 'https: wherry-admin\n' });
  });

  it('passes signals on, and ends with the code that the command then has', async () => {
    const asked = new Child(
      [
        'test',
        ...script(
          `process.on('SIGINT', () => process.exit(3)); console.log('runs'); setInterval(() => {}, 1e6)`,
        ),
      ],
      await children.folder(),
    );
    await until(() => asked.stdout.includes('runs'));
    asked.signal('SIGINT');
    expect(await asked.exited).toEqual({ code: 3, signal: null });

    const ended = new Child(
      ['test', '--keep-on-failure', ...script(`console.log('runs'); setInterval(() => {}, 1e6)`)],
      await children.folder(),
    );
    await until(() => ended.stdout.includes('runs'));
    ended.signal('SIGTERM');
    expect(await ended.exited).toEqual({ code: 143, signal: null });
  });

  it('leaves the cluster of a failed command running, when asked, and says how to look inside', async () => {
    const child = new Child(
      [
        'test',
        '--keep-on-failure',
        ...script(`
        fetch(process.env.WHERRY_URL + '/api/v1/namespaces', { method: 'POST', body: '{"metadata":{"name":"left"}}' })
          .then(() => process.exit(5));`),
      ],
      await children.folder(),
    );
    const [, url, kubeconfig] = await until(() =>
      /still runs at (\S+)\n {2}KUBECONFIG=(\S+) kubectl /.exec(child.stderr),
    );
    expect(child.stderr).toContain('the command ended with code 5');
    expect((await new Client(url!).get('/api/v1/namespaces/left')).status).toBe(200);
    expect(existsSync(kubeconfig!)).toBe(true);
    child.signal('SIGINT');
    expect(await child.exited).toEqual({ code: 5, signal: null });
    expect(existsSync(kubeconfig!)).toBe(false);
  });

  it('says what cannot be run, with the codes of a shell', async () => {
    expect(await run('test', '--', '/no/such/program')).toMatchObject({
      code: 127,
      stderr: expect.stringMatching(/^wherry: the command cannot be run: [^\n]+\n$/),
    });
  });

  it('refuses a line without a command, and options that a cluster in memory has no use for', () => {
    expect(() => readCommandLine(['test'])).toThrow(
      'test needs a command: wherry test [options] -- COMMAND…',
    );
    expect(() => readCommandLine(['test', 'npm', 'test'])).toThrow('test takes options only, not "npm"');
    for (const option of ['--data-dir=x', '--in-memory', '--token=x'])
      expect(() => readCommandLine(['test', option, '--', 'true'])).toThrow('test does not take --');
  });

  it('gives its input to the command', () => {
    const { stdout } = spawnSync(
      process.execPath,
      [new URL('../../dist/cli.cjs', import.meta.url).pathname, 'test', '--', 'cat'],
      { input: 'some words', encoding: 'utf8' },
    );
    expect(stdout).toBe('some words');
  });
});

describeWith('python3-kubernetes')('the program in Python of the page about testing', () => {
  it('passes', async () => {
    const page = readFileSync(join(import.meta.dirname, '../../docs/testing.md'), 'utf8');
    const [, program] = /^```python\n([\s\S]*?)^```$/m.exec(page)!;
    const folder = await children.folder();
    writeFileSync(join(folder, 'configmaps.py'), program!);
    const { code, stderr } = await run('test', '--', '/usr/bin/python3', join(folder, 'configmaps.py'));
    expect({ code, stderr }).toEqual({ code: 0, stderr: expect.stringMatching(/^OK$/m) });
  });
});
