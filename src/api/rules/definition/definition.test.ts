/** Proves rules of definitions that the recorded answers do not show. */
import { describe, expect, test } from 'vitest';
import type { CustomResourceDefinition, CustomResourceDefinitionSpec } from '../../generated/types.ts';
import { definitionErrors } from './definition.ts';

type Version = NonNullable<CustomResourceDefinitionSpec['versions']>[number];

const text = { type: 'string' } as const;
const schema = (spec: object) => ({
  openAPIV3Schema: { type: 'object', properties: { spec: { type: 'object', ...spec } } },
});

function definition(
  version: Partial<Version>,
  spec: Partial<CustomResourceDefinitionSpec> = {},
): CustomResourceDefinition {
  const one = { name: 'v1', served: true, storage: true, schema: schema({ properties: { a: text } }) };
  return {
    kind: 'CustomResourceDefinition',
    apiVersion: 'apiextensions.k8s.io/v1',
    metadata: { name: 'things.example.com' },
    spec: {
      group: 'example.com',
      scope: 'Namespaced',
      names: { plural: 'things', singular: 'thing', kind: 'Thing', listKind: 'ThingList' },
      conversion: { strategy: 'None' },
      versions: [{ ...one, ...version }],
      ...spec,
    },
    status: { storedVersions: ['v1'] },
  };
}

const errorsOf = (made: CustomResourceDefinition, old?: CustomResourceDefinition): string[] =>
  [...definitionErrors(made, old)].map(({ field, message }) => `${field}: ${message}`);

const columnless = 'must be a simple json path starting with .';
const scale = (specReplicasPath: string, statusReplicasPath = '.status.n', labelSelectorPath?: string) => ({
  subresources: {
    scale: { specReplicasPath, statusReplicasPath, ...(labelSelectorPath && { labelSelectorPath }) },
  },
});
const fields = (...paths: string[]) => ({ selectableFields: paths.map((jsonPath) => ({ jsonPath })) });
const at = (i: number, detail: string): string => `spec.selectableFields[${i}].jsonPath: ${detail}`;
const wrongPath = (i: number, path: string, detail: string): string =>
  at(i, `Invalid value: "${path}": is an invalid path: ${detail}`);

describe('versions', () => {
  test('a warning of a version that is not deprecated is told alone', () => {
    expect(errorsOf(definition({ deprecationWarning: '' }))).toEqual([
      'spec.versions[0].deprecationWarning: Invalid value: "": can only be set for deprecated versions',
    ]);
  });

  test('a name with several problems is one error', () => {
    const name = `${'x'.repeat(64)}_`;
    expect(errorsOf(definition({ name })).filter((error) => error.startsWith('spec.version:'))).toEqual([
      expect.stringMatching(
        /^spec\.version: Invalid value: "x+_": must be no more than 63 characters,a DNS-1035 label/,
      ),
    ]);
  });

  test('unknown fields cannot be kept everywhere, with defaults and conversion even less', () => {
    const made = definition(
      { schema: schema({ properties: { a: { ...text, default: 'x' } } }) },
      {
        preserveUnknownFields: true,
        conversion: {
          strategy: 'Webhook',
          webhook: { clientConfig: { url: 'https://example.com' }, conversionReviewVersions: ['v1'] },
        },
      },
    );
    expect(errorsOf(made)).toEqual([
      'spec.preserveUnknownFields: Invalid value: true: cannot set to true, set x-kubernetes-preserve-unknown-fields to true in spec.versions[*].schema instead',
      'spec.preserveUnknownFields: Invalid value: true: must be false in order to use defaults in the schema',
      'spec.conversion.strategy: Invalid value: "Webhook": must be None if spec.preserveUnknownFields is true',
    ]);
  });
});

describe('conversion', () => {
  const reviewed = (...conversionReviewVersions: string[]) =>
    definition(
      {},
      {
        conversion: {
          strategy: 'Webhook',
          webhook: { clientConfig: { url: 'https://example.com' }, conversionReviewVersions },
        },
      },
    );
  const unknown =
    'spec.conversion.conversionReviewVersions: Invalid value: ["v7"]: must include at least one of v1, v1beta1';

  test('a version that stands twice is told once', () => {
    expect(errorsOf(reviewed('v1', '_', '_'))).toEqual([
      expect.stringMatching(
        /^spec\.conversion\.conversionReviewVersions\[1\]: Invalid value: "_": a DNS-1035/,
      ),
      'spec.conversion.conversionReviewVersions[2]: Invalid value: "_": duplicate version',
    ]);
  });

  test('review versions that were unknown may stay so', () => {
    expect(errorsOf(reviewed('v7'))).toEqual([unknown]);
    expect(errorsOf(reviewed('v7'), reviewed('v1'))).toEqual([unknown]);
    expect(errorsOf(reviewed('v7'), reviewed('v8'))).toEqual([]);
  });
});

