/** Rules of schemas: recorded answers of a Kubernetes server, types, ratcheting, costs. */
import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import type { Schema, ValidationRule } from '../model/json-schema.ts';
import type { JsonObject } from '../text/object.ts';
import { compileSchema } from './compiled-schema.ts';
import { checkSchema } from './schema-check.ts';

interface Cause {
  reason: string;
  field: string;
  message: string;
}
interface Definition {
  spec: { versions: { schema: { openAPIV3Schema: Schema } }[] };
}
interface RecordedCase {
  name: string;
  body: JsonObject;
  expect: { code: number; details?: { causes?: Cause[] } };
}

const { cases } = JSON.parse(
  readFileSync(new URL('../../../test/recorded/crd-cases.json', import.meta.url), 'utf8'),
) as { cases: RecordedCase[] };

const schemaOf = (body: JsonObject): Schema =>
  (body as unknown as Definition).spec.versions[0]?.schema.openAPIV3Schema ?? {};
const place = 'spec.validation.openAPIV3Schema';
const definitionErrors = (schema: Schema): Cause[] =>
  checkSchema(schema, place, { statusEnabled: false }).map(({ reason, field, message }) => ({
    reason,
    message,
    field,
  }));

describe('recorded definitions', () => {
  it.each(cases.filter(({ name }) => name.startsWith('crd rules: ')).map((one) => [one.name, one] as const))(
    '%s',
    (_, { body, expect: { details } }) => {
      expect(definitionErrors(schemaOf(body))).toEqual(details?.causes ?? []);
    },
  );
});

describe('recorded objects', () => {
  const rules = compileSchema(schemaOf(cases.find(({ name }) => name === 'rules: create rules')?.body ?? {}));
  const creates = cases.filter(({ name, body }) => name.startsWith('rules: ') && body?.kind === 'Rule');
  it.each(creates.map((one) => [one.name, one] as const))('%s', (_, { body, expect: { details } }) => {
    const { errors } = rules.validate(body);
    expect(errors.map(({ reason, field, message }) => ({ reason, message, field }))).toEqual(
      details?.causes ?? [],
    );
  });

  it('compares with the old object', () => {
    const old = { metadata: { name: 'r' }, spec: { pin: 'p', grow: 5, once: 'first' }, status: { count: 5 } };
    const change = (spec: JsonObject, status: JsonObject = { count: 5 }): string[] =>
      rules
        .validate({ metadata: { name: 'r' }, spec, status }, { old })
        .errors.map(({ field, message }) => `${field}: ${message}`);
    expect(change({ pin: 'q' })).toEqual(['spec.pin: Invalid value: "q": pin is immutable']);
    expect(change({})).toEqual([]);
    expect(change({ grow: 4 })).toEqual(['spec.grow: Invalid value: 4: may not shrink from 5 to 4']);
    expect(change({ once: 'second' })).toEqual(['spec.once: Invalid value: "second": set once']);
    expect(change({}, { count: 4 })).toEqual([
      'status.count: Invalid value: 4: failed rule: self >= oldSelf',
    ]);
  });
});

/** A schema with one field under `spec` and rules on it. */
const withRules = (field: Schema, ...rules: (string | ValidationRule)[]): Schema => ({
  type: 'object',
  properties: {
    spec: {
      type: 'object',
      properties: {
        f: {
          ...field,
          'x-kubernetes-validations': rules.map((rule) => (typeof rule === 'string' ? { rule } : rule)),
        },
      },
    },
  },
});
const texts = (schema: Schema, value: unknown, old?: unknown): string[] => {
  const outcome = compileSchema(schema).validate(
    { spec: { f: value } },
    old === undefined ? {} : { old: { spec: { f: old } } },
  );
  return [
    ...outcome.errors.map(({ field, message }) => `${field}: ${message}`),
    ...outcome.warnings.map((text) => `warning ${text}`),
  ];
};
const fails = (field: Schema, rule: string, value: unknown, old?: unknown): boolean => {
  expect(
    definitionErrors(withRules(field, rule)).filter(({ reason }) => reason !== 'FieldValueForbidden'),
  ).toEqual([]);
  return texts(withRules(field, rule), value, old).length > 0;
};

