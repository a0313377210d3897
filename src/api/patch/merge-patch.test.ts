/** Proves that merge patches follow RFC 7386 within what Kubernetes accepts, and change nothing in place. */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { rounds } from '../../../test/support/tier.ts';
import { PatchError } from '../errors/patch-error.ts';
import { cloneJson, isJsonObject, type JsonObject, setKey } from '../text/object.ts';
import { applyMergePatch } from './merge-patch.ts';

const refusal = (document: unknown, patch: unknown): unknown => {
  try {
    return applyMergePatch(document, patch);
  } catch (error) {
    if (!(error instanceof PatchError)) throw error;
    return `${error.code} ${error.kind}: ${error.message}`;
  }
};

const notAnObject = (type: string): string =>
  `400 decode: error decoding patch: json: cannot unmarshal ${type} into Go value of type map[string]interface {}`;

describe('RFC 7386', () => {
  test.each<[document: unknown, patch: unknown, result: unknown]>([
    [{ a: 'b' }, { a: 'c' }, { a: 'c' }],
    [{ a: 'b' }, { b: 'c' }, { a: 'b', b: 'c' }],
    [{ a: 'b' }, { a: null }, {}],
    [{ a: 'b', b: 'c' }, { a: null }, { b: 'c' }],
    [{ a: ['b'] }, { a: 'c' }, { a: 'c' }],
    [{ a: 'c' }, { a: ['b'] }, { a: ['b'] }],
    [{ a: { b: 'c' } }, { a: { b: 'd', c: null } }, { a: { b: 'd' } }],
    [{ a: [{ b: 'c' }] }, { a: [1] }, { a: [1] }],
    [{ e: null }, { a: 1 }, { e: null, a: 1 }],
    [[1, 2], { a: 'b', c: null }, { a: 'b' }],
    [{}, { a: { bb: { ccc: null } } }, { a: { bb: {} } }],
  ])('appendix A: %j with %j is %j', (document, patch, result) => {
    expect(applyMergePatch(document, patch)).toEqual(result);
  });

  // The remaining examples of the appendix replace the whole document by something that is no object.
  // Kubernetes refuses such a patch.
  test.each<[document: unknown, patch: unknown, error: string]>([
    [['a', 'b'], ['c', 'd'], notAnObject('array')],
    [{ a: 'b' }, ['c'], notAnObject('array')],
    [{ a: 'foo' }, null, '400 decode: Invalid JSON Patch'],
    [{ a: 'foo' }, 'bar', notAnObject('string')],
  ])('appendix A: %j with %j is refused', (document, patch, error) => {
    expect(refusal(document, patch)).toBe(error);
  });

  test('the example of section 3', () => {
    const document = {
      title: 'Goodbye!',
      author: { givenName: 'John', familyName: 'Doe' },
      tags: ['example', 'sample'],
      content: 'This will be unchanged',
    };
    const patch = {
      title: 'Hello!',
      phoneNumber: '+01-123-456-7890',
      author: { familyName: null },
      tags: ['example'],
    };
    expect(applyMergePatch(document, patch)).toEqual({
      title: 'Hello!',
      author: { givenName: 'John' },
      tags: ['example'],
      content: 'This will be unchanged',
      phoneNumber: '+01-123-456-7890',
    });
  });
});

test.each([[1], [true], [''], [[]]])('%j is no patch', (patch) => {
  expect(refusal({}, patch)).toMatch(/^400 decode: error decoding patch: json: cannot unmarshal /);
});

test('lists are replaced, without the nulls of their objects, as Kubernetes does beyond the RFC', () => {
  const a = [null, { b: null, c: [{ d: null, e: { f: null } }] }];
  for (const before of [undefined, null, 's', [1]])
    expect(applyMergePatch({ a: before }, { a })).toEqual({ a: [null, { c: [{ e: {} }] }] });
  expect(applyMergePatch({}, { n: [[{ g: null }]] })).toEqual({ n: [[{}]] });
  // What comes in place of an object is taken as it is.
  expect(applyMergePatch({ a: { x: 1 } }, { a })).toEqual({ a });
});

