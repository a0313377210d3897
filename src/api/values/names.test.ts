/** Proves that names, keys and small numbers are accepted and refused with Kubernetes' texts. */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { rounds } from '../../../test/support/tier.ts';
import {
  isConfigKey,
  isEnvName,
  isFileMode,
  isHttpHeaderName,
  isLabel1123,
  isLabelValue,
  isPathSegment,
  isPortName,
  isPortNumber,
  isQualifiedName,
  isRelativePath,
  isSubdomain1123,
  isUserId,
  isWildcardSubdomain,
  labelName,
  pathSegmentName,
  subdomainName,
  validateAnnotations,
  validateLabels,
} from './names.ts';

const labelText =
  "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')";
const subdomainText =
  "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')";
const wildcardText =
  "a wildcard DNS-1123 subdomain must start with '*.', followed by a valid DNS subdomain, which must consist of lower case alphanumeric characters, '-' or '.' and end with an alphanumeric character (e.g. '*.example.com', regex used for validation is '\\*\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')";
const namePartText =
  "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')";
const labelKeyText =
  "a valid label key must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]') with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')";
const labelValueText =
  "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')";
const configKeyText =
  "a valid config key must consist of alphanumeric characters, '-', '_' or '.' (e.g. 'key.name',  or 'KEY_NAME',  or 'key-name', regex used for validation is '[-._a-zA-Z0-9]+')";
const headerText =
  "a valid HTTP header must consist of alphanumeric characters or '-' (e.g. 'X-Header-Name', regex used for validation is '[-A-Za-z0-9]+')";
const envText =
  "a valid environment variable name must consist only of printable ASCII characters other than '='";
const tooLongText = (count: number): string => `must be no more than ${count} characters`;

type Case = [value: string, problems: string[]];