describe('values of schemas', () => {
  const text: Schema = { type: 'string', maxLength: 10 };

  it('escapes names of fields', () => {
    const names = ['a-b', 'a.b', 'a/b', 'a__b', 'namespace', 'plain'];
    const field: Schema = {
      type: 'object',
      properties: Object.fromEntries(names.map((name) => [name, text])),
    };
    const rule = ['a__dash__b', 'a__dot__b', 'a__slash__b', 'a__underscores__b', '__namespace__', 'plain']
      .map((name) => `self.${name} == "x"`)
      .join(' && ');
    expect(fails(field, rule, Object.fromEntries(names.map((name) => [name, 'x'])))).toBe(false);
    const words: Schema = { type: 'object', properties: { namespace: text, while: text } };
    const plain = 'self.namespace == "x" && has(self.while) && self.while == self.__while__';
    expect(fails(words, plain, { namespace: 'x', while: 'y' })).toBe(false);
    expect(fails(words, plain, { namespace: 'x' })).toBe(true);
    expect(definitionErrors(withRules(words, 'self.loop == "x"'))[0]?.message).toContain(
      "undefined field 'loop'",
    );
  });

  it('compares sets and lists with keys in their own ways', () => {
    const set: Schema = { type: 'array', items: text, maxItems: 5, 'x-kubernetes-list-type': 'set' };
    expect(fails(set, 'self == oldSelf', ['a', 'b'], ['b', 'a'])).toBe(false);
    expect(fails(set, 'self == ["b", "a"] && (self + ["a", "c"]).size() == 3', ['a', 'b'])).toBe(false);
    expect(
      fails({ ...set, 'x-kubernetes-list-type': 'atomic' }, 'self == oldSelf', ['a', 'b'], ['b', 'a']),
    ).toBe(true);
    const keyed: Schema = {
      type: 'array',
      maxItems: 5,
      items: { type: 'object', properties: { k: text, v: { type: 'integer' } }, required: ['k'] },
      'x-kubernetes-list-type': 'map',
      'x-kubernetes-list-map-keys': ['k'],
    };
    const [one, two] = [
      { k: 'a', v: 1 },
      { k: 'b', v: 2 },
    ];
    expect(fails(keyed, 'self == oldSelf', [one, two], [two, one])).toBe(false);
    expect(fails(keyed, 'self == oldSelf', [one, two], [two, { ...one, v: 5 }])).toBe(true);
    expect(
      fails(
        keyed,
        '(self + oldSelf).size() == 2 && (self + oldSelf)[0].v == 5',
        [one, two],
        [{ ...one, v: 5 }],
      ),
    ).toBe(false);
  });

  it.each<[string, Schema, string, unknown]>([
    [
      'bytes',
      { type: 'string', format: 'byte', maxLength: 20 },
      'self.size() == 3 && string(self) == "abc"',
      'YWJj',
    ],
    ['durations', { type: 'string', format: 'duration' }, 'self > duration("1m")', '1h'],
    ['dates', { type: 'string', format: 'date' }, 'self.getFullYear() == 2024', '2024-02-29'],
    ['numbers', { type: 'number' }, 'self == 2.0 && self < 3', 2],
    ['integers', { type: 'integer' }, 'self == 2', 2],
    [
      'large integers',
      { type: 'integer', format: 'int64' },
      'self == 9007199254740993',
      9_007_199_254_740_993n,
    ],
    [
      'int or string',
      { 'x-kubernetes-int-or-string': true, maxLength: 5 },
      'type(self) == int ? self > 1 : self == "x"',
      'x',
    ],
    [
      'maps',
      { type: 'object', maxProperties: 3, additionalProperties: { type: 'integer' } },
      'self.all(k, self[k] > 0) && self.a == 1',
      { a: 1 },
    ],
    [
      'nulls inside',
      { type: 'object', properties: { n: { type: 'object', nullable: true, properties: {} } } },
      'self.n == null',
      { n: null },
    ],
    [
      'embedded resources',
      {
        type: 'object',
        'x-kubernetes-embedded-resource': true,
        'x-kubernetes-preserve-unknown-fields': true,
      },
      'self.kind == "Pod" && self.metadata.name == "x"',
      { apiVersion: 'v1', kind: 'Pod', metadata: { name: 'x' } },
    ],
  ])('sees %s', (_, field, rule, value) => {
    expect(fails(field, rule, value)).toBe(false);
  });

  it('does not see metadata other than names', () => {
    const schema: Schema = {
      type: 'object',
      'x-kubernetes-validations': [{ rule: 'self.metadata.labels.size() > 0' }],
    };
    expect(definitionErrors(schema)[0]?.message).toContain("undefined field 'labels'");
  });
});

describe('ratcheting', () => {
  it('warns of rules that fail on what has not changed', () => {
    const schema = withRules(
      { type: 'string', maxLength: 20 },
      { rule: 'self == "good"', message: 'must be good' },
    );
    expect(texts(schema, 'bad', 'bad')).toEqual(['warning spec.f: Invalid value: "bad": must be good']);
    expect(texts(schema, 'bad', 'worse')).toEqual(['spec.f: Invalid value: "bad": must be good']);
  });

  it('compares items of atomic lists with the whole list', () => {
    const items: Schema = {
      type: 'string',
      maxLength: 5,
      'x-kubernetes-validations': [{ rule: 'self != "x"' }],
    };
    const schema: Schema = {
      type: 'object',
      properties: { spec: { type: 'object', properties: { f: { type: 'array', maxItems: 3, items } } } },
    };
    expect(texts(schema, ['x'], ['x'])).toEqual([
      'warning spec.f[0]: Invalid value: "x": failed rule: self != "x"',
    ]);
    expect(texts(schema, ['x', 'y'], ['x'])).toEqual([
      'spec.f[0]: Invalid value: "x": failed rule: self != "x"',
    ]);
  });
});

