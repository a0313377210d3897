/**
 * Proves that YAML is read as in Kubernetes, that hostile YAML is refused early, and that writing and reading agree.
 */
import fc from 'fast-check';
import { describe, expect, it, test } from 'vitest';
import * as yaml from 'yaml';
import { anyText } from '../../../test/support/any-text.ts';
import { rounds } from '../../../test/support/tier.ts';
import { readYaml, readYamlNoting, YamlError } from './yaml.ts';
import { writeYaml, yamlParts } from './yaml-writing.ts';

const read = (text: string) => readYaml(text).value;

describe('scalars', () => {
  const cases: [text: string, value: unknown][] = [
    ['yes', true],
    ['On', true],
    ['y', true],
    ['TRUE', true],
    ['no', false],
    ['OFF', false],
    ['N', false],
    ['tRue', 'tRue'],
    ['"yes"', 'yes'],
    ["'no'", 'no'],
    ['~', null],
    ['null', null],
    ['12', 12],
    ['-3', -3],
    ['+3', 3],
    ['-0', 0],
    ['010', 8],
    ['-010', -8],
    ['0o17', 15],
    ['0x1F', 31],
    ['0b101', 5],
    ['08', 8],
    ['1_000', 1000],
    ['1.5', 1.5],
    ['.5', 0.5],
    ['1e3', 1000],
    ['1e400', '1e400'],
    [`0x${'f'.repeat(400)}`, `0x${'f'.repeat(400)}`],
    ['12:30:45', '12:30:45'],
    ['1:30', '1:30'],
    ['2001-12-14', '2001-12-14'],
    ['2001-12-14T21:59:43.10-05:00', '2001-12-14T21:59:43.10-05:00'],
    ['1.2.3', '1.2.3'],
    ['10Gi', '10Gi'],
    ['500m', '500m'],
    ['0.5.', '0.5.'],
    ['=', '='],
    ['!!str 3', '3'],
    ['!!int "3"', 3],
    ['!!float 3', 3],
    ['!!binary aGVsbG8=', 'hello'],
    ['!!timestamp 2001-01-01', '2001-01-01'],
    ['!mine text', 'text'],
    ['b\n  c', 'b c'],
  ];
  test.each(cases)('%s', (text, value) => {
    expect(read(`a: ${text}`)).toEqual({ a: value });
    expect(read(`- ${text}`)).toEqual([value]);
  });

  test('an empty value is null, a block keeps its lines', () => {
    expect(read('a:\nb: |\n  1\n  2\nc: >-\n  1\n  2\n')).toEqual({ a: null, b: '1\n2\n', c: '1 2' });
  });

  test.each(['.inf', '-.Inf', '+.INF', '.nan'])('%s is refused', (text) => {
    expect(() => read(`a: ${text}`)).toThrow(`yaml: line 1: unsupported value: ${text}`);
  });

  test('a %YAML directive changes nothing', () => {
    expect(read('%YAML 1.2\n---\na: yes')).toEqual({ a: true });
  });
});

describe('brackets and quotes', () => {
  test('may go on at any column, as in Go', () => {
    expect(read('hull:\n  args: ["\n    paint \\"it\\"\n  "]\n  coats: 2\n')).toEqual({
      hull: { args: [' paint "it" '], coats: 2 },
    });
    expect(
      read('hull:\n  colour: "dark\nred"\n  planks: [1,\n2, {\nlength:\n3}\n]\n  nails: \'a\n b\'\n'),
    ).toEqual({
      hull: { colour: 'dark red', planks: [1, 2, { length: 3 }], nails: 'a b' },
    });
    expect(read('decks:\n  - {a: 1,\n b: 2}\n  - c\nmast: tall\n')).toEqual({
      decks: [{ a: 1, b: 2 }, 'c'],
      mast: 'tall',
    });
  });

  test('end with their document, and plain texts with their indentation', () => {
    expect(() => read('a: "x\n---\ny"\n')).toThrow(YamlError);
    expect(() => read('a: [1,\n---\n2]\n')).toThrow(YamlError);
    expect(read('a:\n  b: x\nc: z\n')).toEqual({ a: { b: 'x' }, c: 'z' });
  });
});

