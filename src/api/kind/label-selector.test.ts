/** Proves that label selectors are read, refused, matched and written as Kubernetes does. */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { rounds } from '../../../test/support/tier.ts';
import {
  formatLabelSelectorObject,
  formatMapSelector,
  type LabelRequirement,
  LabelSelector,
  type LabelSelectorObject,
  parseLabelSelector,
  SelectorError,
  selectorFromObject,
  validateLabelSelectorObject,
} from './label-selector.ts';

const namePartText =
  "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')";
const labelKeyText = `a valid label key ${namePartText.slice('name part '.length)} with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')`;
const labelValueText =
  "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')";
const integerText = "for 'Gt', 'Lt' operators, the value must be an integer";

function messageOf(text: string): string {
  try {
    return `accepted as ${parseLabelSelector(text)}`;
  } catch (error) {
    expect(error).toBeInstanceOf(SelectorError);
    return (error as SelectorError).message;
  }
}

describe('grammar', () => {
  // Left: what a client sends. Right: the canonical text.
  test.each([
    ['', ''],
    [' \t\r\n', ''],
    ['a', 'a'],
    ['!a', '!a'],
    ['! a', '!a'],
    ['a=b', 'a=b'],
    ['a==b', 'a=b'],
    [' a = b ', 'a=b'],
    ['a!=b', 'a!=b'],
    ['a=', 'a='],
    ['a!=', 'a!='],
    ['a=,b', 'a=,b'],
    ['a in (x)', 'a in (x)'],
    ['a in (y,x,y)', 'a in (x,y)'],
    ['a\tin\n(x , y)', 'a in (x,y)'],
    ['a in(x)', 'a in (x)'],
    ['a notin (y,x)', 'a notin (x,y)'],
    ['a in ()', 'a in ()'],
    ['a in (,)', 'a in ()'],
    ['a in (,x)', 'a in (,x)'],
    ['a in (x,)', 'a in (,x)'],
    ['a in (x,,y)', 'a in (,x,y)'],
    ['a in (,,)', 'a in ()'],
    ['a>1', 'a>1'],
    ['a<1', 'a<1'],
    ['a>0007', 'a>0007'],
    ['in', 'in'],
    ['notin', 'notin'],
    ['!in', '!in'],
    ['in in (in,notin)', 'in in (in,notin)'],
    ['a=in', 'a=in'],
    ['a=notin', 'a=notin'],
    ['a in (in)', 'a in (in)'],
    ['example.com/a=b', 'example.com/a=b'],
    ['c,a=1,!b', 'a=1,!b,c'],
    ['a=2,a=1', 'a=2,a=1'],
    ['gt=lt', 'gt=lt'],
  ])('%j is %j', (text, canonical) => {
    expect(parseLabelSelector(text).toString()).toBe(canonical);
  });

  test.each([
    ['a b', "unable to parse requirement: found 'b', expected: in, notin, =, ==, !=, gt, lt"],
    ['a q', "unable to parse requirement: found 'q', expected: in, notin, =, ==, !=, gt, lt"],
    ['a!b', "unable to parse requirement: found '!', expected: in, notin, =, ==, !=, gt, lt"],
    ['a (b)', "unable to parse requirement: found '(', expected: in, notin, =, ==, !=, gt, lt"],
    ['a)', "unable to parse requirement: found ')', expected: in, notin, =, ==, !=, gt, lt"],
    ['a in (x', "unable to parse requirement: found '', expected: ',' or ')'"],
    ['a in (x y)', "unable to parse requirement: found 'y', expected: ',' or ')'"],
    ['a in (x=', "unable to parse requirement: found '=', expected: ',' or ')'"],
    ['a in (', "unable to parse requirement: found '', expected: ',', ')' or identifier"],
    ['a in (=)', "unable to parse requirement: found '=', expected: ',', ')' or identifier"],
    ['a in (,', "unable to parse requirement: found '', expected: ',', or identifier"],
    ['a in (x,!y)', "unable to parse requirement: found '!', expected: ',', or identifier"],
    ['a notin', "unable to parse requirement: found '' expected: '('"],
    ['a in x', "unable to parse requirement: found 'x' expected: '('"],
    ['a in in', "unable to parse requirement: found 'in' expected: '('"],
    ['a=(b)', "unable to parse requirement: found '(', expected: identifier"],
    ['a===b', "unable to parse requirement: found '=', expected: identifier"],
    ['a=!b', "unable to parse requirement: found '!', expected: identifier"],
    ['a<=1', "unable to parse requirement: found '=', expected: identifier"],
    ['!', "unable to parse requirement: found '', expected: identifier"],
    ['!!a', "unable to parse requirement: found '!', expected: identifier"],
    ['!,a', "unable to parse requirement: found ',', expected: identifier"],
    ['a,,b', "found ',', expected: identifier after ','"],
    ['a=b,', "found '', expected: identifier after ','"],
    ['a,=b', "found '=', expected: identifier after ','"],
    ['=b', "found '=', expected: !, identifier, or 'end of string'"],
    [',', "found ',', expected: !, identifier, or 'end of string'"],
    ['(', "found '(', expected: !, identifier, or 'end of string'"],
    ['!=b', "found '!=', expected: !, identifier, or 'end of string'"],
    ['a=b b', "found 'b', expected: ',' or 'end of string'"],
    ['!a in (b)', "found 'in', expected: ',' or 'end of string'"],
    ['!a=b', "found '=', expected: ',' or 'end of string'"],
    ['a in (b) c', "found 'c', expected: ',' or 'end of string'"],
    ['a=b)', "found ')', expected: ',' or 'end of string'"],
    ['-a=b', `unable to parse requirement: <nil>: Invalid value: "-a": ${namePartText}`],
    ['a/b/c', `unable to parse requirement: <nil>: Invalid value: "a/b/c": ${labelKeyText}`],
    ['!-a', `unable to parse requirement: <nil>: Invalid value: "-a": ${namePartText}`],
    [
      'a/',
      `unable to parse requirement: <nil>: Invalid value: "a/": name part must be non-empty; ${namePartText}`,
    ],
    ['a=-b', `unable to parse requirement: values[0][a]: Invalid value: "-b": ${labelValueText}`],
    ['a in (x,-y)', `unable to parse requirement: values[0][a]: Invalid value: "-y": ${labelValueText}`],
    ['a in (x,y_)', `unable to parse requirement: values[1][a]: Invalid value: "y_": ${labelValueText}`],
    [
      `a=${'x'.repeat(64)}`,
      `unable to parse requirement: values[0][a]: Invalid value: "${'x'.repeat(64)}": must be no more than 63 characters`,
    ],
    ['a>x', `unable to parse requirement: values[0]: Invalid value: "x": ${integerText}`],
    ['a>', `unable to parse requirement: values[0]: Invalid value: "": ${integerText}`],
    ['a<1.5', `unable to parse requirement: values[0]: Invalid value: "1.5": ${integerText}`],
    [
      'a>9223372036854775808',
      `unable to parse requirement: values[0]: Invalid value: "9223372036854775808": ${integerText}`,
    ],
    ['a>-1', `unable to parse requirement: values[0][a]: Invalid value: "-1": ${labelValueText}`],
    [
      'a>-x',
      `unable to parse requirement: [values[0]: Invalid value: "-x": ${integerText}, values[0][a]: Invalid value: "-x": ${labelValueText}]`,
    ],
    ['a=b\u0000', `unable to parse requirement: values[0][a]: Invalid value: "b\\u0000": ${labelValueText}`],
  ])('%j: %s', (text, message) => {
    expect(messageOf(text)).toBe(message);
  });

  test('bounds', () => {
    expect(messageOf('a'.repeat(3_000_000))).toBe(
      'label selector is too long: may not be more than 65536 characters',
    );
    const terms = (count: number): string => Array.from({ length: count }, (_, at) => `k${at}`).join(',');
    expect(parseLabelSelector(terms(1024)).requirements).toHaveLength(1024);
    expect(messageOf(terms(1025))).toBe('label selector may not have more than 1024 requirements');
    expect(messageOf(`a in (${'b,'.repeat(32_000)})`)).toBe('accepted as a in (,b)');
  });
});

