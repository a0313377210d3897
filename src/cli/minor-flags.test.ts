/** Proves which commands take a minor of Kubernetes by its name, and what is refused. */
import { expect, it } from 'vitest';
import { readCommandLine } from './options.ts';

it.each(['up', 'serve', 'test'])('%s takes a minor', (command) => {
  const line = readCommandLine([
    command,
    '--kubernetes',
    '1.29',
    ...(command === 'test' ? ['--', 'true'] : []),
  ]);
  expect(line).toMatchObject({ command, start: { kubernetes: '1.29' } });
});

it('node says which minor it is', () => {
  const line = readCommandLine(['node', '--server', 'http://127.0.0.1:1', '--kubernetes', '1.28']);
  expect(line).toMatchObject({ command: 'node', node: { kubernetes: '1.28' } });
});

it('envtest takes several, with a folder for each', () => {
  const line = readCommandLine(['envtest', '--kubernetes', '1.27,1.30', '--store', 'folder']);
  expect(line).toMatchObject({ command: 'envtest', kubernetes: ['1.27', '1.30'] });
  expect(() => readCommandLine(['envtest', '--kubernetes', '1.27,1.30', 'folder'])).toThrow('need --store');
});
