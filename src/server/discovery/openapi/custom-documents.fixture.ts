/** Definitions of two custom kinds with whatever their documents can show, and what those of a kube-apiserver 1.36.4 say. */
import type { CustomResourceDefinition } from '../../../api/generated/types.ts';

const group = 'x-fleet.harbour.example.com';

const spec = {
  type: 'object',
  required: ['color', 'maybe'],
  properties: {
    color: { type: 'string', enum: ['red', 'blue'], default: 'red', description: 'Its color.' },
    size: { type: 'integer', format: 'int32', minimum: 1, maximum: 9, exclusiveMinimum: false, default: 3 },
    replicas: { type: 'integer' },
    maybe: {
      type: 'string',
      nullable: true,
      maxLength: 10,
      description: 'May be null.',
      enum: ['a', 'b', null],
    },
    maybeList: {
      type: 'array',
      nullable: true,
      items: { type: 'string' },
      'x-kubernetes-list-type': 'set',
      maxItems: 4,
    },
    maybeMap: { type: 'object', nullable: true, additionalProperties: { type: 'string' }, maxProperties: 5 },
    maybeObject: { type: 'object', nullable: true, properties: { a: { type: 'string' } }, required: ['a'] },
    mapOfMaybe: { type: 'object', additionalProperties: { type: 'string', nullable: true } },
    port: { 'x-kubernetes-int-or-string': true, default: 80 },
    port2: {
      'x-kubernetes-int-or-string': true,
      anyOf: [{ type: 'integer' }, { type: 'string' }],
      pattern: '^[0-9]+$',
    },
    port3: {
      'x-kubernetes-int-or-string': true,
      allOf: [{ anyOf: [{ type: 'integer' }, { type: 'string' }] }],
      nullable: true,
    },
    free: {
      type: 'object',
      'x-kubernetes-preserve-unknown-fields': true,
      description: 'Anything.',
      properties: { a: { type: 'string' } },
      required: ['a'],
    },
    any: { 'x-kubernetes-preserve-unknown-fields': true },
    freeList: { type: 'array', items: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true } },
    pod: {
      type: 'object',
      'x-kubernetes-embedded-resource': true,
      'x-kubernetes-preserve-unknown-fields': true,
    },
    whole: {
      type: 'object',
      'x-kubernetes-embedded-resource': true,
      properties: { spec: { type: 'object', properties: { a: { type: 'string' } } } },
    },
    list: {
      type: 'array',
      maxItems: 5,
      uniqueItems: false,
      'x-kubernetes-list-type': 'map',
      'x-kubernetes-list-map-keys': ['name'],
      items: {
        type: 'object',
        required: ['name'],
        properties: { name: { type: 'string', maxLength: 9 }, level: { type: 'integer', default: 1 } },
      },
    },
    atomic: {
      type: 'object',
      'x-kubernetes-map-type': 'atomic',
      properties: { a: { type: 'string', format: 'date-time', example: 'x' } },
    },
    one: {
      type: 'object',
      properties: { a: { type: 'string' }, b: { type: 'string' } },
      oneOf: [{ required: ['a'] }, { required: ['b'] }],
    },
    no: {
      type: 'string',
      not: { pattern: '^x' },
      title: 'No.',
      externalDocs: { url: 'https://example.com' },
    },
    empty: { type: 'object', properties: {}, required: [] },
    open: { type: 'object', additionalProperties: true },
  },
  'x-kubernetes-validations': [
    {
      rule: "self.size < 9 || self.color == 'red'",
      message: 'too large',
      reason: 'FieldValueInvalid',
      fieldPath: '.size',
    },
  ],
};

const status = {
  type: 'object',
  default: { replicas: 0 },
  properties: { replicas: { type: 'integer' }, selector: { type: 'string' }, default: { type: 'string' } },
};

const selectableFields = [{ jsonPath: '.spec.color' }, { jsonPath: '.spec.size' }];

const scale = {
  specReplicasPath: '.spec.replicas',
  statusReplicasPath: '.status.replicas',
  labelSelectorPath: '.status.selector',
};

const tugs = {
  group,
  scope: 'Namespaced',
  names: {
    plural: 'tugs',
    singular: 'tug',
    kind: 'Tug',
    listKind: 'TugList',
    shortNames: ['tg'],
    categories: ['all', 'boats'],
  },
  versions: [
    {
      name: 'v1',
      served: true,
      storage: true,
      selectableFields,
      additionalPrinterColumns: [{ name: 'Color', type: 'string', jsonPath: '.spec.color' }],
      subresources: { status: {}, scale },
      schema: {
        openAPIV3Schema: {
          type: 'object',
          description: 'Pulls ships.',
          required: ['spec'],
          properties: {
            apiVersion: { type: 'string' },
            kind: { type: 'string' },
            metadata: { type: 'object' },
            spec,
            status,
          },
        },
      },
    },
    {
      name: 'v1beta1',
      served: true,
      storage: false,
      deprecated: true,
      schema: { openAPIV3Schema: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true } },
    },
  ],
};

const length = { type: 'object', properties: { length: { type: 'number' } } };

const berths = {
  group,
  scope: 'Cluster',
  names: { plural: 'berths', singular: 'berth', kind: 'Berth', listKind: 'BerthList' },
  versions: [
    {
      name: 'v1',
      served: true,
      storage: true,
      schema: { openAPIV3Schema: { type: 'object', properties: { spec: length } } },
    },
  ],
};

export const definitions = [tugs, berths].map((one) => ({
  apiVersion: 'apiextensions.k8s.io/v1',
  kind: 'CustomResourceDefinition',
  metadata: { name: `${one.names.plural}.${group}` },
  spec: one,
})) as unknown as CustomResourceDefinition[];

/** Digests of the real documents: of version 3, and of the paths and models of the group in version 2. */
export const customDigests: Readonly<Record<string, string>> = {
  v2: '5353291db5e0',
  [`apis/${group}/v1`]: '93c97cc8a300',
  [`apis/${group}/v1beta1`]: '38b0cd6a6b09',
};
