/** Proves that forms read YAML as the server does, and refuse what they could not give back as it was. */
import { describe, expect, it } from 'vitest';
import { readYaml } from '../../../src/api/text/yaml.ts';
import { yamlText } from '../../core/text/yaml-text.ts';
import { yamlValue } from './yaml-value.ts';

describe('the value of a YAML text', () => {
  it.each([
    'apiVersion: v1\n"quoted key": \'it\'\'s\'\n# a comment\nempty:\nnone: ~\ntext: ""\n',
    'list:\n- a\n- b: 1\n  c: [1, "two", {x: y, z}]\n-\n  - nested\n-\n- last # note\n',
    'a: |\n  one\n    two\n\nb: |-\n  x\n  y\nc: >\n  joined\n  line\nd: |+\n  kept\n\n\ne: 1\n',
    'plain: some text\n  on two lines\nurl: http://example.com:80/a#b\ntime: 12:30:45\n',
    'a: no\n1: -1\nf: 1.5\nh: 1.5e3\nbig: 9007199254740991\n',
    '---\nemptymap: {}\nemptylist: []\nflow: {a: b, c: , "d": [ ]}\n',
    '{"json": [true, null, 1.5, "\\u00e4"]}',
    'data:\n  "key:with colon": "a\\tb"\n  script: |\n    #!/bin/sh\n    echo "hi"\n',
  ])('is that of the server: %j', (text) => {
    expect(yamlValue(text)).toEqual(readYaml(text).value);
    expect(yamlValue(yamlText(yamlValue(text)))).toEqual(yamlValue(text));
  });

  it.each([
    ['a: 1\n---\nb: 2\n', 2, 'more than one'],
    ['a: &x 1\n', 1, 'Anchored'],
    ['a: 1\nb: *x\n', 2, 'Alias'],
    ['a: !!str 5\n', 1, 'Tagged'],
    ['a: 0x1f\n', 1, 'in quotes'],
    ['a: 9007199254740993\n', 1, 'in quotes'],
    ['a: 1\nb: [1, \n', 3, 'not YAML'],
    ['[a]: 1\n', 1, 'name'],
    ['yes: 1\n', 1, 'name'],
    [`${'['.repeat(200)}${']'.repeat(200)}`, 1, 'too deep'],
  ])('is refused with its line: %j', (text, line, what) => {
    expect(() => yamlValue(text)).toThrow(
      expect.objectContaining({ line, what: expect.stringContaining(what) }),
    );
  });

  it('is nothing for a text without any', () => expect(yamlValue('# only a comment\n')).toBeUndefined());
});
