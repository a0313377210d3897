/** The language itself: syntax, types, meaning, bounds. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { anyText } from '../../../test/support/any-text.ts';
import { rounds } from '../../../test/support/tier.ts';
import { environment, evaluate, problems } from './cel.fixture.ts';
import { compile } from './cel.ts';
import { anyJson } from './json-values.ts';
import { Budget, BudgetExceeded } from './values/budget.ts';

const operandWanted =
  "{'[', '{', '(', '.', '-', '!', 'true', 'false', 'null', NUM_FLOAT, NUM_INT, NUM_UINT, STRING, BYTES, IDENTIFIER}";

describe('expressions that are refused', () => {
  it.each<[string, ...string[]]>([
    ['self.s.nope', "1:7: type 'string' does not support field selection"],
    ['self.i == 1.0', "1:8: found no matching overload for '_==_' applied to '(int, double)'"],
    ['self.i + self.d > 0.0', "1:8: found no matching overload for '_+_' applied to '(int, double)'"],
    ['!self.i', "1:1: found no matching overload for '!_' applied to '(int)'"],
    [
      'self.m[1] == "a"',
      "1:7: found no matching overload for '_[_]' applied to '(map(string, string), int)'",
    ],
    ['"a" in self.l', "1:5: found no matching overload for '@in' applied to '(string, list(int))'"],
    ['self.i && true', "1:5: expected type 'bool' but found 'int'"],
    ['self.l.all(x, x)', "1:15: expected type 'bool' but found 'int'"],
    ['self.l.all(1, true)', '1:12: argument must be a simple name'],
    ['has(self)', '1:5: invalid argument to has() macro'],
    ['!has(self.o.y)', "1:5: undefined field 'y'"],
    ['foo(self.s)', "1:4: undeclared reference to 'foo' (in container '')"],
    ['self.frob()', "1:10: undeclared reference to 'frob' (in container '')"],
    [
      'cel.bind(x, 1, x == 1)',
      "1:1: undeclared reference to 'cel' (in container '')",
      "1:9: undeclared reference to 'bind' (in container '')",
      "1:10: undeclared reference to 'x' (in container '')",
    ],
    [
      'self.?o.x == "a"',
      "1:11: found no matching overload for '_==_' applied to '(optional_type(string), string)'",
    ],
    ['[1, "a"].size() == 2', "1:5: expected type 'int' but found 'string'"],
    ['{"a": 1, "b": "c"} == {}', "1:15: expected type 'int' but found 'string'"],
    ['timestamp("x") < self.t', '1:11: invalid timestamp argument'],
    ['duration("5") == self.dur', '1:10: invalid duration argument'],
    ['self.s.matches("[a-")', '1:16: invalid matches argument'],
    [
      '"%d".format([self.s])',
      '1:18: error during formatting: decimal clause can only be used on integers, was given string',
    ],
    ['"%q".format([self.s])', '1:12: could not parse formatting clause: unrecognized formatting clause "q"'],
    ['true &&', `1:8: Syntax error: mismatched input '<EOF>' expecting ${operandWanted}`],
    ['1 +* 2 == 3', `1:4: Syntax error: extraneous input '*' expecting ${operandWanted}`],
    ['size(self.s, ) > 1', `1:14: Syntax error: mismatched input ')' expecting ${operandWanted}`],
    ['self.l.exists(x, x > 1', "1:23: Syntax error: missing ')' at '<EOF>'"],
    [
      'self.s == "abc',
      `1:11: Syntax error: token recognition error at: '"abc'`,
      `1:15: Syntax error: mismatched input '<EOF>' expecting ${operandWanted}`,
    ],
    ['object.', "1:8: Syntax error: no viable alternative at input '.'"],
    [
      'self.s = "a"',
      "1:8: Syntax error: token recognition error at: '= '",
      '1:10: Syntax error: extraneous input \'"a"\' expecting <EOF>',
    ],
    ['return == 1', '1:1: reserved identifier: return'],
    ['self.s.size(1)', "1:12: found no matching overload for 'size' applied to 'string.(int)'"],
    ['size(1)', "1:5: found no matching overload for 'size' applied to '(int)'"],
    [
      'self.i.all(x, true)',
      "1:5: expression of type 'int' cannot be range of a comprehension (must be list, map, or dynamic)",
    ],
    [
      'self.l.filter(x, x)',
      "1:14: found no matching overload for '_?_:_' applied to '(int, list(int), list(int))'",
    ],
    ['self.s == null', "1:8: found no matching overload for '_==_' applied to '(string, null)'"],
    [
      'quantity("1").sign() == 1',
      "1:19: found no matching overload for 'sign' applied to 'kubernetes.Quantity.()'",
    ],
    [
      'math.ceil(1.5)',
      "1:1: undeclared reference to 'math' (in container '')",
      "1:10: undeclared reference to 'ceil' (in container '')",
    ],
    ['Nothing{a: 1}', "1:8: undeclared reference to 'Nothing' (in container '')"],
    ['99999999999999999999 > 1', '1:1: invalid int literal'],
    ['"\\z" == ""', '1:1: invalid string literal: unable to unescape string'],
  ])('%s', (text, ...messages) => {
    expect(problems(text)).toEqual(messages);
  });

  it('shows lines, columns and carets', () => {
    expect(compile('self.x == 1\n && self.z', environment).errors).toBe(
      "ERROR: <input>:1:5: undefined field 'x'\n | self.x == 1\n | ....^\nERROR: <input>:2:9: undefined field 'z'\n |  && self.z\n | ........^",
    );
    expect(compile('"世界" == self.z', environment).errors).toContain(
      '\n | "世界" == self.z\n | .．．.........^',
    );
  });
});

describe('values', () => {
  it.each<[string, unknown]>([
    ['1 + 2 * 3 - 4 / 2 % 3', 5],
    ['-7 / 2', -3],
    ['-7 % 2', -1],
    ['1 / 0 == 1', 'error: division by zero'],
    ['1 % 0 == 1', 'error: modulus by zero'],
    ['9223372036854775807 + 1 > 0', 'error: integer overflow'],
    ['-9223372036854775808 < 0', true],
    ['0xFF == 255 && 12u == 12u && 1e3 == 1000.0', true],
    ['self.i < 5.5 && self.i < 6u && 1u < 2', true],
    ['"a" < "b" && "ab" + "c" == "abc"', true],
    ["r'\\n'.size() == 2 && '\\u00e9' == 'é' && '''a'b''' == \"a'b\"", true],
    ["b'\\xff\\001'.size() == 2 && bytes('é').size() == 2", true],
    ['"😀a".size()', 2],
    ['true || 1 / 0 > 0', true],
    ['1 / 0 > 0 || true', true],
    ['1 / 0 > 0 && false', false],
    ['1 / 0 > 0 || false', 'error: division by zero'],
    ['[1, 0].exists(x, 1 / x == 1)', true],
    ['[0, 1].exists(x, 1 / x == 1)', true],
    ['[0, 2].all(x, 1 / x == 1)', false],
    ['[0, 1].all(x, 1 / x == 1)', 'error: division by zero'],
    ['[0, 1].exists_one(x, 1 / x == 1)', 'error: division by zero'],
    ['[1, 2, 3].filter(x, x > 1).map(x, x * 2)', [4, 6]],
    ['[1, 2, 3].map(x, x > 1, x + 1)', [3, 4]],
    ['{"a": 1, "b": 2}.all(k, v, v > 0)', true],
    ['{"a": 1, "b": 2}.exists(k, v, k == "b" && v == 2)', true],
    ['["x", "y"].transformList(i, v, v + string(i))', ['x0', 'y1']],
    ['["x", "y"].transformMap(i, v, i > 0, v)', { 1: 'y' }],
    ['{"a": "x"}.transformMapEntry(k, v, {v: k})', { x: 'a' }],
    ['[1, 2].existsOne(i, v, v == 2)', true],
    ['self.m.map(k, k)', ['a', 'b']],
    ['true ? "a" : "b"', 'a'],
    ['has(self.o.x) && !has(self.m.zz) && has(object.spec.replicas)', true],
    ['self.m["zz"] == ""', 'error: no such key: zz'],
    ['self.m.zz == ""', 'error: no such key: zz'],
    ['self.l[9] == 1', 'error: index out of bounds: 9'],
    ['self.l[-1] == 1', 'error: index out of bounds: -1'],
    ['self.objs[1].v == 1', 'error: no such key: v'],
    ['1 in self.l && !(7 in self.l) && "a" in self.m', true],
    ['object.spec.replicas == 3 && object.spec.replicas == 3.0', true],
    ['object.spec.replicas == "3"', false],
    ['object.spec.replicas > "3"', 'error: no such overload'],
    ['self.ios > 5', 'error: no such overload'],
    ['object.metadata.labels["app"] == "web" && object.metadata.labels.app.startsWith("w")', true],
    ['object.spec.list[2].x == 1', 'error: no such key: x'],
    ['has(object.spec.list[2].x) || has(object.spec.replicas.x)', false],
    ['null == self.o', false],
    ['self.o == self.o && [1, 2] == [1, 2] && {"a": 1} == {"a": 1}', true],
    ['type(1) == int && type("a") == string && type(self.t) == google.protobuf.Timestamp', true],
    ['int("12") + int(2.9) + int(3u)', 17],
    ['int("a") == 1', "error: type conversion error from 'string' to 'int'"],
    ['double("a") == 1.0', "error: type conversion error from 'string' to 'double'"],
    ['bool("x")', "error: type conversion error from 'string' to 'bool'"],
    ['uint(-1) == 1u', 'error: unsigned integer overflow'],
    ['string(1000000.0) + string(1.5) + string(true) + string(7u)', '1e+061.5true7'],
    ['string(b"abc") + string(12)', 'abc12'],
    ['// a comment\n 1 + 1', 2],
    ['self.s.matches("^h.*o$")', true],
    ['self.s.matches(self.s + "[")', 'error: error parsing regexp: missing closing ]: `[`'],
  ])('%s', (text, value) => {
    expect(evaluate(text)).toEqual(value);
  });
});

describe('bounds', () => {
  const hostile: [string, string][] = [
    ['parentheses', '('.repeat(10_000)],
    ['lists', '['.repeat(5000) + ']'.repeat(5000)],
    ['negations', `${'!'.repeat(5000)}true`],
    ['minus signs', `${'- '.repeat(5000)}self.i`],
    ['ternaries', 'true ? '.repeat(3000)],
    ['selections', `object${'.a'.repeat(5000)}`],
    ['indexes', `object${'[0]'.repeat(5000)}`],
    ['sums', Array(3000).fill('1').join('+')],
    ['macros', `${'self.l.all(x, '.repeat(1000)}true${')'.repeat(1000)}`],
    ['a long text', `"${'a'.repeat(200_000)}" == ""`],
    ['a long number', `${'9'.repeat(90_000)} == 1`],
    ['quotes', '"'.repeat(9999)],
  ];
  it.each(hostile)('refuses deep or long %s', (_, text) => {
    expect(compile(text, environment).errors).toMatch(/^ERROR: <input>:1:\d+: /);
  });

  it('takes long chains', () => {
    expect(evaluate(Array(3000).fill('true').join(' && '))).toBe(true);
    expect(evaluate(Array(200).fill('1').join(' + '))).toBe(200);
    expect(evaluate(`[${Array(5000).fill('1').join(', ')}].sum()`)).toBe(5000);
  });

  it.each([
    ['doubled strings', `["${'a'.repeat(1000)}"]${'.map(x, x + x)'.repeat(40)}.size() > 0`],
    ['doubled lists', `[[1, 2, 3, 4]]${'.map(x, x + x)'.repeat(40)}.size() > 0`],
    ['nested loops', `${'lists.range(1000).all(x, '.repeat(5)}true${')'.repeat(5)}`],
    ['a huge range', 'lists.range(100000).map(x, x).map(x, x).size() > 0'],
    ['patterns on long texts', `lists.range(10000).all(x, "${'a'.repeat(5000)}".matches("(a+)+b") || true)`],
    [
      'a search for one text in another',
      `lists.range(100000).exists(x, "${'a'.repeat(3000)}".contains("${'a'.repeat(2000)}b"))`,
    ],
  ])('stops %s', (_, text) => {
    expect(() => evaluate(text)).toThrow(BudgetExceeded);
  });

  it.each([
    ['replacement', `"${'a'.repeat(10_000)}".replace("a", "${'b'.repeat(5000)}").size() > 0`],
    [
      'format',
      `"${'%s'.repeat(10_000)}".format(lists.range(10000).map(x, "${'b'.repeat(5000)}")).size() > 0`,
    ],
    ['range', 'lists.range(9000000000).size() > 0'],
  ])('does not make what is too large: %s', (_, text) => {
    expect(() => expect(evaluate(text)).toMatch(/^error: /)).not.toThrow(RangeError);
  });

  it.each([
    ['values that are deep', 'object.rows.all(x, object.rows == object.rows)'],
    ['lists of objects', 'object.rows.all(x, sets.contains(object.rows, object.rows))'],
    ['texts of large values', 'object.rows.all(x, "%s".format([object.rows]) != "")'],
    ['lists in lists', 'object.rows.all(x, object.rows.flatten().size() > 0)'],
    ['characters beyond 16 bits', 'object.rows.all(x, object.text.charAt(1) != "")'],
    ['patterns that repeat', 'object.rows.all(x, "a".matches("((a{1,50}){1,50})" + string(x.size())))'],
    ['addresses', 'object.rows.all(x, object.rows.all(y, x.all(z, isIP("1.2.3.4"))))'],
  ])('charges for the work in %s', (_name, text) => {
    const rows = Array.from({ length: 150 }, () => Array.from({ length: 150 }, (_, v) => ({ v })));
    const object = anyJson({ rows, text: '😀'.repeat(200_000) });
    const program = compile(text, environment).program!;
    expect(() => program.run({ object }, new Budget(1_000_000))).toThrow(BudgetExceeded);
  });

  it('never fails on any text', () => {
    const piece = fc.constantFrom(
      ...'self . s i l ( ) [ ] { } , : ? ?. && || ! - + * / % == < in 1 1.5 2u "a" b"x" r\'\\\' \\ // \n ` @ has all x map size format "%s" null true é 😀 ""'.split(
        ' ',
      ),
    );
    fc.assert(
      fc.property(
        fc.oneof(
          anyText(),
          fc.array(piece, { maxLength: 20 }).map((pieces) => pieces.join(' ')),
        ),
        (text) => {
          const { program, errors } = compile(text, environment);
          if (program === undefined) expect(errors).toMatch(/^ERROR: <input>:\d+:\d+: /);
          else evaluate(text);
        },
      ),
      { seed: Number(process.env.WHERRY_SEED ?? 1), numRuns: rounds(3000) },
    );
  });
});

describe('estimates', () => {
  const cost = (text: string): number | undefined => compile(text, environment).program?.costMax;

  it('adds up the parts of an expression', () => {
    expect(cost('true')).toBe(0);
    expect(cost('self.i')).toBe(2);
    expect(cost('self.i > 1')).toBe(3);
    expect(cost('has(self.o.x)')).toBe(2);
    expect(cost('[1, 2, 3].all(x, x > 0)')).toBe(10 + 1 + 3 * (3 + 2));
    expect(cost('self.s.contains("x")')).toBe(Number.POSITIVE_INFINITY);
  });

  it('is never below what a run is charged', () => {
    for (const text of [
      '[1, 2, 3].filter(x, x > 1).map(x, x * 2).size() == 2',
      '"abc" + "def" == "abcdef" && [1, 2].exists(x, x == 2)',
    ]) {
      const program = compile(text, environment).program;
      const budget = new Budget(1_000_000);
      program?.run({}, budget);
      expect(budget.spent).toBeLessThanOrEqual(program?.costMax ?? 0);
    }
  });
});
