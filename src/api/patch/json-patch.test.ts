/** Proves that JSON patches follow RFC 6902 with Kubernetes' exceptions, within bounds, and change nothing in place. */
import { createRequire } from 'node:module';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { rounds } from '../../../test/support/tier.ts';
import { PatchError } from '../errors/patch-error.ts';
import { depthMax } from '../text/json.ts';
import { isJsonObject, type JsonObject } from '../text/object.ts';
import {
  applyJsonPatch,
  copyBytesMax,
  extraKeys,
  extraKeysMax,
  operationsMax,
  parseJsonPatch,
} from './json-patch.ts';

const FAILS = '422 operation: the server rejected our request due to an error in our request';

const apply = (document: unknown, patch: unknown): unknown => applyJsonPatch(document, parseJsonPatch(patch));

/** The result, or the patch error as text. Anything else that is thrown fails the test. */
const outcome = (document: unknown, patch: unknown): unknown => {
  try {
    return apply(document, patch);
  } catch (error) {
    if (!(error instanceof PatchError)) throw error;
    return `${error.code} ${error.kind}: ${error.message}`;
  }
};

interface Vector {
  comment?: string;
  doc: unknown;
  patch: unknown;
  expected?: unknown;
  error?: string;
  disabled?: boolean;
}

/**
 * Public vectors with other results here, each with the result and the reason. All others must pass, also those that
 * the suite itself has disabled. (The suite has no case for the two rules in which Kubernetes departs from the RFC:
 * `replace` of a missing key and `test` of a missing key for null. They have tests of their own.)
 */
const EXCEPTIONS: Record<string, { reason: string; expected: unknown }> = {
  'tests.json: duplicate ops': {
    reason:
      'the member `op` stands twice in the text; the JSON reader has kept the last and reported the other',
    expected: { baz: 'bar' },
  },
};

const require = createRequire(import.meta.url);

describe.each([
  ['tests.json', 78],
  ['spec_tests.json', 17],
])('the public vectors of %s', (file, count) => {
  const vectors = require(`json-patch-test-suite/${file}`) as Vector[];

  test('are all here', () => {
    expect(vectors).toHaveLength(count);
    const names = vectors.map((vector) => `${file}: ${vector.comment}`);
    for (const name of Object.keys(EXCEPTIONS))
      if (name.startsWith(`${file}:`)) expect(names).toContain(name);
  });

  test.each(
    vectors.map((vector, number) => ({ ...vector, number, comment: vector.comment ?? vector.error ?? '' })),
  )('$number $comment', ({ doc, patch, expected, error, comment }) => {
    const exception = EXCEPTIONS[`${file}: ${comment}`];
    if (exception) expect(apply(doc, patch)).toEqual(exception.expected);
    else if (error !== undefined) expect(outcome(doc, patch)).toBe(FAILS);
    // A vector without an expectation must leave the document unchanged.
    else expect(apply(doc, patch)).toEqual(expected === undefined ? doc : expected);
  });
});

