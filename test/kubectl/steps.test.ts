/**
 * Proves how a script is parsed for each version of kubectl: its own lines, its own commands, and the common
 * ones.
 */
import { expect, test } from 'vitest';
import { parse } from './script.ts';

const script = `a remark
$ first
1.20| old words
1.32| new words
1.32| more words
the same words
[1]

1.20| $ old command
1.32| ~ new command
shared answer

1.20| $ gone
1.20| its words

< file
1.20| x
1.32| y
content
`;

const stepsFor = (version: string) =>
  parse(script, version).map(({ mark, text, content }) => [`${mark} ${text}`, ...content]);

test('a version whose words are kept has its own lines and commands', () => {
  expect(stepsFor('1.20')).toEqual([
    ['$ first', 'old words', 'the same words', '[1]'],
    ['$ old command', 'shared answer'],
    ['$ gone', 'its words'],
    ['< file', 'x', 'content'],
  ]);
  expect(stepsFor('1.32')).toEqual([
    ['$ first', 'new words', 'more words', 'the same words', '[1]'],
    ['~ new command', 'shared answer'],
    ['< file', 'y', 'content'],
  ]);
});

test('another version has the commands of the newest, and may say anything where they differ', () => {
  expect(stepsFor('1.28')).toEqual([
    ['$ first', '...', 'the same words', '[1]'],
    ['~ new command', 'shared answer'],
    ['< file', 'y', 'content'],
  ]);
});
