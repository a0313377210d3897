/** For tests of the apps kinds: valid specs, and the errors that all of them share. */
import { expect, test } from 'vitest';
import type { Kind } from '../../kind/kind.ts';
import { columnDefinitions } from '../../kind/table.ts';
import { brief, container, type Expected, made } from '../../kinds/core/pod.fixture.ts';

export const template = (spec: object = {}, labels: object = { a: 'b' }): object => ({
  metadata: { labels },
  spec: { containers: [container()], ...spec },
});

/** A valid spec. */
export const good = { selector: { matchLabels: { a: 'b' } }, template: template() };

export const workload = (spec: object = {}, metadata: object = {}): object => ({
  metadata: { name: 'w', namespace: 'ns1', ...metadata },
  spec: { ...good, ...spec },
});

export const notNegative = (value: number): string =>
  `Invalid value: ${value}: must be greater than or equal to 0`;
export const unmatched = (labels: string): Expected => [
  'spec.template.metadata.labels',
  'I',
  `Invalid value: ${labels}: \`selector\` does not match template \`labels\``,
];

/** A name, the difference to a valid spec, and the expected errors. */
export type SpecCase = readonly [name: string, spec: object, ...errors: Expected[]];

/** Selectors that select nothing, or everything. `named` is the kind's name in the second error. */
export const selectorCases = (named: string): SpecCase[] => [
  [
    'labels of the template in order',
    { template: template({}, { z: '1', b: '2' }) },
    unmatched('{"b":"2","z":"1"}'),
  ],
  ['no selector', { selector: undefined }, ['spec.selector', 'R', 'Required value'], unmatched('{"a":"b"}')],
  [
    'a selector of everything',
    { selector: {} },
    ['spec.selector', 'I', `Invalid value: {}: empty selector is invalid for ${named}`],
  ],
];

/** The errors about pod templates that all of these kinds share. */
export const templateCases = (kind: string): SpecCase[] => [
  ['nothing wrong', {}],
  ['labels of other pods', { template: template({}, { a: 'c' }) }, unmatched('{"a":"c"}')],
  ['no labels', { template: template({}, {}) }, unmatched('null')],
  [
    'an expression',
    { selector: { matchExpressions: [{ key: 'a', operator: 'NotIn', values: ['b', 'c'] }] } },
    unmatched('{"a":"b"}'),
  ],
  [
    'pods that end',
    { template: template({ restartPolicy: 'OnFailure' }) },
    ['spec.template.spec.restartPolicy', 'N', 'Unsupported value: "OnFailure": supported values: "Always"'],
  ],
  [
    'pods with a deadline',
    { template: template({ activeDeadlineSeconds: 5 }) },
    [
      'spec.template.spec.activeDeadlineSeconds',
      'F',
      `Forbidden: activeDeadlineSeconds in ${kind} is not Supported`,
    ],
  ],
  [
    'pods without containers',
    { template: template({ containers: [] }) },
    ['spec.template.spec.containers', 'R', 'Required value'],
  ],
];

export function testSpecs(kind: Kind, cases: readonly SpecCase[]): void {
  test.each(cases.map(([name, spec, ...errors]) => ({ name, spec, errors })))('$name', ({ spec, errors }) => {
    expect(brief(kind.validate!(made(kind, workload(spec))))).toEqual(errors);
  });
}

/** Name, type and priority of the columns. */
export const columns = (kind: Kind): unknown[][] =>
  columnDefinitions(kind).map(({ name, type, priority }) => [name, type, priority]);