describe("Kubernetes' rules", () => {
  test('null and [] change nothing', () => {
    expect(apply({ a: 1 }, null)).toEqual({ a: 1 });
    expect(apply({ a: 1 }, [])).toEqual({ a: 1 });
  });

  test.each<[what: string, document: unknown, operation: object, result: unknown]>([
    ['replace adds a missing key', { a: {} }, { op: 'replace', path: '/a/b', value: 1 }, { a: { b: 1 } }],
    ['replace needs the parent', {}, { op: 'replace', path: '/a/b', value: 1 }, FAILS],
    ['replace needs the element', { a: [1] }, { op: 'replace', path: '/a/1', value: 2 }, FAILS],
    ['replace does not append', { a: [1] }, { op: 'replace', path: '/a/-', value: 2 }, FAILS],
    ['test finds null at a missing key', { a: {} }, { op: 'test', path: '/a/b', value: null }, { a: {} }],
    ['test finds nothing else there', { a: {} }, { op: 'test', path: '/a/b', value: '' }, FAILS],
    ['test needs the parent, also for null', {}, { op: 'test', path: '/a/b', value: null }, FAILS],
    ['test needs the element, also for null', { a: [] }, { op: 'test', path: '/a/0', value: null }, FAILS],
    ['test wants all keys', { a: { b: 1, c: 2 } }, { op: 'test', path: '/a', value: { b: 1 } }, FAILS],
    ['test wants no more keys', { a: { b: 1 } }, { op: 'test', path: '/a', value: { b: 1, c: 2 } }, FAILS],
    ['test wants all elements', { a: [1, 2] }, { op: 'test', path: '/a', value: [1] }, FAILS],
    ['test tells a list from a map', { a: {} }, { op: 'test', path: '/a', value: [] }, FAILS],
    ['test tells null from a value', { a: 0 }, { op: 'test', path: '/a', value: null }, FAILS],
    [
      'add needs the parent: no labels yet',
      { metadata: {} },
      { op: 'add', path: '/metadata/labels/x', value: '1' },
      FAILS,
    ],
    ['add takes null', {}, { op: 'add', path: '/a', value: null }, { a: null }],
    ['add needs a value', {}, { op: 'add', path: '/a' }, FAILS],
    ['remove of a missing key', { a: 1 }, { op: 'remove', path: '/b' }, FAILS],
    ['remove of a missing element', [1], { op: 'remove', path: '/1' }, FAILS],
    ['remove of the document', { a: 1 }, { op: 'remove', path: '' }, FAILS],
    ['move from a missing key', { a: 1 }, { op: 'move', from: '/b', path: '/a' }, FAILS],
    ['copy from a missing key', { a: 1 }, { op: 'copy', from: '/b', path: '/a' }, FAILS],
    ['move into itself', [[1], [2]], { op: 'move', from: '/0', path: '/0/0' }, FAILS],
    ['move of the document into itself', { a: 1 }, { op: 'move', from: '', path: '/b' }, FAILS],
    ['move of the document to its place', { a: 1 }, { op: 'move', from: '', path: '' }, { a: 1 }],
    ['move of a missing key to its place', { a: 1 }, { op: 'move', from: '/b', path: '/b' }, FAILS],
    ['copy of the document', { a: 1 }, { op: 'copy', from: '', path: '/b' }, { a: 1, b: { a: 1 } }],
    ['copy appends', { a: [1], b: 2 }, { op: 'copy', from: '/b', path: '/a/-' }, { a: [1, 2], b: 2 }],
    ['move appends', { a: [1], b: 2 }, { op: 'move', from: '/b', path: '/a/-' }, { a: [1, 2] }],
    ['nothing is below a scalar', { a: 'text' }, { op: 'add', path: '/a/0', value: 1 }, FAILS],
    ['nothing is below null', { a: null }, { op: 'add', path: '/a/b', value: 1 }, FAILS],
    ['an unknown operation', {}, { op: 'Add', path: '/a', value: 1 }, FAILS],
    ['no operation', {}, { path: '/a', value: 1 }, FAILS],
    ['null as operation', {}, { op: null, path: '/a', value: 1 }, FAILS],
    ['no path', {}, { op: 'add', value: 1 }, FAILS],
    ['a path without its slash', { a: 1 }, { op: 'remove', path: 'a' }, FAILS],
    ['an escape that is none', { '~2': 1 }, { op: 'remove', path: '/~2' }, FAILS],
    ['escapes', { 'a/b': { '~1': 1 } }, { op: 'remove', path: '/a~1b/~01' }, { 'a/b': {} }],
  ])('%s', (_what, document, operation, result) => {
    expect(outcome(document, [operation])).toEqual(result);
  });

  test('null in place of an operation does not apply', () => {
    expect(outcome({}, [null])).toBe(FAILS);
  });

  test.each(['-', '-1', '01', '00', '1.0', '1e0', '+1', ' 1', '', '2', '99999999999999999999', 'length'])(
    'an element is never found at %j',
    (index) => {
      const document = { a: [0, 1], b: 1 };
      for (const op of ['remove', 'replace', 'test'])
        expect(outcome(document, [{ op, path: `/a/${index}`, value: 1 }])).toBe(FAILS);
      for (const op of ['move', 'copy'])
        expect(outcome(document, [{ op, from: `/a/${index}`, path: '/b' }])).toBe(FAILS);
      expect(outcome(document, [{ op: 'add', path: `/a/${index}/x`, value: 1 }])).toBe(FAILS);
      if (index !== '-' && index !== '2')
        expect(outcome(document, [{ op: 'add', path: `/a/${index}`, value: 1 }])).toBe(FAILS);
    },
  );

  test('a copy has a life of its own', () => {
    const patch = [
      { op: 'copy', from: '/a', path: '/d' },
      { op: 'add', path: '/d/b/c', value: 2 },
      { op: 'add', path: '/a/e/-', value: 3 },
    ];
    expect(apply({ a: { b: { c: 1 }, e: [] } }, patch)).toEqual({
      a: { b: { c: 1 }, e: [3] },
      d: { b: { c: 2 }, e: [] },
    });
  });

  test('operations see what those before them did, and all fail with one', () => {
    const document = { a: [1] };
    const patch = [
      { op: 'add', path: '/a/0', value: { b: [] } },
      { op: 'add', path: '/a/0/b/-', value: 2 },
      { op: 'test', path: '/a', value: [{ b: [2] }, 1] },
    ];
    expect(apply(document, patch)).toEqual({ a: [{ b: [2] }, 1] });
    expect(outcome(document, [...patch, { op: 'test', path: '/a/1', value: 2 }])).toBe(FAILS);
    expect(document).toEqual({ a: [1] });
    expect(patch[0]).toEqual({ op: 'add', path: '/a/0', value: { b: [] } });
  });
});