describe('scale', () => {
  test.each<[name: string, version: Partial<Version>, errors: string[]]>([
    ['any name is a path', scale('.spec.my replicas', '.status.a[0]', '.spec.s'), []],
    [
      'other places',
      scale('.', '..status.n', '.metadata.s'),
      [
        'spec.subresources.scale.specReplicasPath: Invalid value: ".": should be a json path under .spec',
        'spec.subresources.scale.statusReplicasPath: Invalid value: "..status.n": should be a json path under .status',
        'spec.subresources.scale.labelSelectorPath: Invalid value: ".metadata.s": should be a json path under either .spec or .status',
      ],
    ],
    [
      'no dot',
      scale('spec.n', 'status', 'x'),
      [
        'specReplicasPath: Invalid value: "spec.n"',
        'statusReplicasPath: Invalid value: "status"',
        'labelSelectorPath: Invalid value: "x"',
      ].map((error) => `spec.subresources.scale.${error}: ${columnless}`),
    ],
  ])('%s', (_, version, errors) => {
    expect(errorsOf(definition(version))).toEqual(errors);
  });
});

describe('selectable fields', () => {
  const notScalar =
    'must point to a field of type string, boolean or integer. Enum string fields and strings with formats are allowed.';

  test('brackets, ends and strange names', () => {
    const made = definition(fields(".spec['a']", '.spec.', '.spec.a.b', '..', 'spec.a', '.spec[0]'));
    expect(errorsOf(made)).toEqual([
      wrongPath(0, ".spec['a']", 'array notation is not allowed'),
      wrongPath(1, '.spec.', 'unexpected end of JSON path'),
      wrongPath(2, '.spec.a.b', 'does not refer to a valid field'),
      wrongPath(3, '..', 'does not refer to a valid field'),
      wrongPath(4, 'spec.a', 'expected [ or . but got: spec'),
      wrongPath(5, '.spec[0]', 'array notation is not allowed'),
    ]);
  });

  test('entries of maps can be selected', () => {
    const map = schema({ additionalProperties: text });
    expect(errorsOf(definition({ schema: map, ...fields('.spec.x') }))).toEqual([]);
  });

  test('a path can be wrong in several ways', () => {
    const openAPIV3Schema = {
      type: 'object',
      properties: { metadata: { type: 'object', properties: { name: text } }, spec: { type: 'object' } },
    };
    const made = definition({
      schema: { openAPIV3Schema },
      ...fields('.metadata.name', '.spec', '.spec', '.metadata'),
    });
    expect(errorsOf(made)).toEqual([
      at(0, 'Invalid value: ".metadata.name": must not point to fields in metadata'),
      at(1, `Invalid value: ".spec": ${notScalar}`),
      at(2, `Invalid value: ".spec": ${notScalar}`),
      at(2, 'Duplicate value: ".spec"'),
      at(3, 'Invalid value: ".metadata": must not point to fields in metadata'),
      at(3, `Invalid value: ".metadata": ${notScalar}`),
    ]);
  });

  test('need a schema', () => {
    const { schema: _, ...version } = definition(fields('.spec.a')).spec!.versions![0]!;
    const made = definition({}, { versions: [version] });
    expect(errorsOf(made)).toEqual([
      'spec.versions[0].schema.openAPIV3Schema: Required value',
      'spec.selectableFields: Invalid value: "": may only be set when validations.schema is included',
    ]);
  });

  test('may not be the same in all versions whose schemas differ', () => {
    const version = (name: string, field: string, property: string) => ({
      name,
      served: true,
      storage: name === 'v1',
      schema: schema({ properties: { a: text, b: text, [property]: text } }),
      ...fields(field),
    });
    const apart = (...versions: Version[]): string[] => errorsOf(definition({}, { versions }));
    expect(apart(version('v1', '.spec.a', 'c'), version('v2', '.spec.a', 'd'))).toEqual([
      'spec.selectableFields: Invalid value: "": may only be set when validations.schema is included',
    ]);
    expect(apart(version('v1', '.spec.a', 'c'), version('v2', '.spec.b', 'd'))).toEqual([]);
  });

  test('only different and valid ones count, and too many may stay as they are', () => {
    const names = [...'abcdefghi'];
    const many = { schema: schema({ properties: Object.fromEntries(names.map((name) => [name, text])) }) };
    const nine = definition({ ...many, ...fields(...names.map((name) => `.spec.${name}`)) });
    const reordered = definition({ ...many, ...fields(...names.reverse().map((name) => `.spec.${name}`)) });
    const tooMany = 'spec.selectableFields: Too many: 9: must have at most 8 items';
    expect(errorsOf(nine)).toEqual([tooMany]);
    expect(errorsOf(nine, nine)).toEqual([]);
    expect(errorsOf(reordered, nine)).toEqual([tooMany]);
    const repeated = definition({
      ...many,
      ...fields(...names.slice(1).map((name) => `.spec.${name}`), '.spec.a'),
    });
    expect(errorsOf(repeated)).toEqual([at(8, 'Duplicate value: ".spec.a"')]);
  });
});
