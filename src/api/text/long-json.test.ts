/** Proves that a long text is read as a short one is, a piece at a time. */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { depthMax, findDuplicates, readJson } from './json.ts';
import { type LongDocument, pieceChars, readLongJson } from './long-json.ts';

/** What a text is read as, and the most steps that were taken at once. */
function read(text: string): { document?: LongDocument; error?: string; most: number } {
  const work = readLongJson(Buffer.from(text));
  let most = 0;
  try {
    for (;;) {
      const { done, value } = work.next();
      if (done) return { document: value, most };
      most = Math.max(most, value);
    }
  } catch (error) {
    return { error: (error as Error).message, most };
  }
}

function expectAlike(text: string): void {
  const { document, error } = read(text);
  let usual: unknown;
  try {
    usual = readJson(Buffer.from(text)).value;
  } catch (thrown) {
    return expect(error).toBe((thrown as Error).message);
  }
  expect(error).toBeUndefined();
  expect(document!.value).toEqual(usual);
  // Also the order of keys.
  const shown = (value: unknown): string =>
    JSON.stringify(value, (_key, inner) => (typeof inner === 'bigint' ? `${inner}n` : inner));
  expect(shown(document!.value)).toBe(shown(usual));
  expect(document!.duplicates).toEqual(findDuplicates(text));
}

/** Makes a text long in that member, without a change of the others. */
const filler = 'x'.repeat(pieceChars / 4);

describe('readLongJson', () => {
  test('gives what readJson gives, whatever is long in it', () => {
    const leaf = fc.oneof(
      fc.constantFrom(filler, 1, 1.5, null, true, '', '\ud83d\ude00', 'a"b\\', [], {}),
      fc.integer(),
    );
    const key = fc.constantFrom('a', 'b', '__proto__', '7', 'long\\"', 'toString');
    const { value } = fc.letrec((tie) => ({
      value: fc.oneof({ maxDepth: 4 }, leaf, tie('list'), tie('object')),
      list: fc.array(tie('value'), { maxLength: 8 }),
      object: fc.array(fc.tuple(key, tie('value')), { maxLength: 8 }).map((pairs) => new Pairs(pairs)),
    }));
    fc.assert(
      fc.property(value, fc.constantFrom('', ' ', '\n  '), (made, space) => expectAlike(textOf(made, space))),
      { numRuns: 150 },
    );
  });

  test('refuses what readJson refuses, in the same words', () => {
    const long = `"${filler}"`;
    const list = `[${`${long},`.repeat(8)}1]`;
    const object = `{"a":${long},"b":${long},"c":${long},"d":${long},"e":${long}}`;
    for (const text of [
      ...[list, object].flatMap((good) => [
        ...[`${good},`, `${good}]`, `${good}}`, `${good}x`, `,${good}`, `x${good}`, `${good}${good}`],
        ...[good.slice(0, -1), `${good.slice(0, -1)},${good.at(-1)}`, good.slice(1), good.slice(0, 100)],
        ...[`[${good} ${good}]`, `[${good},,1]`, `[,${good}]`, `[1 ${good}]`, `[${good} 1]`, `[${good}}`],
        ...[`{${good}}`, `{"a"${good}}`, `{"a":${good} "b":1}`, `{"a":1 ${good}}`, `{"a":${good},}`],
        ...[`{"a":${good},"b"}`, `{a:${good}}`, `{"a":0,"b":${good},"a":1}`, `[${good},{"a":1,"a":2}]`],
        ...[`{"a":${good},"a":${good}}`, `{"n":123456789012345678901,"l":${good}}`, `[1e400,${good}]`],
        ...[`{"\\ud800":${good},"x":"\\udc00"}`],
        // White space of JavaScript that JSON does not have.
        ...[`${good}\u00a0`, `\ufeff${good}`, `[\u2003${good}]`, `[${good}\v,1]`, `[${good},\f]`],
      ]),
      ...['', ' ', '"', '1', '[]', '{', ']', ',', `"${'\\u0041'.repeat(pieceChars)}"`],
      ...['['.repeat(depthMax + 1) + list, '['.repeat(3_000_000), '{"a":'.repeat(600_000)],
    ])
      expectAlike(text);
  });

  test('reads little at once, whether the text is right, wrong at its end, or repeats a key there', () => {
    const items = Array.from({ length: 6_000 }, (_, i) => `{"f:k${i}":{"x":[${i}]}}`).join();
    for (const text of [
      `{"metadata":{"managedFields":[${items}]}}`,
      `{"metadata":{"managedFields":[${items}]}`,
      `[${items},{"a":1,"a":2}]`,
      `{${Array.from({ length: 6_000 }, (_, i) => `"k${i}":"v"`).join()},"k0":1}`,
    ])
      expect(read(text).most).toBeLessThan(4 * pieceChars + 400);
  });
});

/** Members of an object; a key may be repeated. */
class Pairs {
  constructor(readonly pairs: readonly [string, unknown][]) {}
}

function textOf(value: unknown, space: string): string {
  if (Array.isArray(value))
    return `[${space}${value.map((item) => textOf(item, space)).join(`${space},${space}`)}${space}]`;
  if (!(value instanceof Pairs)) return JSON.stringify(value);
  const members = value.pairs.map(([key, inner]) => `"${key}"${space}:${space}${textOf(inner, space)}`);
  return `{${space}${members.join(`${space},${space}`)}${space}}`;
}

test('of an object with a bound only so many members are kept, also where it is in others', () => {
  const many = Object.fromEntries(Array.from({ length: 20_000 }, (_, i) => [`key-${i}`, 'v']));
  const text = JSON.stringify({ response: { allowed: true, annotations: many, others: many } });
  const work = readLongJson(Buffer.from(text), { name: 'annotations', max: 1_000 });
  let step = work.next();
  while (!step.done) step = work.next();
  const { response } = (step.value as LongDocument).value as { response: Record<string, object> };
  expect(Object.keys(response)).toEqual(['allowed', 'annotations', 'others']);
  expect(Object.keys(response['annotations']!)).toEqual(Object.keys(many).slice(0, 1_000));
  expect(response['others']).toEqual(many);
});