describe('a body that is no patch', () => {
  const decode = (text: string): string => `400 decode: error decoding patch: json: cannot unmarshal ${text}`;

  test.each<[body: unknown, error: string]>([
    [{}, decode('object into Go value of type []handlers.jsonPatchOp')],
    ['[]', decode('string into Go value of type []handlers.jsonPatchOp')],
    [1, decode('number into Go value of type []handlers.jsonPatchOp')],
    [[[]], decode('array into Go value of type handlers.jsonPatchOp')],
    [[{ op: 1 }], decode('number into Go struct field jsonPatchOp.op of type string')],
    [[{ op: 'add', path: ['a'] }], decode('array into Go struct field jsonPatchOp.path of type string')],
    [
      [{ op: 'copy', path: '', from: {} }],
      decode('object into Go struct field jsonPatchOp.from of type string'),
    ],
  ])('%j', (body, error) => {
    expect(outcome({}, body)).toBe(error);
  });
});

test('unknown members are named, in order and up to a limit', () => {
  const patch = parseJsonPatch([
    { op: 'test', path: '', value: {}, from: '' },
    { foo: 1, op: 'add', path: '/a', value: 1, Value: 2 },
    JSON.parse('{"__proto__":1,"op":"test"}'),
  ]);
  expect(extraKeys(patch)).toEqual(['[1].foo', '[1].Value', '[2].__proto__']);
  const many = Object.fromEntries(Array.from({ length: 200 }, (_, number) => [`k${number}`, 1]));
  expect(extraKeys(parseJsonPatch([many]))).toHaveLength(extraKeysMax);
});

test('inherited members are no members', () => {
  const inherited = Object.create({ op: 'remove', path: '/a' });
  expect(outcome({ a: 1 }, [inherited])).toBe(FAILS);
  expect(outcome({}, [Object.assign(Object.create({ value: 1 }), { op: 'add', path: '/a' })])).toBe(FAILS);
});

