/** Proves that different parts never make the same key. */
import { describe, expect, it } from 'vitest';
import { composedKey } from './composed-key.ts';

const characters = ['', 'a', '\0', '\u0001', 's', 'm', '\n', '/', ' ', '|', ':'];

function* textsOf(charsMax: number): Generator<string> {
  yield '';
  if (charsMax === 0) return;
  for (const first of characters.slice(1)) for (const rest of textsOf(charsMax - 1)) yield first + rest;
}

describe('composed keys', () => {
  it('differ when the parts do, or their number', () => {
    const texts = [...new Set(textsOf(2))];
    const seen = new Map<string, string>();
    const check = (...parts: string[]): void => {
      const key = composedKey(...parts);
      const told = JSON.stringify(parts);
      expect(seen.get(key) ?? told).toBe(told);
      seen.set(key, told);
    };
    for (const one of texts) {
      check(one);
      for (const two of texts) check(one, two);
    }
    for (const one of characters)
      for (const two of characters) for (const three of characters) check(one, two, three);
    expect(seen.size).toBeGreaterThan(10_000);
  });

  it('are the same for the same parts', () => {
    expect(composedKey('admin', 'group\0')).toBe(composedKey('admin', 'group\0'));
  });
});
