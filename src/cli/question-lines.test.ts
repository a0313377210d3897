/** Proves that questions about the past are read from the command line, and wrong ones refused with a sentence. */
import { expect, it } from 'vitest';
import { readCommandLine } from './options.ts';

const read = (line: string) => readCommandLine(line.split(' '));

it('reads an object by one word or two', () => {
  const past = { resource: 'deploy', object: 'web', namespace: 'shop', since: '1h', diff: true };
  expect(read('history deploy/web -n shop --since 1h --diff')).toEqual({ command: 'history', past });
  expect(read('history deploy web -n shop --since 1h --diff')).toEqual({ command: 'history', past });
});

it('reads what happened, and objects as they were', () => {
  expect(read('timeline -n shop --kinds pods,deploy -o json --name dev')).toEqual({
    command: 'timeline',
    past: { namespace: 'shop', kinds: ['pods', 'deploy'], format: 'json', name: 'dev' },
  });
  expect(read('at 15m get pods web-1 web-2 -A -l app=web -o yaml --context prod')).toEqual({
    command: 'at',
    past: {
      ...{ moment: '15m', what: 'pods', objects: ['web-1', 'web-2'], context: 'prod' },
      ...{ allNamespaces: true, selector: 'app=web', shape: 'yaml' },
    },
  });
});

it.each([
  ['history', 'history takes one object: wherry history KIND/NAME'],
  ['history deploy/web/x', 'history takes one object'],
  ['timeline pods', 'timeline takes options only'],
  ['at 15m pods', 'at takes a time and what to get'],
  ['history deploy/web --server http://a --name dev', '--server, --kubeconfig and --name exclude each other'],
  ['history deploy/web --server ftp://a', '--server must be a URL'],
  ['timeline --diff', 'timeline does not take --diff'],
])('refuses %j', (line, why) => {
  expect(() => read(line)).toThrow(why);
});
