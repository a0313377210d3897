/** Proves how flags with a truth may be written. */
import { expect, it } from 'vitest';
import { optionFor } from '../cluster/options/option.ts';
import { text, truth } from '../cluster/options/values.ts';
import { FlagTable } from './flag-reading.ts';

const option = optionFor('serve');
const table = new FlagTable([
  {
    anonymous: option({ flag: 'anonymous-auth', value: truth, text: '' }),
    privileged: option({ flag: 'allow-privileged', value: truth, text: '' }),
    dataDir: option({ flag: 'data-dir', value: text('FOLDER'), text: '' }),
  },
]);

const refuse = (message: string): never => {
  throw new Error(message);
};

it.each<[string[], object, string[]]>([
  [['--anonymous-auth'], { 'anonymous-auth': ['true'] }, []],
  [['--anonymous-auth', 'false'], { 'anonymous-auth': ['false'] }, []],
  [
    ['--anonymous-auth', 'true', '--allow-privileged'],
    { 'anonymous-auth': ['true'], 'allow-privileged': ['true'] },
    [],
  ],
  [['--anonymous-auth=false', 'false'], { 'anonymous-auth': ['false'] }, ['false']],
  [['--anonymous-auth', '--data-dir', 'false'], { 'anonymous-auth': ['true'], 'data-dir': ['false'] }, []],
  [['--anonymous-auth', 'no'], { 'anonymous-auth': ['true'] }, ['no']],
])('%j is read as %j and %j', (given, flags, words) => {
  const read = table.parse(given, refuse);
  expect({ flags: Object.fromEntries(read.flags), words: read.words }).toEqual({ flags, words });
});

it('flags that there are not stay refused before a truth', () => {
  expect(() => table.parse(['--constructor', 'false'], refuse)).toThrow('there is no option');
});
