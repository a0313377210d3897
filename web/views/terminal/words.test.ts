/** Proves that a typed command becomes the words that a shell would pass on, without expanding anything. */
import { expect, test } from 'vitest';
import { wordsOf } from './words.ts';

test.each([
  ['ls -l /tmp', ['ls', '-l', '/tmp']],
  [`sh -c 'echo "a  b" $HOME'`, ['sh', '-c', 'echo "a  b" $HOME']],
  [String.raw`echo "a \"b\"" c\ d ''`, ['echo', 'a "b"', 'c d', '']],
  ['  ', []],
  [`echo 'open`, ['echo', 'open']],
])('%s', (text, words) => expect(wordsOf(text)).toEqual(words));
