/** Proves which numbers the query of a log may have: those of 64 bits, as for kubelets. */
import { describe, expect, it } from 'vitest';
import { logQueryOf } from './container-logs.ts';

const nowMs = 1_700_000_000_000;
const query = (text: string) => logQueryOf(new URLSearchParams(text), nowMs);
const largest = '9223372036854775807';

describe('the query of a log', () => {
  it('takes the largest number as all lines, all bytes and all times', () => {
    const all = Number.MAX_SAFE_INTEGER;
    expect(query(`tailLines=${largest}&limitBytes=${largest}`)).toMatchObject({
      tailLines: all,
      limitBytes: all,
    });
    expect(query(`sinceSeconds=${largest}`).sinceMs).toBe(0);
    expect(query('tailLines=%2B7&sinceSeconds=60')).toMatchObject({ tailLines: 7, sinceMs: nowMs - 60_000 });
  });

  it.each(['9223372036854775808', '1'.repeat(100_000), '1e3', '', ' 1', '0x10'])(
    'refuses %.20j, which is no number of 64 bits',
    (text) => {
      expect(() => query(`tailLines=${encodeURIComponent(text)}`)).toThrow('Unable to decode query.');
    },
  );

  it('refuses fewer than no lines', () => {
    expect(() => query(`tailLines=-${largest}`)).toThrow('Invalid request.');
  });
});
