/** Proves that text of others cannot command a terminal, nor show itself in another order. */
import { expect, it } from 'vitest';
import { escapedLines, escapedText, terminalJson, terminalText } from './terminal-text.ts';

it('replaces control characters, breaks of lines and marks of direction, and nothing else', () => {
  expect(terminalText('a\u001b[31mb\u009b2Jc\r\nd\te\u0000f\u007fg')).toBe('a [31mb 2Jc d e f g');
  const marks = ['\u061c', '\u200e', '\u200f', '\u2028', '\u2029', '\u202a', '\u202e', '\u2066', '\u2069'];
  for (const mark of marks) expect(terminalText(`gnp${mark}.exe`), JSON.stringify(mark)).toBe('gnp .exe');
  const words = 'Fährmann – 渡し舟 – מעבורת – 👩\u200d🚀 \u00a0 → …';
  expect(terminalText(words)).toBe(words);
  expect(escapedText(words)).toBe(words);
});

it('can be read in logs', () => {
  expect(escapedText('a\n\u001b[31m\u009b\u007fb\u202e')).toBe('a\\n\\u001b[31m\\u009b\\u007fb\\u202e');
});

it('is the same value as JSON, and the same lines', () => {
  const value = { a: 'x\u009b31m\u202e\u2028\u0085\n"', 'k\u007f': ['\u200f'] };
  for (const indent of [undefined, 2]) {
    const text = terminalJson(value, indent);
    expect(text).toMatch(/^[\n\x20-\x7e]*\n$/);
    expect(JSON.parse(text)).toEqual(value);
    expect(text.split('\n')).toHaveLength(JSON.stringify(value, null, indent).split('\n').length + 1);
  }
  expect(escapedLines('one\ntwo\u009b2J\n')).toBe('one\ntwo\\u009b2J\n');
});