describe('keys', () => {
  test('become strings', () => {
    expect(read('1: a\n1.5: b\nyes: c\n010: d\n"0x1": e')).toEqual({
      1: 'a',
      1.5: 'b',
      true: 'c',
      8: 'd',
      '0x1': 'e',
    });
  });

  test('null, maps and lists are no keys', () => {
    for (const text of ['~: a', '{a: b}: c', '[a]: c', ': x'])
      expect(() => read(`x: 1\n${text}`)).toThrow('unsupported map key');
  });

  test('__proto__ is an ordinary key', () => {
    const value = read('__proto__: {a: 1}\nb: 2') as object;
    expect(Object.keys(value)).toEqual(['__proto__', 'b']);
    expect(Object.getPrototypeOf(value)).toBe(Object.prototype);
  });

  test('given twice, the last value wins and the path is reported', () => {
    expect(readYaml('a: 1\nb: {c: 1, c: 2}\nl:\n- x: 1\n  x: 2\na: 2\na: 3')).toEqual({
      value: { a: 3, b: { c: 2 }, l: [{ x: 2 }] },
      duplicates: [
        { path: 'b.c', after: 'b.c' },
        { path: 'l[0].x', after: 'l[0].x' },
        { path: 'a', after: 'l' },
      ],
    });
    expect(readYaml('yes: 1\ntrue: 2').duplicates).toEqual([{ path: 'true', after: 'true' }]);
    expect(readYaml(`[${Array(300).fill('{a: 1, a: 2}').join()}]`).duplicates).toHaveLength(100);
    const long = 'x'.repeat(1000);
    expect(
      readYaml(`? ${long}\n: [${Array(300).fill('{a: 1, a: 2}').join()}]`).duplicates.length,
    ).toBeLessThan(70);
  });

  test('merge keys', () => {
    const text =
      'x: &x {a: 1, b: 2}\nw: &w {b: 3, c: 4}\nz:\n  a: 9\n  <<: [*x, *w]\n  c: 5\nv: {<<: *x}\nq: {"<<": 1}';
    expect(readYaml(text)).toEqual({
      value: {
        x: { a: 1, b: 2 },
        w: { b: 3, c: 4 },
        z: { a: 9, b: 2, c: 5 },
        v: { a: 1, b: 2 },
        q: { '<<': 1 },
      },
      duplicates: [],
    });
    for (const bad of ['<<: 1', '<<:', '<<: [1]', '<<: [[]]'])
      expect(() => read(bad)).toThrow('map merge requires map');
  });
});

describe('documents', () => {
  test('exactly one', () => {
    expect(read('---\na: 1\n...\n')).toEqual({ a: 1 });
    expect(read('# hi\na: 1\n---\n# bye\n')).toEqual({ a: 1 });
    expect(() => read('a: 1\n---\nb: 1')).toThrow(/^expected one YAML document, found more$/);
    for (const none of ['', '\n', '# only a comment', '---\n'])
      expect(() => read(none)).toThrow(new YamlError('expected one YAML document, found none'));
  });

  test('JSON is YAML, with its duplicates', () => {
    expect(readYaml('\n{"a":{"b":1,"b":2},"c":"\\ud83d\\ude00"}')).toEqual({
      value: { a: { b: 2 }, c: '😀' },
      duplicates: [{ path: 'a.b', after: 'a.b' }],
    });
    expect(read('{"a": yes}')).toEqual({ a: true });
  });

  test('syntax errors name the line', () => {
    expect(() => read('a: 1\nb: c: d')).toThrow(/^error converting YAML to JSON: yaml: line 2: /);
    expect(() => read('a:\n\t- b')).toThrow('yaml: line 2: ');
    expect(() => read('a: [1, 2')).toThrow(YamlError);
    expect(() => read('a: *x')).toThrow("yaml: line 1: unknown anchor 'x' referenced");
    expect(() => read('a: !!int x')).toThrow('yaml: line 1: cannot decode "x" as a !!int');
  });
});

