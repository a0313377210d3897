/** Proves that every line of a YAML text is known by its field, in the ways that people and kubectl write YAML. */
import { describe, expect, test } from 'vitest';
import { fieldPath, lineOfField, outlineOf } from './outline.ts';

const paths = (text: string): string[] =>
  outlineOf(text).map(({ line, path }) => `${line} ${path.join('/')}`);

describe('outlines of YAML', () => {
  test('lists may stand at the indentation of their key or deeper', () => {
    const flat = 'spec:\n  containers:\n  - name: a\n    image: b\n  - name: c\n  volumes: []\n';
    const deep = 'spec:\n    containers:\n      - name: a\n        image: b\n      - name: c\n    volumes: []\n';
    const expected = [
      '1 spec',
      '2 spec/containers',
      '3 spec/containers/0',
      '3 spec/containers/0/name',
      '4 spec/containers/0/image',
      '5 spec/containers/1',
      '5 spec/containers/1/name',
      '6 spec/volumes',
    ];
    expect(paths(flat)).toEqual(expected);
    expect(paths(deep)).toEqual(expected);
  });

  test('text blocks, comments and quoted keys', () => {
    const text = 'data:\n  "a: b": |\n    x: 1\n\n    - y\n  # c: d\n  \'e\'\'f\': >-\n   z: 2\n  g.h/i: http://j\nk: 1\n';
    expect(paths(text)).toEqual(['1 data', '2 data/a: b', "7 data/e'f", '9 data/g.h/i', '10 k']);
  });

  test('lists of lists and of plain values', () => {
    expect(paths('a:\n- - 1\n  - 2\n- b: 1\n  c: 2\n')).toEqual([
      '1 a',
      '2 a/0',
      '2 a/0/0',
      '3 a/0/1',
      '4 a/1',
      '4 a/1/b',
      '5 a/1/c',
    ]);
  });

  test('the line of a field, or of the nearest one around it', () => {
    const entries = outlineOf('metadata:\n  name: x\nspec:\n  containers:\n  - name: a\n    ports: [{containerPort: 1}]\n');
    expect(lineOfField(entries, 'spec.containers[0].name')).toBe(5);
    expect(lineOfField(entries, 'spec.containers[0].image')).toBe(5);
    expect(lineOfField(entries, 'spec.containers[0].ports[0].containerPort')).toBe(6);
    expect(lineOfField(entries, 'status.phase')).toBe(1);
    expect(fieldPath('data[a.b].c[10]')).toEqual(['data', 'a.b', 'c', 10]);
  });
});