describe('DNS names', () => {
  test.each<Case>([
    ['a', []],
    ['0', []],
    ['my-name', []],
    ['a'.repeat(63), []],
    ['a'.repeat(64), [tooLongText(63)]],
    ['', [labelText]],
    ['-a', [labelText]],
    ['a-', [labelText]],
    ['A', [labelText]],
    ['a_b', [labelText]],
    ['a\n', [labelText]],
    ['a.b', ['must not contain dots']],
    ['a..b', [labelText]],
    ['a.B', [labelText]],
    [`${'a'.repeat(60)}.bcd`, [tooLongText(63), 'must not contain dots']],
    ['é'.repeat(32), [tooLongText(63), labelText]],
  ])('label %j', (value, problems) => {
    expect(isLabel1123(value)).toEqual(problems);
  });

  test.each<Case>([
    ['a', []],
    ['example.com', []],
    ['1.2-3.x', []],
    ['a'.repeat(253), []],
    ['a'.repeat(254), [tooLongText(253)]],
    ['', [subdomainText]],
    ['.a', [subdomainText]],
    ['a.', [subdomainText]],
    ['a..b', [subdomainText]],
    ['a.-b', [subdomainText]],
    ['a-.b', [subdomainText]],
    ['N_1', [subdomainText]],
    [`${'a'.repeat(253)}-`, [tooLongText(253), subdomainText]],
  ])('subdomain %j', (value, problems) => {
    expect(isSubdomain1123(value)).toEqual(problems);
  });

  test.each<Case>([
    ['*.example.com', []],
    ['*.a', []],
    ['*', [wildcardText]],
    ['*.', [wildcardText]],
    ['example.com', [wildcardText]],
    ['*.*.a', [wildcardText]],
    [`*.${'a'.repeat(252)}`, [tooLongText(253)]],
  ])('wildcard %j', (value, problems) => {
    expect(isWildcardSubdomain(value)).toEqual(problems);
  });

  test('the checks agree with the regexes they print', () => {
    const chars = fc.string({
      unit: fc.constantFrom('a', 'z', 'B', '0', '9', '-', '.', '_', '/', '*', '\n', 'é'),
      maxLength: 8,
    });
    const patterns: [(value: string) => string[], RegExp][] = [
      [isSubdomain1123, /^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/],
      [isLabel1123, /^[a-z0-9]([-a-z0-9]*[a-z0-9])?$/],
      [isWildcardSubdomain, /^\*\.[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/],
      [isLabelValue, /^(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?$/],
      [
        isQualifiedName,
        /^([a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*\/)?([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]$/,
      ],
      [isHttpHeaderName, /^[-A-Za-z0-9]+$/],
    ];
    fc.assert(
      fc.property(chars, (value) => {
        for (const [check, pattern] of patterns) expect(check(value).length === 0).toBe(pattern.test(value));
      }),
      { numRuns: rounds(3000) },
    );
  });
});

describe('name rules', () => {
  test('a generateName may end in a dash', () => {
    expect(subdomainName('web-', true)).toEqual([]);
    expect(subdomainName('web-', false)).toEqual([subdomainText]);
    expect(subdomainName('a.b-', true)).toEqual([]);
    expect(subdomainName('-', true)).toEqual([subdomainText]);
    expect(subdomainName('Web-', true)).toEqual([subdomainText]);
    expect(labelName('web--', true)).toEqual([]);
    expect(labelName('web-', false)).toEqual([labelText]);
    expect(labelName('a.b', false)).toEqual(['must not contain dots']);
    expect(labelName('a.b-', true)).toEqual(['must not contain dots']);
    expect(labelName(`${'a'.repeat(63)}-`, true)).toEqual([tooLongText(63)]);
  });

  test('path segments', () => {
    expect(isPathSegment('')).toEqual([]);
    expect(isPathSegment('a b.Ü')).toEqual([]);
    expect(isPathSegment('.')).toEqual(["may not be '.'"]);
    expect(isPathSegment('..')).toEqual(["may not be '..'"]);
    expect(isPathSegment('...')).toEqual([]);
    expect(isPathSegment('a/b')).toEqual(["may not contain '/'"]);
    expect(isPathSegment('%')).toEqual(["may not contain '%'"]);
    expect(isPathSegment('%/')).toEqual(["may not contain '/'", "may not contain '%'"]);
    expect(pathSegmentName('.', false)).toEqual(["may not be '.'"]);
    expect(pathSegmentName('.', true)).toEqual([]);
    expect(pathSegmentName('a/', true)).toEqual(["may not contain '/'"]);
  });
});

describe('keys and values', () => {
  test.each<Case>([
    ['a', []],
    ['A_b.c-1', []],
    ['example.com/Name', []],
    ['a'.repeat(63), []],
    [`${'a'.repeat(253)}/${'b'.repeat(63)}`, []],
    ['__proto__', [namePartText]],
    ['constructor', []],
    ['', ['name part must be non-empty', namePartText]],
    ['example.com/', ['name part must be non-empty', namePartText]],
    ['/a', ['prefix part must be non-empty']],
    ['/', ['prefix part must be non-empty', 'name part must be non-empty', namePartText]],
    ['-a', [namePartText]],
    ['a b', [namePartText]],
    ['a'.repeat(64), ['name part must be no more than 63 characters']],
    [`-${'a'.repeat(64)}`, ['name part must be no more than 63 characters', namePartText]],
    ['Example.com/a', [`prefix part ${subdomainText}`]],
    [`${'a'.repeat(254)}/b`, ['prefix part must be no more than 253 characters']],
    ['A/-', [`prefix part ${subdomainText}`, namePartText]],
    ['a/b/c', [labelKeyText]],
    ['//', [labelKeyText]],
  ])('qualified name %j', (value, problems) => {
    expect(isQualifiedName(value)).toEqual(problems);
  });

  test.each<Case>([
    ['', []],
    ['MyValue', []],
    ['a_b.c-1', []],
    ['a'.repeat(63), []],
    ['a'.repeat(64), [tooLongText(63)]],
    ['-b', [labelValueText]],
    ['a/b', [labelValueText]],
    ['a ', [labelValueText]],
    ['é'.repeat(40), [tooLongText(63), labelValueText]],
  ])('label value %j', (value, problems) => {
    expect(isLabelValue(value)).toEqual(problems);
  });

  test.each<Case>([
    ['http', []],
    ['a-1', []],
    ['a'.repeat(15), []],
    ['toolongnameforaport', [tooLongText(15)]],
    [
      'BAD!',
      [
        'must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)',
        'must contain at least one letter (a-z)',
      ],
    ],
    ['80', ['must contain at least one letter (a-z)']],
    ['a--b', ['must not contain consecutive hyphens']],
    ['-a', ['must not begin or end with a hyphen']],
    ['a-', ['must not begin or end with a hyphen']],
    [
      '',
      [
        'must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)',
        'must contain at least one letter (a-z)',
      ],
    ],
    [
      '-_--------------',
      [
        tooLongText(15),
        'must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)',
        'must contain at least one letter (a-z)',
        'must not contain consecutive hyphens',
        'must not begin or end with a hyphen',
      ],
    ],
  ])('port name %j', (value, problems) => {
    expect(isPortName(value)).toEqual(problems);
  });

  test.each<Case>([
    ['PATH', []],
    ['a b-c.1~', []],
    ['1', []],
    ['', ['environment variable name must be non-empty']],
    ['a=b', [envText]],
    ['a\tb', [envText]],
    ['a\n', [envText]],
    ['é', [envText]],
    ['\x7f', [envText]],
  ])('environment name %j', (value, problems) => {
    expect(isEnvName(value)).toEqual(problems);
  });

  test.each<Case>([
    ['tls.crt', []],
    ['.hidden', []],
    ['-._A1', []],
    ['a'.repeat(253), []],
    ['a'.repeat(254), [tooLongText(253)]],
    ['', [configKeyText]],
    ['a/b', [configKeyText]],
    ['.', ["must not be '.'"]],
    ['..', ["must not be '..'"]],
    ['..a', ["must not start with '..'"]],
    ['../a', [configKeyText, "must not start with '..'"]],
  ])('config key %j', (value, problems) => {
    expect(isConfigKey(value)).toEqual(problems);
  });

  test.each<Case>([
    ['X-Header-Name', []],
    ['-', []],
    ['', [headerText]],
    ['a b', [headerText]],
    ['a:', [headerText]],
  ])('header name %j', (value, problems) => {
    expect(isHttpHeaderName(value)).toEqual(problems);
  });

  test('relative paths', () => {
    expect(isRelativePath('a/b')).toEqual([]);
    expect(isRelativePath('a/..b/c..')).toEqual([]);
    expect(isRelativePath('/a')).toEqual(['must be a relative path']);
    expect(isRelativePath('a/../b')).toEqual(["must not contain '..'"]);
    expect(isRelativePath('/..')).toEqual(['must be a relative path', "must not contain '..'"]);
    expect(isRelativePath('..data')).toEqual([]);
    expect(isRelativePath('..data', true)).toEqual(["must not start with '..'"]);
    expect(isRelativePath('../a', true)).toEqual(["must not contain '..'"]);
  });
});

describe('numbers', () => {
  test('user and group ids', () => {
    expect(isUserId(0)).toEqual([]);
    expect(isUserId(2_147_483_647)).toEqual([]);
    expect(isUserId(-1)).toEqual(['must be between 0 and 2147483647, inclusive']);
    expect(isUserId(2_147_483_648)).toEqual(['must be between 0 and 2147483647, inclusive']);
  });

  test('file modes', () => {
    expect(isFileMode(0)).toEqual([]);
    expect(isFileMode(511)).toEqual([]);
    expect(isFileMode(512)).toEqual(['must be a number between 0 and 0777 (octal), both inclusive']);
    expect(isFileMode(-1)).toEqual(['must be a number between 0 and 0777 (octal), both inclusive']);
  });

  test('ports', () => {
    expect(isPortNumber(1)).toEqual([]);
    expect(isPortNumber(65_535)).toEqual([]);
    expect(isPortNumber(0)).toEqual(['must be between 1 and 65535, inclusive']);
    expect(isPortNumber(65_536)).toEqual(['must be between 1 and 65535, inclusive']);
    expect(isPortNumber(1.5)).toEqual(['must be between 1 and 65535, inclusive']);
  });
});

describe('labels and annotations', () => {
  test('labels: each problem at the path, with the key or the value', () => {
    expect(validateLabels(undefined, 'metadata.labels')).toEqual([]);
    expect(validateLabels(null, 'metadata.labels')).toEqual([]);
    expect(validateLabels({ a: 'b', 'x.y/z': '' }, 'metadata.labels')).toEqual([]);
    expect(validateLabels({ 'a b': '-c' }, 'metadata.labels')).toEqual([
      {
        field: 'metadata.labels',
        reason: 'FieldValueInvalid',
        message: `Invalid value: "a b": ${namePartText}`,
      },
      {
        field: 'metadata.labels',
        reason: 'FieldValueInvalid',
        message: `Invalid value: "-c": ${labelValueText}`,
      },
    ]);
    const hostile = JSON.parse('{"__proto__":"x"}') as Record<string, string>;
    expect(validateLabels(hostile, 'l').map((error) => error.message)).toEqual([
      `Invalid value: "__proto__": ${namePartText}`,
    ]);
  });

  test('annotations: case does not matter, values are free', () => {
    expect(validateAnnotations(undefined, 'metadata.annotations')).toEqual([]);
    expect(validateAnnotations({ 'EXAMPLE.com/A': 'any thing\n' }, 'metadata.annotations')).toEqual([]);
    expect(validateAnnotations({ 'A/B/c': '' }, 'metadata.annotations')).toEqual([
      {
        field: 'metadata.annotations',
        reason: 'FieldValueInvalid',
        message: `Invalid value: "A/B/c": ${labelKeyText}`,
      },
    ]);
  });

  test('annotations: at most 262144 bytes of keys and values together', () => {
    const tooBig = {
      field: 'metadata.annotations',
      reason: 'FieldValueTooLong',
      message: 'Too long: may not be more than 262144 bytes',
    };
    expect(validateAnnotations({ a: 'x'.repeat(262_143) }, 'metadata.annotations')).toEqual([]);
    expect(validateAnnotations({ a: 'x'.repeat(262_144) }, 'metadata.annotations')).toEqual([tooBig]);
    expect(validateAnnotations({ a: 'é'.repeat(131_071), b: '' }, 'metadata.annotations')).toEqual([]);
    expect(validateAnnotations({ a: 'é'.repeat(131_072) }, 'metadata.annotations')).toEqual([tooBig]);
  });
});

test('three megabytes of anything are answered, not pondered', () => {
  const size = 3_000_000;
  const hostile = ['a', '-', '.', 'a.', 'a-', '0', ':', '1:', '::', '/', '..', '%', '='].flatMap((unit) => {
    const text = unit.repeat(size / unit.length);
    return [text, `${text}!`, `!${text}`];
  });
  const checks = [
    isLabel1123,
    isSubdomain1123,
    isWildcardSubdomain,
    isPathSegment,
    isQualifiedName,
    isLabelValue,
    isPortName,
    isEnvName,
    isConfigKey,
    isHttpHeaderName,
    isRelativePath,
  ];
  for (const value of hostile) for (const check of checks) expect(Array.isArray(check(value))).toBe(true);
});