describe('costs', () => {
  const items: Schema = { type: 'string', maxLength: 100 };

  it('refuses rules that could cost too much', () => {
    const [rule] = definitionErrors(
      withRules({ type: 'array', items, maxItems: 1000 }, 'self.all(x, self.all(y, x == y || x != y))'),
    );
    expect(rule?.message).toMatch(
      /^Forbidden: estimated rule cost exceeds budget by factor of \d+\.\dx \(try /,
    );
    expect(
      definitionErrors(withRules({ type: 'array', items, maxItems: 20 }, 'self.all(x, self.all(y, x == y))')),
    ).toEqual([]);
  });

  it('counts how often a node can occur', () => {
    const rule = [{ rule: 'self.contains("abcdefghijk")' }];
    const nested = (maxItems: number | undefined): Schema =>
      withRules({
        type: 'array',
        ...(maxItems ? { maxItems } : {}),
        items: { type: 'string', maxLength: 1000, 'x-kubernetes-validations': rule },
      });
    expect(definitionErrors(nested(100))).toEqual([]);
    expect(definitionErrors(nested(undefined)).map(({ field }) => field)).toContain(
      `${place}.properties[spec].properties[f].items.x-kubernetes-validations[0].rule`,
    );
  });

  it('stops rules at the limit of a call and of an object', () => {
    const slow = 'self.all(x, self.all(y, x <= y || y <= x))';
    const many = Array.from({ length: 600 }, (_, position) => position);
    const list: Schema = { type: 'array', items: { type: 'integer' } };
    expect(texts(withRules(list, slow), many)).toEqual([
      `spec.f: Invalid value: "array": 'operation cancelled: actual cost limit exceeded': no further validation rules will be run due to call cost exceeds limit for rule: ${slow}`,
    ]);
    const lists: Schema = { type: 'array', items: { ...list, 'x-kubernetes-validations': [{ rule: slow }] } };
    const outcome = texts(
      withRules(lists),
      Array.from({ length: 40 }, () => many.slice(0, 300)),
    );
    expect(outcome).toHaveLength(1);
    expect(outcome[0]).toMatch(
      /validation failed due to running out of cost budget, no further validation rules will be run$/,
    );
  });
});

describe('messages', () => {
  const texts = (
    rule: ValidationRule,
    old: JsonObject | undefined,
    others: ValidationRule[] = [],
  ): string[] => {
    const field: Schema = { type: 'string', 'x-kubernetes-validations': [rule, ...others] };
    const schema = compileSchema({ type: 'object', properties: { a: field } });
    return schema.validate({ a: 'new' }, { old }).errors.map(({ message }) => message);
  };
  const rule = {
    rule: 'oldSelf.hasValue() && false',
    optionalOldSelf: true,
    message: 'written down',
  };
  const told = 'Invalid value: "new": written down';

  it('see an old value that is optional to their rule as it is', () => {
    const old = { a: 'old' };
    const selected = { ...rule, messageExpression: "oldSelf == optional.of('old') ? 'optional' : 'plain'" };
    expect(texts(selected, old)).toEqual(['Invalid value: "new": plain']);
    expect(texts({ ...rule, messageExpression: "'was ' + oldSelf.orValue('?')" }, old)).toEqual([told]);
    expect(texts({ ...rule, messageExpression: "oldSelf.hasValue() ? 'yes' : 'no'" }, old)).toEqual([told]);
  });

  it('are as written where there is no old value', () => {
    expect(texts({ ...rule, messageExpression: "'was ' + oldSelf.orValue('?')" }, undefined)).toEqual([told]);
  });

  it('see the old value only where a rule looks at it', () => {
    const plain = { rule: 'false', message: 'written down', messageExpression: "'was ' + oldSelf" };
    expect(texts(plain, { a: 'old' })).toEqual([told]);
    expect(texts(plain, { a: 'old' }, [{ rule: "oldSelf != ''" }])).toEqual([
      'Invalid value: "new": was old',
    ]);
  });

  it('that cost too much end all rules', () => {
    const many = (count: number): string => `[${Array.from({ length: count }, () => 1).join(',')}]`;
    const long = `${many(200)}.all(x, ${many(200)}.all(y, ${many(200)}.all(z, x == y && y == z)))`;
    const dear = { rule: 'false', messageExpression: `${long} ? 'a' : 'b'` };
    expect(texts(dear, undefined, [{ rule: 'false' }])).toEqual([
      `Invalid value: "string": no further validation rules will be run due to call cost exceeds limit for messageExpression: ${JSON.stringify(dear.messageExpression)}`,
    ]);
  });
});
