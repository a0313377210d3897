// Proves that no existing key is reported as missing, after any changes, and that nearly all missing keys are.
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { KeyFilter } from './key-filter.ts';

describe('KeyFilter', () => {
  it('holds what was added and not taken out, as a multiset does', () => {
    const key = fc.integer({ min: 0, max: 60 }).map((n) => `pods\0default\0web-${n}`);
    const step = fc.record({ add: fc.boolean(), key });
    fc.assert(
      fc.property(fc.array(step, { maxLength: 4000 }), (steps) => {
        const filter = new KeyFilter();
        const model = new Map<string, number>();
        for (const { add, key } of steps) {
          const count = model.get(key) ?? 0;
          if (!add && count === 0) continue;
          if (add) filter.add(key);
          else filter.delete(key);
          model.set(key, count + (add ? 1 : -1));
        }
        for (const [key, count] of model) if (count > 0) expect(filter.mayHold(key)).toBe(true);
        expect(filter.size).toBe([...model.values()].reduce((sum, count) => sum + count, 0));
        for (const [key, count] of model) for (let i = 0; i < count; i++) filter.delete(key);
        expect(filter.size).toBe(0);
        for (const key of model.keys()) expect(filter.mayHold(key)).toBe(false);
      }),
      { numRuns: 50 },
    );
  });

  it('grows, and denies nearly all it does not hold', () => {
    const filter = new KeyFilter();
    const name = (n: number): string => `pods\0default\0pod-${String(n).padStart(6, '0')}`;
    for (let n = 0; n < 100_000; n++) filter.add(name(n));
    for (let n = 0; n < 100_000; n++) if (!filter.mayHold(name(n))) expect.fail(`${name(n)} is denied`);
    let doubted = 0;
    for (let n = 100_000; n < 200_000; n++) if (filter.mayHold(name(n))) doubted++;
    expect(doubted).toBeLessThan(50);
    for (let n = 0; n < 100_000; n += 2) filter.delete(name(n));
    for (let n = 1; n < 100_000; n += 2) if (!filter.mayHold(name(n))) expect.fail(`${name(n)} is denied`);
  });
});
