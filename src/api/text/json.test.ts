/** Proves that JSON is read as JSON.parse reads it, within bounds, and refused in Go's words. */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { rounds } from '../../../test/support/tier.ts';
import {
  countKeys,
  depthMax,
  duplicatesMax,
  findDuplicates,
  JsonError,
  readJson,
  readJsonText,
  syntaxError,
} from './json.ts';
import { jsonText } from './json-text.ts';

const read = (text: string) => readJson(Buffer.from(text));

describe('readJson', () => {
  test('gives what JSON.parse gives, and as many keys as the value has', () => {
    fc.assert(
      fc.property(fc.jsonValue({ maxDepth: 6, noUnicodeString: false }), fc.nat(4), (value, indent) => {
        const text = JSON.stringify(value, undefined, indent);
        const document = read(text);
        // Not as JSON.stringify(), which refuses the integers beyond 2^53 that are read as such.
        expect(jsonText(document.value)).toBe(JSON.stringify(value));
        expect(document.keyCount).toBe(countKeys(document.value));
        expect(findDuplicates(text)).toEqual([]);
      }),
    );
  });

  test('is not misled by quotes, colons and backslashes inside strings', () => {
    const tricky = { 'a\\': 'b\\\\"', '":{': '[\\', 'c\\"': ['\\\\\\"', ':', '{'], é: '\u2028"' };
    const { value, keyCount } = read(JSON.stringify(tricky));
    expect(value).toEqual(tricky);
    expect(keyCount).toBe(4);
  });

  test('keeps __proto__ as an ordinary key', () => {
    const { value, keyCount } = read('{"__proto__":{"a":1}}');
    expect(Object.keys(value as object)).toEqual(['__proto__']);
    expect(countKeys(value)).toBe(keyCount);
  });

  test('refuses invalid UTF-8', () => {
    expect(() => readJson(Buffer.from([0x22, 0xff, 0x22]))).toThrow(new JsonError('invalid UTF-8'));
    expect(() => readJson(Buffer.from([0x22, 0xed, 0xa0, 0x80, 0x22]))).toThrow('invalid UTF-8');
  });

  test('allows depthMax levels and not one more', () => {
    expect(read('['.repeat(depthMax) + ']'.repeat(depthMax)).keyCount).toBe(0);
    const deep = depthMax + 1;
    expect(() => read('['.repeat(deep) + ']'.repeat(deep))).toThrow('exceeded max depth');
    expect(() => read('{"a":'.repeat(3_000_000 / 5))).toThrow('exceeded max depth');
  });

  test('reads half a surrogate pair as U+FFFD and leaves whole pairs and escaped backslashes alone', () => {
    expect(read('{"\\ud800":"\\uDC00x"}').value).toEqual({ '\ufffd': '\ufffdx' });
    expect(read('"\\ud83d\\ude00 \\\\ud800 \\u0041"').value).toBe('😀 \\ud800 A');
  });
});

test('countKeys does not recurse', () => {
  let value: unknown = null;
  for (let level = 0; level < 200_000; level += 1) value = { a: value };
  expect(countKeys(value)).toBe(200_000);
});

describe('findDuplicates', () => {
  const cases: [text: string, paths: string[]][] = [
    ['{"a":1,"a":2}', ['a']],
    ['{"data":{"a":"1","b":"2","a":"3"}}', ['data.a']],
    ['{"spec":{"containers":[{"name":"a","name":"b"}]}}', ['spec.containers[0].name']],
    ['{"l":[[1,2],[{"x":[]},{"y":{},"y":[{}]}]]}', ['l[1][1].y']],
    ['{"b":{"c":1,"c":1},"a":1,"b":2,"a":3,"a":4}', ['b.c', 'b', 'a']],
    ['{"\\u0061":1,"a":2}', ['a']],
    ['{"a\\"":1,"a\\"":"}"}', ['a"']],
    ['[{"a":1},{"a":1}]', []],
    ['{"a":{"a":{"a":1}}}', []],
  ];
  test.each(cases)('%s', (text, paths) => {
    expect(findDuplicates(text).map(({ path }) => path)).toEqual(paths);
    const { value, keyCount } = read(text);
    expect(countKeys(value) < keyCount).toBe(paths.length > 0);
  });

  test('stops after duplicatesMax findings', () => {
    const text = `[${Array(500).fill('{"a":1,"a":2}').join()}]`;
    expect(findDuplicates(text)).toHaveLength(duplicatesMax);
    expect(findDuplicates(text)[99]).toEqual({ path: '[99].a', after: '[99].a' });
  });

  test('does not multiply long paths', () => {
    const text = `{"${'x'.repeat(1_000_000)}":[${Array(500).fill('{"a":1,"a":2}').join()}]}`;
    expect(findDuplicates(text)).toHaveLength(1);
  });

  test('ends on broken text as well', () => {
    for (const text of ['', '{"a', ']]]', '{"a":1,"a', '}"a":1,"a":2'])
      expect(findDuplicates(text)).toEqual([]);
  });
});

