/**
 * Proves that the helpers for tests in Go, Python, Java and .NET, each one file, do what their own tests say, with the
 * built command: at a terminal, and as a user without the rights of root.
 */
import { execFile, spawnSync } from 'node:child_process';
import {
  chownSync,
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, it } from 'vitest';
import { Terminal } from '../streams/pty.ts';
import { type Dotnet, findDotnet } from '../support/dotnet.ts';
import { describeWith } from '../support/tools.ts';

const root = path.join(import.meta.dirname, '../..');
const execute = promisify(execFile);
const env = {
  ...process.env,
  WHERRY: `${process.execPath} ${path.join(root, 'dist/cli.cjs')}`,
  GOCACHE: path.join(root, '.cache/wherry-go'),
  CGO_ENABLED: '0',
  PYTHONDONTWRITEBYTECODE: '1',
};
/** Another user can be chosen by root alone; anybody else is that user already. */
const nobody = process.getuid?.() === 0 ? { uid: 65_534, gid: 65_534 } : {};

/** A program as a person starts it. */
const terminal = (
  program: string,
  args: readonly string[],
  variables: Readonly<Record<string, string>>,
  place: { cwd: string; uid?: number; gid?: number },
): Terminal =>
  new Terminal({ kubectl: { program, environment: { ...env, ...variables } } }, args, {
    cols: 200,
    rows: 50,
    ...place,
  });

/** A file that the page about tests shows, named in its first line. */
function shownFile(language: string, name: string): string {
  const text = readFileSync(path.join(root, 'docs/testing.md'), 'utf8');
  const blocks = [...text.matchAll(/^```(\w+)\n([\s\S]*?)^```$/gm)];
  return blocks.find(
    ([, kind, body]) => kind === language && body!.split('\n')[0]!.endsWith(` ${name}`),
  )![2]!;
}

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
    const folder = mkdtempSync(path.join(tmpdir(), 'wherry-pytest-'));
    const shown = path.join(folder, 'test_jobs.py');
    writeFileSync(shown, shownFile('python', 'test_jobs.py'));
    try {
      const typed = terminal('python3', [...args, cwd, shown], { PYTHONPATH: cwd }, { cwd });
      expect(await typed.exited, typed.screen).toBe(0);
      expect(typed.screen).toContain('6 passed');
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  });
});

/** Where Debian's package junit5 has its parts. */
const javaFolder = '/usr/share/java';
const junit = [
  ...['jupiter-api', 'jupiter-engine', 'jupiter-params'],
  ...['platform-commons', 'platform-engine', 'platform-launcher', 'platform-console', 'platform-reporting'],
].map((part) => `junit-${part}.jar`);
const jars = [
  ...junit,
  ...['opentest4j.jar', 'opentest4j-reporting-events.jar', 'opentest4j-reporting-schema.jar'],
  ...['apiguardian-api.jar', 'picocli.jar'],
].map((file) => path.join(javaFolder, file));
const hasJUnit = spawnSync('javac', ['--version']).status === 0 && jars.every((file) => existsSync(file));

// JUnit is no package that the tests install: apt-get install junit5 default-jdk-headless.
describe.skipIf(!hasJUnit)('the extension for JUnit', () => {
  it('resets, settles, moves the clock and makes requests fail', async () => {
    const cwd = path.join(root, 'examples/junit');
    const classes = mkdtempSync(path.join(tmpdir(), 'wherry-junit-classes-'));
    try {
      const libraries = jars.join(path.delimiter);
      const shown = path.join(classes, 'JobsTest.java');
      writeFileSync(shown, shownFile('java', 'JobsTest.java'));
      const sources = [...readdirSync(cwd).filter((file) => file.endsWith('.java')), shown];
      await execute('javac', ['-Werror', '-d', classes, '-cp', libraries, ...sources], { cwd });
      if (nobody.uid !== undefined) chownSync(classes, nobody.uid, nobody.gid);
      const args = [
        ...['-cp', [classes, libraries].join(path.delimiter)],
        'org.junit.platform.console.ConsoleLauncher',
        ...['--scan-classpath', classes, '--disable-banner', '--disable-ansi-colors'],
      ];
      const alone = { HOME: classes, WHERRY_DOCKER_SOCKET: 'off', WHERRY_CRI_SOCKET: 'off' };
      const typed = terminal('java', args, alone, { cwd: classes, ...nobody });
      expect(await typed.exited, typed.screen).toBe(0);
      expect(typed.screen).toMatch(/\[ +6 tests successful +\]/);
    } finally {
      rmSync(classes, { recursive: true, force: true });
    }
  });
});

const found = await findDotnet();
const noDotnet = typeof found === 'string' ? ` (left out: ${found})` : '';

describe.skipIf(noDotnet)(`the fixture for xUnit${noDotnet}`, () => {
  it('resets, settles, moves the clock and makes requests fail', async () => {
    const { program, variables, compiled } = found as Dotnet;
    const cwd = path.join(root, 'examples/dotnet');
    const target = mkdtempSync(path.join(tmpdir(), 'wherry-dotnet-'));
    try {
      const shown = path.join(target, 'JobsTests.cs');
      writeFileSync(shown, shownFile('csharp', 'JobsTests.cs'));
      const files = readdirSync(cwd).map((file) => path.join(cwd, file));
      const standIn = path.join(root, 'test/support/dotnet/Xunit.cs');
      const tests = await compiled([...files, shown, standIn], target, 'exe');
      if (nobody.uid !== undefined) chownSync(target, nobody.uid, nobody.gid);
      const alone = { ...variables, HOME: target, WHERRY_DOCKER_SOCKET: 'off', WHERRY_CRI_SOCKET: 'off' };
      const typed = terminal(program, [tests], alone, { cwd: target, ...nobody });
      expect(await typed.exited, typed.screen).toBe(0);
      expect(typed.screen.match(/^passed /gm)).toHaveLength(4);
    } finally {
      rmSync(target, { recursive: true, force: true });
    }
  });
});