describe('matching', () => {
  test.each<[string, Record<string, string> | undefined, boolean]>([
    ['', undefined, true],
    ['', { a: 'b' }, true],
    ['a=b', { a: 'b' }, true],
    ['a=b', { a: 'c' }, false],
    ['a=b', {}, false],
    ['a=b', undefined, false],
    ['a=', { a: '' }, true],
    ['a=', {}, false],
    ['a!=b', { a: 'b' }, false],
    ['a!=b', { a: 'c' }, true],
    ['a!=b', undefined, true],
    ['a in (x,y)', { a: 'y' }, true],
    ['a in (x,y)', { a: 'z' }, false],
    ['a in (x,y)', {}, false],
    ['a in ()', { a: '' }, true],
    ['a in ()', { a: 'x' }, false],
    ['a notin (x,y)', { a: 'x' }, false],
    ['a notin (x,y)', { a: 'z' }, true],
    ['a notin (x,y)', {}, true],
    ['a', { a: '' }, true],
    ['a', {}, false],
    ['!a', {}, true],
    ['!a', { a: '' }, false],
    ['a>1', { a: '2' }, true],
    ['a>1', { a: '1' }, false],
    ['a>9', { a: '10' }, true],
    ['a>1', { a: 'x' }, false],
    ['a>1', { a: '' }, false],
    ['a>1', {}, false],
    ['a<1', { a: '0' }, true],
    ['a<1', { a: '1' }, false],
    ['a<9223372036854775807', { a: '9223372036854775806' }, true],
    ['a<5', { a: '9'.repeat(63) }, false],
    ['a=b,c', { a: 'b', c: '' }, true],
    ['a=b,c', { a: 'b' }, false],
    ['a=1,a=2', { a: '1' }, false],
  ])('%j on %j is %j', (text, labels, expected) => {
    expect(parseLabelSelector(text).matches(labels)).toBe(expected);
  });

  test('what an object inherits is not a label', () => {
    for (const key of ['constructor', 'toString', 'hasOwnProperty']) {
      expect(parseLabelSelector(key).matches({})).toBe(false);
      expect(parseLabelSelector(`!${key}`).matches({})).toBe(true);
      expect(parseLabelSelector(`${key}!=x`).matches({})).toBe(true);
      expect(parseLabelSelector(`${key}=x`).matches({ [key]: 'x' })).toBe(true);
    }
    const heir = Object.create({ a: '5' }) as Record<string, string>;
    expect(['a=5', 'a', 'a>1'].some((text) => parseLabelSelector(text).matches(heir))).toBe(false);
    expect(['a!=5', '!a'].every((text) => parseLabelSelector(text).matches(heir))).toBe(true);
    const proto = selectorFromObject(JSON.parse('{"matchLabels":{"__proto__":"x"}}') as LabelSelectorObject);
    expect(proto.matches({})).toBe(false);
    expect(proto.matches(JSON.parse('{"__proto__":"x"}') as Record<string, string>)).toBe(true);
  });

  test('the cost of tens of thousands of requirements grows with the labels alone', () => {
    const count = 30_000;
    const of = (operator: 'exists' | '!' | 'in', key: (at: number) => string): LabelSelector =>
      new LabelSelector(
        Array.from({ length: count }, (_, at) => ({ key: key(at), operator, values: ['x', `v${at}`] })),
      );
    const apart = (at: number): string => `k${at}`;
    const selectors = [of('!', apart), of('exists', apart), of('in', () => 'a')];
    let looks = 0;
    const labels = new Proxy<Record<string, string>>(
      { a: 'x', b: 'y' },
      {
        getOwnPropertyDescriptor: (target, key) => {
          looks++;
          return Object.getOwnPropertyDescriptor(target, key);
        },
      },
    );
    expect(selectors.map((selector) => selector.matches(labels))).toEqual([true, false, true]);
    expect(looks).toBeLessThan(20);
  });

  test('empty says that everything matches', () => {
    expect(parseLabelSelector('').empty).toBe(true);
    expect(parseLabelSelector('a').empty).toBe(false);
    expect(selectorFromObject({}).empty).toBe(true);
    expect(selectorFromObject(null).empty).toBe(false);
  });
});