describe('bounds', () => {
  test('operations', () => {
    const patch = Array.from({ length: operationsMax }, () => ({ op: 'test', path: '/a', value: 1 }));
    expect(apply({ a: 1 }, patch)).toEqual({ a: 1 });
    patch.push(patch[0]!);
    expect(outcome({ a: 1 }, patch)).toBe(
      '413 too-large: Request entity too large: The allowed maximum operations in a JSON patch is 10000, got 10001',
    );
  });

  test('copies of copies', () => {
    const double = { op: 'copy', from: '/a', path: '/a/-' };
    const text = 'x'.repeat(1000);
    expect(JSON.stringify(apply({ a: [text] }, Array(8).fill(double))).length).toBeGreaterThan(250_000);
    expect(outcome({ a: [text] }, Array(40).fill(double))).toBe(FAILS);
    expect(outcome({ a: {} }, Array(10_000).fill({ op: 'copy', from: '', path: '/a/b' }))).toBe(FAILS);
  });

  test('copied bytes are those of the JSON', () => {
    const copies = (bytes: number): object[] => [{ op: 'add', path: '/a', value: 'x'.repeat(bytes - 2) }];
    const copy = { op: 'copy', from: '/a', path: '/b' };
    expect(outcome({}, [...copies(copyBytesMax), copy])).toHaveProperty('b');
    expect(outcome({}, [...copies(copyBytesMax + 1), copy])).toBe(FAILS);
    // Non-ASCII characters count by their UTF-8 bytes.
    expect(outcome({}, [{ op: 'add', path: '/a', value: 'é'.repeat(copyBytesMax / 2) }, copy])).toBe(FAILS);
    // So do the commas and brackets of many small values.
    const small = { op: 'add', path: '/a', value: Array(copyBytesMax / 4).fill([]) };
    expect(outcome({}, [small, copy])).toHaveProperty('b');
    expect(outcome({}, [{ ...small, value: Array(copyBytesMax / 3).fill([]) }, copy])).toBe(FAILS);
    // A move adds no bytes.
    const there = { op: 'move', from: '/a', path: '/b' };
    const back = { op: 'move', from: '/b', path: '/a' };
    expect(outcome({}, [...copies(copyBytesMax), there, back, there, back, copy])).toHaveProperty('b');
  });

  test('depth, however it comes about', () => {
    const nested = (depth: number): unknown =>
      JSON.parse(`${'{"a":'.repeat(depth - 1)}{}${'}'.repeat(depth - 1)}`);
    const inside = (depth: number): string => '/a'.repeat(depth);
    const addTo = (depth: number): object[] => [
      { op: 'add', path: `${inside(500)}`, value: nested(depth - 500) },
    ];
    expect(outcome(nested(500), addTo(depthMax))).toHaveProperty('a');
    expect(outcome(nested(500), addTo(depthMax + 1))).toBe(FAILS);
    const deepen = Array.from({ length: 20 }, (_, step) => ({
      op: 'add',
      path: inside(900 * step + 1),
      value: nested(900),
    }));
    expect(outcome({}, deepen)).toBe(FAILS);
    expect(outcome({}, [...deepen, { op: 'copy', from: '/a', path: '/b' }])).toBe(FAILS);
    expect(outcome({}, [...deepen, { op: 'test', path: '', value: {} }])).toBe(FAILS);
    // Depth that is removed again by the end of the patch is allowed.
    expect(outcome({ x: 1 }, [...deepen, { op: 'remove', path: '/a' }])).toEqual({ x: 1 });
  });

  test('elements pushed aside', () => {
    const list = { a: new Array(200_000).fill(0) };
    expect(outcome(list, Array(operationsMax).fill({ op: 'add', path: '/a/0', value: 1 }))).toBe(FAILS);
    expect(outcome(list, Array(operationsMax).fill({ op: 'remove', path: '/a/0' }))).toBe(FAILS);
    // Inserts at the end of a huge list, and anywhere in an ordinary one, stay below the limit.
    const appended = apply(list, Array(operationsMax).fill({ op: 'add', path: '/a/-', value: 1 }));
    expect((appended as typeof list).a).toHaveLength(210_000);
    const grown = apply({ a: [] }, Array(operationsMax).fill({ op: 'add', path: '/a/0', value: 1 }));
    expect((grown as typeof list).a).toHaveLength(operationsMax);
  });
});

describe('keys of Object.prototype', () => {
  const own = (text: string): unknown => JSON.parse(text);

  test('are ordinary keys', () => {
    const value = { polluted: 1 };
    expect(JSON.stringify(apply({}, [{ op: 'add', path: '/__proto__', value }]))).toBe(
      '{"__proto__":{"polluted":1}}',
    );
    expect(JSON.stringify(apply({}, [{ op: 'replace', path: '/__proto__', value }]))).toBe(
      '{"__proto__":{"polluted":1}}',
    );
    expect(
      JSON.stringify(apply(own('{"__proto__":{"a":1}}'), [{ op: 'move', from: '/__proto__', path: '/b' }])),
    ).toBe('{"b":{"a":1}}');
    expect(
      JSON.stringify(apply(own('{"a":{"__proto__":1}}'), [{ op: 'copy', from: '/a', path: '/__proto__' }])),
    ).toBe('{"a":{"__proto__":1},"__proto__":{"__proto__":1}}');
    const added = apply({}, [{ op: 'add', path: '/a', value: own('{"__proto__":{"polluted":1}}') }]);
    expect(JSON.stringify(added)).toBe('{"a":{"__proto__":{"polluted":1}}}');
    expect(outcome(own('{"__proto__":1}'), [{ op: 'test', path: '', value: own('{"__proto__":2}') }])).toBe(
      FAILS,
    );
  });

  test.each(['__proto__', 'constructor', 'toString', 'constructor/prototype'])(
    '%s is not there by itself',
    (name) => {
      for (const op of ['remove', 'test'])
        expect(outcome({}, [{ op, path: `/${name}`, value: {} }])).toBe(FAILS);
      for (const op of ['move', 'copy'])
        expect(outcome({}, [{ op, from: `/${name}`, path: '/a' }])).toBe(FAILS);
      expect(outcome({}, [{ op: 'add', path: `/${name}/polluted`, value: 1 }])).toBe(FAILS);
      expect(outcome([], [{ op: 'add', path: `/${name}/polluted`, value: 1 }])).toBe(FAILS);
      expect(Object.hasOwn(Object.prototype, 'polluted')).toBe(false);
    },
  );
});

