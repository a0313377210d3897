/** Proves which source of an option wins, for which commands a source counts, and what is said of each. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, describe, expect, it, onTestFinished } from 'vitest';
import { printedConfig } from '../cluster/config/config-command.ts';
import { fileForms, sourcedOptions, unknownVariables } from './option-sources.ts';
import { type ClusterLine, readCommandLine } from './options.ts';

const folder = mkdtempSync(path.join(tmpdir(), 'wherry-sources-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

function fileOf(text: string): string {
  const file = path.join(folder, 'dev.yaml');
  writeFileSync(file, text);
  return file;
}

const lineOf = (args: string[], environment: Record<string, string> = {}): ClusterLine =>
  readCommandLine(args, { environment }) as ClusterLine;

describe('options', () => {
  it('come from the command line, the file, the environment and defaults, in this order', () => {
    const file = fileOf('port: 2\nui: off\nsecure-port: off');
    const environment = { WHERRY_PORT: '3', WHERRY_UI: 'on', WHERRY_HOST: '::1', WHERRY_IN_MEMORY: '1' };
    const given = ['up', '--config', file];
    expect(lineOf([...given, '--port', '1'], environment).start).toMatchObject({
      port: 1,
      ui: false,
      host: '::1',
      store: 'memory',
    });
    expect(lineOf(given, environment).start.port).toBe(2);
    expect(lineOf(['up', '--config', 'off'], environment).start).toMatchObject({ port: 3, ui: true });
    expect(lineOf(['up', '--config', 'off']).start.port).toBe(8080);
  });

  it('of the environment count for commands that take them, and name the file, too', () => {
    const environment = { WHERRY_DATA_DIR: '/data', WHERRY_PORT: '7', WHERRY_ALL: 'true' };
    expect(readCommandLine(['cleanup', '--config', 'off'], { environment })).toMatchObject({
      dataDir: '/data',
      all: false,
    });
    expect(lineOf(['serve'], { WHERRY_CONFIG: fileOf('port: 5') }).start.port).toBe(5);
  });

  it('of the environment are lists and switches, or refused by their names', () => {
    const environment = {
      WHERRY_TLS_SAN: 'a\nb',
      WHERRY_IN_MEMORY: 'false',
      WHERRY_ANONYMOUS_AUTH: 'false',
      WHERRY_PORT: '',
    };
    const { start } = lineOf(['serve', '--config', 'off'], environment);
    expect(start).toMatchObject({
      store: 'lmdb',
      port: 8080,
      secure: { sans: ['a', 'b'], anonymous: false },
    });
    const refused = (name: string, value: string) => () =>
      lineOf(['up', '--config', 'off'], { [name]: value });
    expect(refused('WHERRY_PORT', 'x')).toThrow('WHERRY_PORT must be a number from 0 to 65535, not "x"');
    expect(refused('WHERRY_IN_MEMORY', 'maybe')).toThrow(
      'WHERRY_IN_MEMORY must be true or false, not "maybe"',
    );
    expect(unknownVariables({ WHERRY_PROT: '1', WHERRY_PORT: '1', HOME: '/' })).toEqual(['WHERRY_PROT']);
  });

  it('of a file count for other commands as far as these take them', () => {
    const file = fileOf('data-dir: /elsewhere\nport: 1');
    expect(readCommandLine(['token', 'list', '--config', file], { environment: {} })).toMatchObject({
      dataDir: '/elsewhere',
    });
  });

  it('need no other sources', () => {
    expect(lineOf(['up'], undefined).start.port).toBe(8080);
  });
});

describe('the form of the log', () => {
  it.each([
    [true, [], 'text'],
    [true, ['--log-format', 'json'], 'json'],
    [false, [], 'json'],
    [false, ['--log-format', 'text'], 'text'],
  ] as const)('on a terminal %s, with %j: %s', (isTerminal, flags, format) => {
    const { isTTY } = process.stderr;
    onTestFinished(() => void (process.stderr.isTTY = isTTY));
    process.stderr.isTTY = isTerminal;
    expect(lineOf(['up', ...flags]).log.format).toBe(format);
  });
});

describe('what is printed', () => {
  it('is a file that gives the same options, and says where each comes from', () => {
    const file = fileOf('secure-port: off\ncontrollers: ["*", -job]\nmanifests: [k8s]');
    const sourced = (name: string) =>
      sourcedOptions(
        'up',
        new Map([
          ['config', [name]],
          ['host', ['::1']],
        ]),
        { environment: { WHERRY_UI: 'off' } },
        (message) => {
          throw new Error(message);
        },
      );
    const text = printedConfig(sourced(file), fileForms());
    expect(text).toContain(`secure-port: off  # ${file}\n`);
    expect(text).toContain('ui: off  # WHERRY_UI\n');
    expect(text).toContain('host: "::1"  # command line\n');
    expect(text).toContain('# port: 8080  # default\n');
    const again = path.join(folder, 'again.yaml');
    writeFileSync(again, text);
    expect(sourced(again).flags.get('controllers')).toEqual(['*,-job']);
    expect(sourced(again).flags.get('manifests')).toEqual([path.join(folder, 'k8s')]);
  });
});
