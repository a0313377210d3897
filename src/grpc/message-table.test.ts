/** Proves that messages are written and read as protocol buffers define it. */
import { describe, expect, it } from 'vitest';
import { decode, encode } from './message-table.ts';

const inner = { value: [1, 'int'] } as const;
const table = {
  text: [1, 'text'],
  flag: [2, 'flag'],
  int: [3, 'int'],
  time: [4, 'nanoseconds'],
  bytes: [5, 'bytes'],
  map: [6, 'map'],
  message: [7, inner],
  texts: [8, 'text', '*'],
  numbers: [9, 'int', '*'],
  messages: [20, inner, '*'],
} as const;

describe('a message', () => {
  it('comes back as it was written', () => {
    const message = {
      text: 'grün',
      flag: true,
      int: 2 ** 52,
      bytes: Buffer.from([0, 255]),
      map: { a: 'b', __proto__: null, empty: '' },
      message: {},
      texts: ['', 'x'],
      messages: [{ value: 7 }, {}],
    };
    expect(decode(table, encode(table, message as never))).toEqual({
      ...message,
      map: { a: 'b', empty: '' },
    });
  });

  it('has the bytes that others write', () => {
    expect(encode(table, { int: -1 }).toString('hex')).toBe('18ffffffffffffffffff01');
    expect(encode(table, { numbers: [1, 300] }).toString('hex')).toBe('4a0301ac02');
    expect(encode(table, { text: '', flag: false, int: 0, message: { value: 0 } }).toString('hex')).toBe(
      '3a00',
    );
  });

  it('has times in nanoseconds, also those before 1970', () => {
    const time = (ns: bigint) => {
      const bytes = [0x20];
      let rest = BigInt.asUintN(64, ns);
      for (; rest > 127n; rest >>= 7n) bytes.push(Number(rest & 127n) | 128);
      return decode(table, Buffer.from([...bytes, Number(rest)])).time;
    };
    expect(time(1_700_000_000_123_456_789n)).toBeCloseTo(1_700_000_000_123.456, 2);
    expect(time(-6_795_364_578_871_345_152n)).toBeLessThan(0);
  });

  it('skips fields that the table does not have, and is refused when it ends too early', () => {
    expect(decode(inner, encode(table, { text: '', texts: ['x'], flag: true, map: { a: 'b' } }))).toEqual({});
    expect(() => decode(table, Buffer.from([0x0a, 5, 1]))).toThrow('unexpected EOF');
  });

  it('has maps whose keys are only keys', () => {
    const { map } = decode(
      table,
      encode(table, { map: JSON.parse('{"__proto__":"x"}') as Record<string, string> }),
    );
    expect(Object.keys(map!)).toEqual(['__proto__']);
    expect(Object.getPrototypeOf(map)).toBe(Object.prototype);
  });
});