describe('bounds', () => {
  test('aliases give a value of their own, and the latest anchor counts', () => {
    const value = read('a: &x {k: 1}\nb: *x\nc: &x 2\nd: *x\n') as Record<string, unknown>;
    expect(value).toEqual({ a: { k: 1 }, b: { k: 1 }, c: 2, d: 2 });
    expect(value['a']).not.toBe(value['b']);
  });

  test('aliases that multiply are refused', () => {
    const names = 'abcdefghij'.split('');
    const laughs = names.map(
      (name, i) => `${name}: &${name} [${i ? Array(9).fill(`*${names[i - 1]}`) : 'x'}]`,
    );
    expect(() => read(laughs.join('\n'))).toThrow('document contains excessive aliasing');
    const merges = names.map(
      (name, i) => `${name}: &${name} {<<: [${i ? Array(9).fill(`*${names[i - 1]}`) : '{k: 1}'}]}`,
    );
    expect(() => read(merges.join('\n'))).toThrow('document contains excessive aliasing');
    expect(() => read(`a: &a ${'x'.repeat(400_000)}\nb: [*a, *a, *a]`)).toThrow(
      'document contains excessive aliasing',
    );
    expect(() => read('a: &a\n  b: *a')).toThrow("anchor 'a' value contains itself");
    expect(() => read('&a\n<<: *a')).toThrow("anchor 'a' value contains itself");
  });

  test('nesting is refused before it costs anything', () => {
    expect(read(`${'- '.repeat(200)}a`)).toBeInstanceOf(Array);
    for (const text of ['[', '{a: ', '- ', '? ', ': ', '[{a: '])
      expect(() => read(text.repeat(500_000))).toThrow(new YamlError('exceeded max depth'));
    const ladder = Array.from({ length: 2000 }, (_, level) => `${' '.repeat(level)}a:`).join('\n');
    expect(() => read(ladder)).toThrow('exceeded max depth');
  });

  test('so are too many parts', () => {
    for (const text of ['a,', '---\n', '\n- &a 1', '"'])
      expect(() => read((text === 'a,' ? '[' : '') + text.repeat(400_000))).toThrow(YamlError);
  });

  test('any text gives a value or a YamlError', () => {
    const piece = fc.constantFrom(
      ...'[]{}:-?,&*!|>\'"%@`#~ \n\t\\a1'.split(''),
      '<<',
      '!!',
      '---',
      '\n  ',
      '*a',
      '&a ',
    );
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 60 }), (pieces) => {
        try {
          expect(JSON.stringify(read(pieces.join('')))).toBeTypeOf('string');
        } catch (error) {
          if (!(error instanceof YamlError)) throw error;
        }
      }),
      { numRuns: rounds(1500) },
    );
  });
});