describe('any patch', () => {
  const key = fc.constantFrom('a', 'b', '0', '1', '-', '__proto__', 'constructor', '');
  const document = fc.letrec<{ value: unknown; object: JsonObject; list: unknown[] }>((tie) => ({
    object: fc
      .array(fc.tuple(key, tie('value')), { maxLength: 4 })
      .map((entries) => Object.fromEntries(entries)),
    list: fc.array(tie('value'), { maxLength: 4 }),
    value: fc.oneof(
      { depthSize: 'small', withCrossShrink: true },
      fc.constantFrom(0, 1, 'x', null, true),
      tie('object'),
      tie('list'),
    ),
  }));
  const pointer = fc.array(key, { maxLength: 3 }).map((keys) => keys.map((part) => `/${part}`).join(''));
  const operation = fc.record(
    {
      op: fc.constantFrom('add', 'add', 'remove', 'replace', 'move', 'copy', 'test'),
      path: pointer,
      from: pointer,
      value: document.value,
    },
    { requiredKeys: ['op', 'path'] },
  );
  const prototype = JSON.stringify(Object.getOwnPropertyNames(Object.prototype));

  test('leaves document and patch untouched, shares nothing with them, and always does the same', () => {
    fc.assert(
      fc.property(document.object, fc.array(operation, { maxLength: 6 }), (doc, patch) => {
        const before = JSON.stringify([doc, patch]);
        const first = outcome(doc, patch);
        expect(JSON.stringify([doc, patch])).toBe(before);
        const text = JSON.stringify(first);
        expect(JSON.stringify(outcome(doc, patch))).toBe(text);
        spoil(first);
        expect(JSON.stringify([doc, patch])).toBe(before);
      }),
      { numRuns: rounds(2000) },
    );
    expect(JSON.stringify(Object.getOwnPropertyNames(Object.prototype))).toBe(prototype);
  });

  test('of adds and removes can be undone by the removes and adds in reverse', () => {
    const step = fc.record({ at: fc.nat(), remove: fc.boolean(), value: document.value });
    fc.assert(
      fc.property(
        fc.array(document.value, { maxLength: 5 }),
        fc.array(step, { maxLength: 20 }),
        (items, steps) => {
          const now = [...items];
          const there: object[] = [];
          const back: object[] = [];
          for (const { at, remove, value } of steps) {
            const index = at % (now.length + 1);
            const path = `/items/${index}`;
            if (remove && index < now.length) {
              there.push({ op: 'remove', path });
              back.unshift({ op: 'add', path, value: now.splice(index, 1)[0] });
            } else {
              there.push({ op: 'add', path, value });
              back.unshift({ op: 'remove', path });
              now.splice(index, 0, value);
            }
          }
          const done = apply({ items }, there);
          expect(JSON.stringify(done)).toBe(JSON.stringify({ items: now }));
          expect(JSON.stringify(apply(done, back))).toBe(JSON.stringify({ items }));
        },
      ),
    );
  });

  test('even of any JSON, applies or is refused with a patch error', () => {
    const body = fc.oneof(fc.jsonValue(), fc.array(fc.oneof(operation, fc.jsonValue())));
    fc.assert(
      fc.property(fc.jsonValue(), body, (doc, patch) => {
        outcome(doc, patch);
      }),
      { numRuns: rounds(500) },
    );
    expect(JSON.stringify(Object.getOwnPropertyNames(Object.prototype))).toBe(prototype);
  });
});

/** Empties every list and map of a value. */
function spoil(value: unknown): void {
  if (Array.isArray(value)) for (const item of value.splice(0)) spoil(item);
  if (!isJsonObject(value)) return;
  for (const name of Object.keys(value)) {
    spoil(value[name]);
    delete value[name];
  }
}
