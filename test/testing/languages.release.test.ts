/** Proves that the helpers for tests in Go and Python, each one file, do what their own tests say, with the built command. */
import { execFile, spawnSync } from 'node:child_process';
import path from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, it } from 'vitest';
import { describeWith } from '../support/tools.ts';

const root = path.join(import.meta.dirname, '../..');
const execute = promisify(execFile);
const env = {
  ...process.env,
  WHERRY: `${process.execPath} ${path.join(root, 'dist/cli.cjs')}`,
  GOCACHE: path.join(root, 'node_modules/.cache/wherry-go'),
  CGO_ENABLED: '0',
  PYTHONDONTWRITEBYTECODE: '1',
};
const hasPytest = spawnSync('python3', ['-m', 'pytest', '--version']).status === 0;

describeWith('golang')('the package for Go', () => {
  it('resets, settles, moves the clock and makes requests fail', async () => {
    const cwd = path.join(root, 'examples/go-testing');
    const { stdout } = await execute('go', ['test', '-count=1', '-v', './...'], { cwd, env });
    expect(stdout.match(/^--- PASS: /gm)).toHaveLength(4);
  });
});

// pytest is no package that the tests install.
describe.skipIf(!hasPytest)('the fixture for pytest', () => {
  it('resets, settles, moves the clock and makes requests fail', async () => {
    const cwd = path.join(root, 'examples/pytest');
    const args = ['-m', 'pytest', '-q', '-p', 'no:cacheprovider', '-p', 'no:benchmark'];
    const { stdout } = await execute('python3', args, { cwd, env });
    expect(stdout).toContain('5 passed');
  });
});
