/** Proves how the command lines of open and import are read, and which are refused. */
import { expect, it, test } from 'vitest';
import { readCommandLine } from './options.ts';

const read = (...args: string[]): unknown => readCommandLine(args);

it('open takes paths, the local door and --writable', () => {
  expect(read('open', 'a.tar.gz', 'b', '--port', '0', '--writable')).toMatchObject({
    command: 'open',
    paths: ['a.tar.gz', 'b'],
    options: { port: 0, writable: true },
  });
  expect(read('open', 'a')).toMatchObject({ options: { port: 8080 } });
});

it('import takes what is to be copied', () => {
  const line = [
    ...[
      'import',
      '--data-dir',
      'd',
      '--kubeconfig',
      'k',
      '--context',
      'c',
      '--namespaces',
      'a,b',
      '--kinds',
      'pods',
    ],
    ...['--selector', 'x=y', '--rate', '5', '--alive'],
  ];
  expect(read(...line)).toEqual({
    command: 'import',
    options: {
      dataDir: 'd',
      kubeconfig: 'k',
      context: 'c',
      namespaces: ['a', 'b'],
      kinds: ['pods'],
      selector: 'x=y',
      requestsPerSecond: 5,
      alive: true,
      secrets: 'keys',
    },
  });
  expect(read('import', '--name', 'dev')).toEqual({
    command: 'import',
    options: { into: { name: 'dev' }, secrets: 'keys' },
  });
  expect(read('import', '--into', 'http://a:1')).toMatchObject({
    options: { into: { server: 'http://a:1' } },
  });
  expect(read('import', '--into-context', 'dev')).toEqual({
    command: 'import',
    options: { into: { context: 'dev' }, secrets: 'keys' },
  });
  expect(read('import', '--kubeconfig', 'k', '--context', 'prod', '--into-context', 'dev')).toMatchObject({
    options: { kubeconfig: 'k', context: 'prod', into: { kubeconfig: 'k', context: 'dev' } },
  });
  expect(read('import', '--kubeconfig', 'k', '--into-kubeconfig', 'd')).toMatchObject({
    options: { kubeconfig: 'k', into: { kubeconfig: 'd' } },
  });
  expect(read('import')).toMatchObject({ options: { dataDir: 'copy', secrets: 'keys' } });
  expect(read('import', '--with-secrets')).toMatchObject({ options: { secrets: 'values' } });
  expect(read('import', '--no-secrets')).toMatchObject({ options: { secrets: 'none' } });
});

test.each([
  [['open'], 'open needs what to open: wherry open PATH…'],
  [['open', 'a', '--port', 'off'], 'open needs the port for plain HTTP'],
  [['open', 'a', '--data-dir', 'b'], 'open does not take --data-dir'],
  [['import', 'a'], 'import takes options only, not "a"'],
  [['import', '--into', 'x'], '--into must be a URL'],
  [['import', '--name', 'a', '--data-dir', 'b'], '--data-dir, --into, --into-kubeconfig or --into-context'],
  [['import', '--into', 'http://a:1', '--into-context', 'b'], 'and --name exclude each other'],
  [['import', '--rate', '0'], '--rate must be at least 1'],
  [['import', '--with-secrets', '--no-secrets'], '--with-secrets and --no-secrets exclude each other'],
])('%j is refused', (args, says) => {
  expect(() => readCommandLine(args)).toThrow(says);
});