describe('selector objects', () => {
  test('null selects nothing, {} everything', () => {
    const cases: (Record<string, string> | undefined)[] = [undefined, {}, { a: 'b' }];
    for (const labels of cases) {
      expect(selectorFromObject(null).matches(labels)).toBe(false);
      expect(selectorFromObject(undefined).matches(labels)).toBe(false);
      expect(selectorFromObject({}).matches(labels)).toBe(true);
      expect(selectorFromObject({ matchLabels: null, matchExpressions: null }).matches(labels)).toBe(true);
    }
  });

  const object: LabelSelectorObject = {
    matchLabels: { z: '1', a: 'b' },
    matchExpressions: [
      { key: 'f', operator: 'DoesNotExist' },
      { key: 'c', operator: 'In', values: ['e', 'd', 'e'] },
      { key: 'g', operator: 'NotIn', values: ['h'] },
      { key: 'i', operator: 'Exists', values: [] },
    ],
  };

  test('every pair and expression must hold', () => {
    const selector = selectorFromObject(object);
    const labels = { z: '1', a: 'b', c: 'd', i: '' };
    expect(selector.matches(labels)).toBe(true);
    expect(selector.matches({ ...labels, z: '2' })).toBe(false);
    expect(selector.matches({ ...labels, f: '' })).toBe(false);
    expect(selector.matches({ ...labels, c: 'x' })).toBe(false);
    expect(selector.matches({ ...labels, g: 'h' })).toBe(false);
    expect(selector.matches({ z: '1', a: 'b', c: 'd' })).toBe(false);
  });

  test('table form', () => {
    expect(formatLabelSelectorObject(object)).toBe('a=b,c in (d,e),!f,g notin (h),i,z=1');
    expect(formatLabelSelectorObject({})).toBe('<none>');
    expect(formatLabelSelectorObject(null)).toBe('<none>');
    expect(formatLabelSelectorObject(undefined)).toBe('<none>');
    expect(formatLabelSelectorObject({ matchExpressions: [{ key: 'a', operator: 'Near' }] })).toBe('<error>');
  });

  test('an object that never passed validation is refused, not guessed at', () => {
    expect(() => selectorFromObject({ matchExpressions: [{ key: 'a', operator: 'Near' }] })).toThrow(
      new SelectorError('"Near" is not a valid label selector operator'),
    );
    expect(() =>
      selectorFromObject({ matchExpressions: [{ key: 'a', operator: 'In', values: [] }] }),
    ).toThrow(new SelectorError("for 'in', 'notin' operators, values set can't be empty"));
  });

  test('map selectors', () => {
    expect(formatMapSelector({ b: '2', a: '1' })).toBe('a=1,b=2');
    expect(formatMapSelector({ a: '' })).toBe('a=');
    expect(formatMapSelector({})).toBe('');
    expect(formatMapSelector(null)).toBe('');
    expect(formatMapSelector(undefined)).toBe('');
  });

  test('validation', () => {
    expect(validateLabelSelectorObject(null, 'spec.selector')).toEqual([]);
    expect(validateLabelSelectorObject({}, 'spec.selector')).toEqual([]);
    expect(validateLabelSelectorObject(object, 'spec.selector')).toEqual([]);
    const bad: LabelSelectorObject = {
      matchLabels: { '-a': '-b' },
      matchExpressions: [
        { key: 'a', operator: 'In' },
        { key: 'a', operator: 'NotIn', values: [] },
        { key: 'a', operator: 'Exists', values: ['x'] },
        { key: 'a', operator: 'DoesNotExist', values: ['x'] },
        { key: '-a', operator: 'Near' },
        { key: 'a', operator: 'In', values: ['x', '-y'] },
      ],
    };
    const path = 'spec.selector.matchExpressions';
    const needed = "Required value: must be specified when `operator` is 'In' or 'NotIn'";
    const unwanted = "Forbidden: may not be specified when `operator` is 'Exists' or 'DoesNotExist'";
    expect(
      validateLabelSelectorObject(bad, 'spec.selector').map(({ field, reason, message }) => [
        field,
        reason,
        message,
      ]),
    ).toEqual([
      ['spec.selector.matchLabels', 'FieldValueInvalid', `Invalid value: "-a": ${namePartText}`],
      ['spec.selector.matchLabels', 'FieldValueInvalid', `Invalid value: "-b": ${labelValueText}`],
      [`${path}[0].values`, 'FieldValueRequired', needed],
      [`${path}[1].values`, 'FieldValueRequired', needed],
      [`${path}[2].values`, 'FieldValueForbidden', unwanted],
      [`${path}[3].values`, 'FieldValueForbidden', unwanted],
      [`${path}[4].operator`, 'FieldValueInvalid', 'Invalid value: "Near": not a valid selector operator'],
      [`${path}[4].key`, 'FieldValueInvalid', `Invalid value: "-a": ${namePartText}`],
      [`${path}[5].values[1]`, 'FieldValueInvalid', `Invalid value: "-y": ${labelValueText}`],
    ]);
  });
});

