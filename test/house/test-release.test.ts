/** Proves that `npm run test:release` runs its parts in turn or by name, says so, and stops at the first that fails. */
import { spawnSync } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';

const script = join(import.meta.dirname, '../../scripts/test-release.mjs');

/** Scripts that note how they were called, and fail if they are told to. */
const stub = `
import { appendFileSync } from 'node:fs';
import { basename } from 'node:path';
const { FAILS = '', WHERRY_RELEASE: release, WHERRY_PLAIN: plain, WHERRY_DAMAGES: damages } = process.env;
const call = [basename(process.argv[1]), ...process.argv.slice(2)].join(' ');
appendFileSync('calls', JSON.stringify({ call, release, plain, damages }) + '\\n');
if (call === FAILS) process.exit(3);
`;

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'wherry-tiers-'));
  mkdirSync(join(folder, 'scripts'));
  cpSync(script, join(folder, 'scripts/test-release.mjs'));
  for (const name of ['test', 'check', 'attack', 'machines', 'versions'])
    writeFileSync(join(folder, `scripts/${name}.mjs`), stub);
});
afterAll(() => rmSync(folder, { recursive: true }));

function run(args: readonly string[], fails = '') {
  writeFileSync(join(folder, 'calls'), '');
  const { WHERRY_RELEASE: _, WHERRY_PLAIN: _plain, WHERRY_DAMAGES: _damages, ...env } = process.env;
  const { status, stdout } = spawnSync(
    process.execPath,
    [join(folder, 'scripts/test-release.mjs'), ...args],
    { encoding: 'utf8', env: { ...env, FAILS: fails } },
  );
  const calls = readFileSync(join(folder, 'calls'), 'utf8').trim();
  return { status, stdout, calls: calls ? calls.split('\n').map((line) => JSON.parse(line)) : [] };
}

let whole: ReturnType<typeof run> | undefined;
/** All parts, which are run once for the tests that look at them. */
const wholeRun = () => (whole ??= run([]));

it('runs every part in turn', () => {
  const { status, stdout, calls } = wholeRun();
  expect(calls).toEqual([
    { call: 'test.mjs', release: '1' },
    { call: 'check.mjs --requests 1000000' },
    { call: 'test.mjs src/store/damage.alone.test.ts', damages: '5000' },
    { call: 'test.mjs test/clusters/soak.alone.release.test.ts', release: '1' },
    { call: 'check.mjs --minutes 30' },
    { call: 'attack.mjs' },
    { call: 'test.mjs', plain: '1' },
    { call: 'machines.mjs' },
    { call: 'versions.mjs' },
  ]);
  expect(stdout).toMatch(
    /^Part 1 of 9, suites: .*\n(?:.*\n)*Part 9 of 9, versions: .*\nPassed: suites, requests/,
  );
  expect(status).toBe(0);
});

it('runs what is named, and files that it names are there', () => {
  const { status, calls } = run(['plain', 'soak']);
  expect(calls.map(({ call }) => call)).toEqual([
    'test.mjs',
    'test.mjs test/clusters/soak.alone.release.test.ts',
  ]);
  expect(status).toBe(0);
  for (const { call } of wholeRun().calls)
    for (const [name] of String(call).matchAll(/\S+\.test\.ts/g))
      expect(readFileSync(name, 'utf8')).not.toBe('');
});

it('stops at the first part that fails, and says what was not run', () => {
  const { status, stdout, calls } = run([], 'check.mjs --minutes 30');
  expect(calls).toHaveLength(5);
  expect(stdout).toContain('The part checker failed. Again: npm run test:release -- checker\n');
  expect(stdout).toContain('Not run: attacks, plain, machines, versions\n');
  expect(status).toBe(1);
});

it('lists its parts, refuses others, and then runs nothing', () => {
  expect(run(['--list'])).toMatchObject({ status: 0, calls: [], stdout: expect.stringMatching(/^suites: /) });
  expect(run(['soak', 'boak'])).toMatchObject({
    status: 1,
    calls: [],
    stdout: expect.stringMatching(/^There is no part boak; there are suites, /),
  });
  expect(run(['--soak'])).toMatchObject({ status: 1, calls: [] });
});
