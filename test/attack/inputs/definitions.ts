/** Definitions of custom kinds, webhooks and policies. */
import {
  admission,
  create,
  deep,
  definition,
  type ListInput,
  many,
  record,
  selectsNothing,
  version,
  webhook,
} from './shapes.ts';

export const definitions: readonly ListInput[] = [
  create('definition versions', 750, (n, unique) =>
    definition(
      unique,
      many(n, (i) => version(`v${i + 1}`)),
    ),
  ),
  create('definition properties', 4_000, (n, unique) =>
    definition(unique, [
      version('v1', {
        properties: record(
          n,
          (i) => `p${i}`,
          () => ({ type: 'string' }),
        ),
      }),
    ]),
  ),
  create('definition depth', 250, (n, unique) =>
    definition(unique, [{ name: 'v1', served: true, storage: true, schema: { openAPIV3Schema: deep(n) } }]),
  ),
  create('definition columns', 2_500, (n, unique) =>
    definition(unique, [
      {
        ...version('v1'),
        additionalPrinterColumns: many(n, (i) => ({
          name: `c${i}`,
          type: 'string',
          jsonPath: `.spec.a${i}`,
        })),
      },
    ]),
  ),
  create('definition names', 4_000, (n, unique) =>
    definition(unique, [version('v1')], { shortNames: many(n, (i) => `s${i}`) }),
  ),
  create('enum of a property', 7_500, (n, unique) =>
    definition(unique, [
      version('v1', { properties: { a: { type: 'string', enum: many(n, (i) => `e${i}`) } } }),
    ]),
  ),
  create('required properties', 4_000, (n, unique) =>
    definition(unique, [
      version('v1', {
        required: many(n, (i) => `p${i}`),
        properties: record(
          n,
          (i) => `p${i}`,
          () => ({ type: 'string' }),
        ),
      }),
    ]),
  ),
  create('webhooks', 1_000, (n) => ({
    ...admission,
    kind: 'ValidatingWebhookConfiguration',
    webhooks: many(n, (i) => webhook(i, selectsNothing)),
  })),
  create('rules of a webhook', 2_000, (n) => ({
    ...admission,
    kind: 'ValidatingWebhookConfiguration',
    webhooks: [
      webhook(0, {
        ...selectsNothing,
        rules: many(n, (i) => ({
          apiGroups: ['x.example.com'],
          apiVersions: ['v1'],
          resources: [`r${i}`],
          operations: ['CREATE'],
        })),
      }),
    ],
  })),
  create('resources of a webhook rule', 7_500, (n) => ({
    ...admission,
    kind: 'ValidatingWebhookConfiguration',
    webhooks: [
      webhook(0, {
        ...selectsNothing,
        rules: [
          {
            apiGroups: ['x.example.com'],
            apiVersions: ['v1'],
            resources: many(n, (i) => `r${i}`),
            operations: ['CREATE'],
          },
        ],
      }),
    ],
  })),
  create('match conditions', 2_500, (n) => ({
    ...admission,
    kind: 'ValidatingWebhookConfiguration',
    webhooks: [
      webhook(0, {
        ...selectsNothing,
        matchConditions: many(n, (i) => ({ name: `m${i}`, expression: 'true' })),
      }),
    ],
  })),
  create('validations of a policy', 1_500, (n) => ({
    ...admission,
    kind: 'ValidatingAdmissionPolicy',
    spec: {
      matchConstraints: {
        resourceRules: [
          { apiGroups: ['x.example.com'], apiVersions: ['v1'], resources: ['y'], operations: ['CREATE'] },
        ],
      },
      validations: many(n, () => ({ expression: 'true' })),
    },
  })),
  create('variables of a policy', 1_500, (n) => ({
    ...admission,
    kind: 'ValidatingAdmissionPolicy',
    spec: {
      matchConstraints: {
        resourceRules: [
          { apiGroups: ['x.example.com'], apiVersions: ['v1'], resources: ['y'], operations: ['CREATE'] },
        ],
      },
      variables: many(n, (i) => ({ name: `v${i}`, expression: 'true' })),
      validations: [{ expression: 'true' }],
    },
  })),
];