describe('properties', () => {
  const key = fc.constantFrom('a', 'b', 'in', 'notin', 'example.com/c', 'constructor', 'X.y_z-1');
  const value = fc.constantFrom('', 'x', 'y', '1', '2', '10', 'in', 'notin', 'A_b.c-d');
  const requirement: fc.Arbitrary<LabelRequirement> = fc.oneof(
    fc.record({ key, operator: fc.constantFrom('exists' as const, '!' as const), values: fc.constant([]) }),
    fc.record({
      key,
      operator: fc.constantFrom('=' as const, '!=' as const),
      values: value.map((one) => [one]),
    }),
    fc.record({
      key,
      operator: fc.constantFrom('in' as const, 'notin' as const),
      values: fc.uniqueArray(value, { minLength: 1 }).map((values) => values.sort()),
    }),
    fc.record({
      key,
      operator: fc.constantFrom('>' as const, '<' as const),
      values: fc.nat(12).map((bound) => [String(bound)]),
    }),
  );
  const requirements = fc.array(requirement, { maxLength: 5 });
  const labels = fc.dictionary(key, value);

  function holds({ key, operator, values }: LabelRequirement, own: Map<string, string>): boolean {
    const value = own.get(key);
    if (operator === 'exists') return value !== undefined;
    if (operator === '!') return value === undefined;
    if (operator === '=' || operator === 'in') return value !== undefined && values.includes(value);
    if (operator === '!=' || operator === 'notin') return value === undefined || !values.includes(value);
    if (value === undefined || !/^\d+$/.test(value)) return false;
    return operator === '>' ? Number(value) > Number(values[0]) : Number(value) < Number(values[0]);
  }

  test('parsing undoes writing', () => {
    fc.assert(
      fc.property(requirements, (list) => {
        const selector = new LabelSelector(list);
        const again = parseLabelSelector(selector.toString());
        expect(again.requirements).toEqual(selector.requirements);
        expect(again.toString()).toBe(selector.toString());
      }),
      { numRuns: rounds(1000) },
    );
  });

  test('matching agrees with a plain reading of the requirements', () => {
    fc.assert(
      fc.property(requirements, labels, (list, own) => {
        const map = new Map(Object.entries(own));
        const expected = list.every((one) => holds(one, map));
        expect(new LabelSelector(list).matches(own)).toBe(expected);
        expect(parseLabelSelector(new LabelSelector(list).toString()).matches(own)).toBe(expected);
      }),
      { numRuns: rounds(2000) },
    );
  });

  test('so it does with more requirements than are tested one by one', () => {
    const many = fc.array(requirement, { minLength: 17, maxLength: 40 });
    const name = fc.constantFrom(...Array.from({ length: 40 }, (_, at) => `k${at}`));
    const apart = fc.array(fc.tuple(name, requirement), { minLength: 17, maxLength: 40 });
    const likely = fc.constantFrom('', 'x', '1');
    const one = fc.oneof(
      many,
      apart.map((list) => list.map(([key, rest]) => ({ ...rest, key }))),
    );
    fc.assert(
      fc.property(one, fc.dictionary(fc.oneof(key, name), likely), fc.boolean(), (list, own, isOwn) => {
        const map = new Map(Object.entries(own));
        // Half of the time only requirements that hold, so that all of them are met.
        const asked = isOwn ? list.filter((each) => holds(each, map)) : list;
        const expected = asked.every((each) => holds(each, map));
        expect(new LabelSelector(asked).matches(own)).toBe(expected);
      }),
      { numRuns: rounds(2000) },
    );
  });

  test('blanks between tokens change nothing', () => {
    const blank = fc.constantFrom('', ' ', '\t', '\r\n', '  ');
    fc.assert(
      fc.property(requirements, fc.array(blank, { minLength: 12, maxLength: 12 }), (list, blanks) => {
        const text = new LabelSelector(list).toString();
        let at = 0;
        const spaced = text.replace(
          /==|!=|[=!(),<>]/g,
          (symbol) => `${blanks[at++ % 12]}${symbol}${blanks[at++ % 12]}`,
        );
        expect(parseLabelSelector(spaced).toString()).toBe(text);
      }),
    );
  });

  test('any text is read or refused with a SelectorError', () => {
    const soup = fc.array(
      fc.constantFrom('a', 'b', 'in', 'notin', ' ', ',', '(', ')', '=', '!', '<', '>', '-', '1'),
      {
        maxLength: 12,
      },
    );
    fc.assert(
      fc.property(soup, (parts) => {
        const message = messageOf(parts.join(''));
        expect(message).toMatch(/^(accepted as |found '|unable to parse requirement: )/);
        if (message.startsWith('accepted'))
          expect(messageOf(message.slice('accepted as '.length))).toBe(message);
      }),
      { numRuns: rounds(3000) },
    );
  });
});
