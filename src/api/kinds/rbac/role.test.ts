// Proves Role and ClusterRole: names, what rules need, URLs for cluster roles alone, aggregation, shape, table.
import { describe, expect, test } from 'vitest';
import { columnDefinitions, tableRow } from '../../kind/table.ts';
import {
  createdText,
  createErrors,
  error,
  nowMs,
  read,
  texts,
  updateErrors,
  written,
} from '../kind.fixture.ts';
import { clusterRole } from './cluster-role.ts';
import { role } from './role.ts';

const verbs = ['get'];
const pods = { verbs, apiGroups: [''], resources: ['pods'] };
const urls = { verbs, nonResourceURLs: ['/metrics'] };

describe.each([role, clusterRole])('$kind', (kind) => {
  test('has rules, and nothing that is counted', () => {
    expect(written(kind, {})).toMatchObject({ rules: [] });
    expect(written(kind, { rules: [pods, {}] })).toMatchObject({ rules: [pods, { verbs: [] }] });
    expect(written(kind, {}).metadata).not.toHaveProperty('generation');
    expect(kind).toMatchObject({ hasStatus: false, createOnUpdate: true });
    expect(kind.generationOf).toBeUndefined();
  });

  test('has a name that fits into a path', () => {
    expect(kind.nameRule('system:node_A', false)).toEqual([]);
    expect(kind.nameRule('a/b', false)).toEqual(["may not contain '/'"]);
    expect(kind.nameRule('a%', true)).toEqual(["may not contain '%'"]);
    expect(kind.nameRule('..', false)).toEqual(["may not be '..'"]);
  });

  test.each([
    ['nothing', [], []],
    ['everything', [{ verbs: ['*'], apiGroups: ['*'], resources: ['*'] }], []],
    ['one object', [{ ...pods, resourceNames: ['web'] }], []],
    [
      'an empty rule',
      [pods, {}],
      [
        error('R', 'rules[1].verbs', 'Required value: verbs must contain at least one value'),
        error('R', 'rules[1].apiGroups', 'Required value: resource rules must supply at least one api group'),
        error('R', 'rules[1].resources', 'Required value: resource rules must supply at least one resource'),
      ],
    ],
  ])('may say %s', (_what, rules, errors) => {
    expect(createErrors(kind, { rules })).toEqual(errors);
    expect(updateErrors(kind, { rules }, { rules: [pods] })).toEqual(errors);
  });

  test('is shown with the time it was made', () => {
    const object = read(kind, { metadata: { creationTimestamp: createdText } });
    expect(columnDefinitions(kind).map(({ name }) => name)).toEqual(['Name', 'Created At']);
    expect(tableRow(kind, object, 'None', 'v1', nowMs).cells).toEqual(['a', createdText]);
  });
});

const both = error(
  'I',
  'rules[0].nonResourceURLs',
  'Invalid value: ["/metrics"]: rules cannot apply to both regular resources and non-resource URLs',
);
const inNamespace = error(
  'I',
  'rules[0].nonResourceURLs',
  'Invalid value: ["/metrics"]: namespaced rules cannot apply to non-resource URLs',
);

test.each([
  [urls, []],
  [{ ...urls, apiGroups: [''] }, [both]],
  [{ ...urls, resources: ['pods'] }, [both]],
  [{ ...urls, resourceNames: ['web'] }, [both]],
])('URLs belong to the cluster, and stand alone: %j', (rule, errors) => {
  expect(createErrors(clusterRole, { rules: [rule] })).toEqual(errors);
  expect(createErrors(role, { rules: [rule] })).toEqual([inNamespace, ...errors]);
});

test('URLs need verbs', () => {
  expect(createErrors(clusterRole, { rules: [{ nonResourceURLs: ['/metrics'] }] })).toEqual([
    error('R', 'rules[0].verbs', 'Required value: verbs must contain at least one value'),
  ]);
});

describe('aggregation', () => {
  const selectors = 'aggregationRule.clusterRoleSelectors';
  const aggregated = (...clusterRoleSelectors: object[]) => ({ aggregationRule: { clusterRoleSelectors } });

  test('is stored as it is', () => {
    const body = aggregated(
      { matchLabels: { a: 'b' } },
      { matchExpressions: [{ key: 'c', operator: 'Exists' }] },
    );
    expect(createErrors(clusterRole, body)).toEqual([]);
    expect(written(clusterRole, body)).toMatchObject({ rules: [], ...body });
  });

  test.each([{ aggregationRule: {} }, aggregated()])('needs a selector: %j', (body) => {
    expect(createErrors(clusterRole, body)).toEqual([
      error(
        'R',
        selectors,
        'Required value: at least one clusterRoleSelector required if aggregationRule is non-nil',
      ),
    ]);
  });

  test('needs selectors that can be understood', () => {
    expect(createErrors(clusterRole, aggregated({}, { matchLabels: { a: '-' } }))).toEqual([
      error('I', `${selectors}[1].matchLabels`, `Invalid value: "-": ${texts.labelValue}`),
      error('I', `${selectors}[1]`, 'Invalid value: null: invalid label selector.'),
    ]);
  });
});