describe('errors', () => {
  /** Texts as Go's encoding/json gives them. */
  const cases: [text: string, message: string][] = [
    ['', 'unexpected end of JSON input'],
    ['  \n', 'unexpected end of JSON input'],
    ['{"a":', 'unexpected end of JSON input'],
    ['{"a":"b', 'unexpected end of JSON input'],
    ['[1,', 'unexpected end of JSON input'],
    ['tru', 'unexpected end of JSON input'],
    ['-', 'unexpected end of JSON input'],
    ['hello', "invalid character 'h' looking for beginning of value"],
    ['[1,]', "invalid character ']' looking for beginning of value"],
    ['[,1]', "invalid character ',' looking for beginning of value"],
    ['{"a":}', "invalid character '}' looking for beginning of value"],
    ["'a'", "invalid character '\\'' looking for beginning of value"],
    ['\u0000', "invalid character '\\x00' looking for beginning of value"],
    ['é', "invalid character 'Ã' looking for beginning of value"],
    ['\ufeff{}', "invalid character 'ï' looking for beginning of value"],
    ['{a:1}', "invalid character 'a' looking for beginning of object key string"],
    ['{"a":1,}', "invalid character '}' looking for beginning of object key string"],
    ['{,}', "invalid character ',' looking for beginning of object key string"],
    ['{"a" 1}', "invalid character '1' after object key"],
    ['{"a":1 a', "invalid character 'a' after object key:value pair"],
    ['{"a":1]', "invalid character ']' after object key:value pair"],
    ['[1 2]', "invalid character '2' after array element"],
    ['[01]', "invalid character '1' after array element"],
    ['[1}', "invalid character '}' after array element"],
    ['{} x', "invalid character 'x' after top-level value"],
    ['1 "', "invalid character '\"' after top-level value"],
    ['"a\nb"', "invalid character '\\n' in string literal"],
    ['"a\u0001b"', "invalid character '\\x01' in string literal"],
    ['"\\x"', "invalid character 'x' in string escape code"],
    ['"\\u12g4"', "invalid character 'g' in \\u hexadecimal character escape"],
    ['tap', "invalid character 'a' in literal true (expecting 'r')"],
    ['falsy', "invalid character 'y' in literal false (expecting 'e')"],
    ['nil', "invalid character 'i' in literal null (expecting 'u')"],
    ['-x', "invalid character 'x' in numeric literal"],
    ['1.x', "invalid character 'x' after decimal point in numeric literal"],
    ['1ex', "invalid character 'x' in exponent of numeric literal"],
    ['1e+-', "invalid character '-' in exponent of numeric literal"],
  ];
  test.each(cases)('%j', (text, message) => {
    expect(() => read(text)).toThrow(new JsonError(message));
  });

  test('the scanner refuses exactly what JSON.parse refuses', () => {
    const nearly = fc
      .tuple(
        fc.json({ maxDepth: 4 }),
        fc.nat(),
        fc.constantFrom('', ',', '"', '\\', '{', ']', '1', 'e', '\u0001', '🛶'),
      )
      .map(([text, seed, insert]) => {
        const at = seed % (text.length + 1);
        return text.slice(0, at) + insert + text.slice(at + (seed % 3));
      });
    fc.assert(
      fc.property(nearly, (text) => {
        let fine = true;
        try {
          JSON.parse(text);
        } catch {
          fine = false;
        }
        expect(syntaxError(text) === 'invalid JSON').toBe(fine);
        if (!fine) expect(() => readJsonText(text)).toThrow(JsonError);
      }),
      { numRuns: rounds(1000) },
    );
  });
});