test('keys of Object.prototype are ordinary keys', () => {
  const document = JSON.parse('{"__proto__":{"a":1,"b":2},"c":{}}');
  const patch = JSON.parse(
    '{"__proto__":{"a":null},"constructor":{"prototype":{"x":1}},"c":{"__proto__":{"y":1}}}',
  );
  expect(JSON.stringify(applyMergePatch(document, patch))).toBe(
    '{"__proto__":{"b":2},"c":{"__proto__":{"y":1}},"constructor":{"prototype":{"x":1}}}',
  );
  expect(applyMergePatch({}, JSON.parse('{"__proto__":null,"toString":null}'))).toEqual({});
  expect(Object.hasOwn(Object.prototype, 'x') || Object.hasOwn(Object.prototype, 'y')).toBe(false);
});

/** The patch from one value to another; objects must hold no null, which a patch cannot express. */
function diff(from: JsonObject, to: JsonObject): JsonObject {
  const patch: JsonObject = {};
  for (const key of Object.keys(from)) if (!Object.hasOwn(to, key)) setKey(patch, key, null);
  for (const key of Object.keys(to)) {
    const before = Object.hasOwn(from, key) ? from[key] : undefined;
    const after = to[key];
    if (isJsonObject(before) && isJsonObject(after)) setKey(patch, key, diff(before, after));
    else setKey(patch, key, after);
  }
  return patch;
}

const key = fc.oneof(
  fc.constantFrom('a', 'b', 'c', '__proto__', 'constructor', '0'),
  fc.string({ maxLength: 3 }),
);
const jsonObject = (withNull: boolean): fc.Arbitrary<JsonObject> =>
  fc.letrec<{ value: unknown; object: JsonObject }>((tie) => ({
    object: fc
      .array(fc.tuple(key, tie('value')), { maxLength: 5 })
      .map((entries) => Object.fromEntries(entries)),
    value: fc.oneof(
      { depthSize: 'small', withCrossShrink: true },
      fc.oneof(
        fc.nat(3),
        fc.string({ maxLength: 2 }),
        fc.boolean(),
        ...(withNull ? [fc.constant(null)] : []),
      ),
      fc.array(tie('value'), { maxLength: 3 }),
      tie('object'),
    ),
  })).object;

test('the patch from a to b makes b of a', () => {
  fc.assert(
    fc.property(jsonObject(false), jsonObject(false), (a, b) => {
      expect(sorted(applyMergePatch(a, diff(a, b)))).toBe(sorted(b));
    }),
    { numRuns: rounds(500) },
  );
});

test('any two objects merge: neither is changed, thrice is twice', () => {
  const prototype = JSON.stringify(Object.getOwnPropertyNames(Object.prototype));
  fc.assert(
    fc.property(jsonObject(true), jsonObject(true), (document, patch) => {
      const before = JSON.stringify([document, patch]);
      const result = applyMergePatch(applyMergePatch(document, patch), patch);
      const text = JSON.stringify(result);
      expect(JSON.stringify(applyMergePatch(result, patch))).toBe(text);
      expect(JSON.stringify([document, patch])).toBe(before);
    }),
    { numRuns: rounds(500) },
  );
  expect(JSON.stringify(Object.getOwnPropertyNames(Object.prototype))).toBe(prototype);
});

test('any JSON is merged or refused with a patch error', () => {
  fc.assert(
    fc.property(fc.jsonValue(), fc.jsonValue(), (document, patch) => {
      refusal(document, patch);
    }),
  );
});

test('a copy is equal and shares nothing', () => {
  fc.assert(
    fc.property(jsonObject(true), (value) => {
      const text = JSON.stringify(value);
      const copy = cloneJson(value);
      expect(JSON.stringify(copy)).toBe(text);
      spoil(copy);
      expect(JSON.stringify(value)).toBe(text);
    }),
  );
});

/** JSON with sorted keys. Unlike toEqual it includes `__proto__`. */
function sorted(value: unknown): string {
  return JSON.stringify(value, (_key, inner: unknown) =>
    isJsonObject(inner)
      ? Object.fromEntries(Object.entries(inner).sort(([a], [b]) => (a < b ? -1 : 1)))
      : inner,
  );
}

/** Empties every list and map of a value. */
function spoil(value: unknown): void {
  if (Array.isArray(value)) for (const item of value.splice(0)) spoil(item);
  if (!isJsonObject(value)) return;
  for (const name of Object.keys(value)) {
    spoil(value[name]);
    delete value[name];
  }
}