describe('writeYaml', () => {
  it('escapes what a terminal obeys, marks of direction included', () => {
    const value = { a: 'gnp\u202e.exe', b: 'x\n\u2066y\n', c: 'z\n\u200f\n', d: '\u061c', e: 'a\u009b2J' };
    const written = writeYaml(value);
    expect(written).toMatch(/^[\n\x20-\x7e]*$/);
    expect(read(written)).toEqual(value);
  });

  test('reads well', () => {
    const value = {
      kind: 'ConfigMap',
      apiVersion: 'v1',
      metadata: { name: 'a', creationTimestamp: '2026-11-15T00:06:29Z', labels: {}, finalizers: [] },
      data: { yes: 'no', port: '80', script: 'echo a\n\necho b\n', image: 'nginx:1.27', y: 'a # b' },
      list: [{ name: 'x', args: ['-v', 'run it'] }, [1, [2]], null, true, 'a\nb'],
    };
    expect(writeYaml(value)).toBe(
      [
        'apiVersion: v1',
        'data:',
        '  image: nginx:1.27',
        '  port: "80"',
        '  script: |',
        '    echo a',
        '',
        '    echo b',
        '  "y": "a # b"',
        '  "yes": "no"',
        'kind: ConfigMap',
        'list:',
        '  - args:',
        '      - "-v"',
        '      - run it',
        '    name: x',
        '  - - 1',
        '    - - 2',
        '  - null',
        '  - true',
        '  - |-',
        '    a',
        '    b',
        'metadata:',
        '  creationTimestamp: "2026-11-15T00:06:29Z"',
        '  finalizers: []',
        '  labels: {}',
        '  name: a',
        '',
      ].join('\n'),
    );
  });

  test('what is written is read again, by us and by other readers of YAML 1.1 and 1.2', () => {
    const word = fc.constantFrom(
      'yes',
      'e0',
      '<<',
      '0o7',
      '1_0',
      '12:30',
      '...',
      '---',
      'a: b',
      'a:',
      '- a',
      'null',
      '.inf',
      '',
    );
    const lines = fc.array(
      fc.constantFrom('a', '  b', '', ' ', 'c: d', '\tx', 'é', '🛶', '#', '\u2028', '\u0085', '\ufeff', '\r'),
    );
    const text = fc.oneof(
      word,
      lines.map((parts) => parts.join('\n')),
      anyText(),
      fc.string({ unit: 'grapheme-ascii' }),
      fc.constant('k'.repeat(1500)),
    );
    const { node } = fc.letrec((tie) => ({
      node: fc.oneof(
        { maxDepth: 4, withCrossShrink: true },
        text,
        fc.constantFrom<unknown>(null, true, false, 0, -1, 1.5, 1e21, 1e-7),
        fc.array(tie('node'), { maxLength: 4 }),
        fc.dictionary(text, tie('node'), { maxKeys: 4 }),
      ),
    }));
    fc.assert(
      fc.property(node, (generated) => {
        const value = JSON.parse(JSON.stringify(generated));
        if (value === null) return;
        const written = writeYaml(value);
        expect(readYaml(written)).toEqual({ value, duplicates: [] });
        for (const version of ['1.1', '1.2'] as const)
          expect(yaml.parse(written, { version, uniqueKeys: false })).toEqual(value);
      }),
      { numRuns: 200 },
    );
  });

  test.each(['x\n\n', 'x\n', 'x\n\ny', 'x\n\n\n', 'x \ny', '\nx', 'x\n y\n'])(
    'keeps the lines of %j',
    (lines) => {
      expect(read(writeYaml({ a: lines, b: [lines, lines] }))).toEqual({ a: lines, b: [lines, lines] });
    },
  );

  test('does not grow with depth', () => {
    let value: unknown = Array(1000).fill('a');
    for (let level = 0; level < 900; level += 1) value = [value];
    expect(writeYaml(value).length).toBeLessThan(20_000);
    let shallow: unknown = { a: 'b' };
    for (let level = 0; level < 80; level += 1) shallow = { a: [shallow] };
    expect(read(writeYaml(shallow))).toEqual(shallow);
  });
});

describe('a large value', () => {
  const texts = {
    lines: 'a line\n'.repeat(5_000),
    quoted: `"\u2028${'x'.repeat(30_000)}`,
    // Halves of characters at every place where a text could be cut.
    wide: ` ${'\u{1f600}'.repeat(20_000)}`,
    odd: `  ${'\u{1f600}'.repeat(20_000)}`,
  };
  const value = {
    list: Array.from({ length: 5_000 }, (_, i) => [
      { name: `n-${i}`, value: `v: ${i}`, none: [], empty: {} },
    ]),
    map: Object.fromEntries(Array.from({ length: 5_000 }, (_, i) => [`k-${i}`, i])),
    texts,
  };

  it('is written in parts that are short, and read as it was', () => {
    const parts = [...yamlParts(value)];
    expect(parts.length).toBeGreaterThan(50);
    expect(parts.join('')).toBe(writeYaml(value));
    expect(readYaml(writeYaml(texts)).value).toEqual(texts);
    // A text of several lines is written at once: it is copied, line by line.
    const { lines: _lines, ...others } = texts;
    for (const part of yamlParts({ ...value, texts: others })) expect(part.length).toBeLessThan(64 * 1024);
  });
});

test("`\\'` in double quotes is a quote, as for Go, and moves no position", () => {
  const value = (text: string) => readYaml(text).value;
  expect(value(`a: "it\\'s"`)).toEqual({ a: "it's" });
  expect(value(`a: "\\\\'\\'\\\\"`)).toEqual({ a: "\\''\\" });
  expect(value(`["\\'", 'x\\']`)).toEqual(["'", 'x\\']);
  expect(value(`--- |\n"it\\'s"\n`)).toBe(`"it\\'s"\n`);
  const places: number[] = [];
  readYamlNoting(`{"\\'": "\\'\\'", b: 1}`, (_, { offset }) => void places.push(offset));
  expect(places).toEqual(expect.arrayContaining([1, 7, 15, 18]));
});
