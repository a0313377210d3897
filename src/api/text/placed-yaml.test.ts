/** Proves that places and sources are those of the text, also behind aliases and merged maps. */
import { describe, expect, it } from 'vitest';
import { PlacedError, PlacedYaml } from './placed-yaml.ts';

describe('places of a text', () => {
  const text =
    'a: off\nb:\n  - x: 010\n    "y z": [1, two]\nc: &c {d: 0x1F}\ne: *c\nf:\n  <<: *c\n  d: "own"\n  g: 1\n';
  const yaml = new PlacedYaml(text);

  it.each<[(string | number)[], 'key' | 'value', number, number]>([
    [['a'], 'value', 1, 4],
    [['b', 0, 'x'], 'key', 3, 5],
    [['b', 0, 'y z'], 'key', 4, 5],
    [['b', 0, 'y z', 1], 'value', 4, 16],
    [['e'], 'value', 6, 4],
    [['f', 'd'], 'value', 9, 6],
    [['f', 'd'], 'key', 9, 3],
    [['b', 0, 'not', 'there'], 'value', 3, 5],
    [['nowhere'], 'key', 1, 1],
  ])('%j, its %s, is at %i:%i', (path, of, line, column) => {
    expect(yaml.place(path, of)).toEqual({ line, column });
  });

  it('scalars are kept as they are written', () => {
    const sources = [['a'], ['b', 0, 'x'], ['e', 'd'], ['f', 'd'], ['f', 'g'], ['b']].map((path) =>
      yaml.source(path),
    );
    expect(sources).toEqual(['off', '010', '0x1F', 'own', '1', undefined]);
    expect(yaml.value).toMatchObject({ a: false, b: [{ x: 8 }], e: { d: 31 }, f: { d: 'own', g: 1 } });
  });

  it('JSON has places, too', () => {
    expect(new PlacedYaml('{\n "a": {"b": [1,\n  2]}\n}').place(['a', 'b', 1])).toEqual({
      line: 3,
      column: 3,
    });
  });

  it.each(['', '# nothing\n', '  \n# a\n  # b'])('%j is null', (empty) => {
    expect(new PlacedYaml(empty).value).toBeNull();
  });
});

describe('texts that are refused', () => {
  it.each<[string, number, RegExp]>([
    ['a: 1\nb: [1\nc: 2', 3, /^the closing \] is missing$/],
    ['a: 1\nb:\n  a: 1\n  a: 2', 4, /key "a" already set/],
    ['a: *no', 1, /unknown anchor/],
    ['a: 1\n---\nb: 1', 3, /one YAML document/],
    ['a: .nan', 1, /unsupported value/],
    [`a: ${'['.repeat(5_000)}`, 1, /max depth/],
    [
      `a: &a [x, x, x]\nb: &b [*a, *a, *a, *a]\n${'c: [*b]\n'.repeat(1)}d: &d [*b, *b]\nd: 1`,
      5,
      /already set/,
    ],
  ])('%j', (text, line, says) => {
    let error: unknown;
    try {
      new PlacedYaml(text);
    } catch (thrown) {
      error = thrown;
    }
    expect(error).toBeInstanceOf(PlacedError);
    expect((error as PlacedError).place.line).toBe(line);
    expect((error as PlacedError).message).toMatch(says);
  });
});
