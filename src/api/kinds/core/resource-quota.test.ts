/** Proves the rules of quotas: resources, scopes, warnings, and the cells of their table. */
import { expect, test } from 'vitest';
import {
  cells,
  created,
  createdAge,
  createErrors,
  error,
  statusErrors,
  updateErrors,
  written,
} from '../kind.fixture.ts';
import { resourceQuota } from './resource-quota.ts';

test('amounts are rounded up, and the status starts empty', () => {
  const made = written(resourceQuota, { spec: { hard: { cpu: '1n' } }, status: { hard: { cpu: '1' } } });
  expect(made).toMatchObject({ spec: { hard: { cpu: '1m' } }, status: {} });
  expect(made.status).toEqual({});
});

const hardErrors = (list: string) => [
  error('I', `${list}[cpu]`, 'Invalid value: "-1": must be greater than or equal to 0'),
  error('I', `${list}[pods]`, 'Invalid value: "1500m": must be an integer'),
  error('I', `${list}[storage]`, 'Invalid value: "storage": must be a standard resource for quota'),
];
const badHard = { pods: '1.5', cpu: '-1', storage: '1', 'count/jobs.batch': '1' };

test('names and amounts of spec and status', () => {
  expect(createErrors(resourceQuota, { spec: { hard: badHard } })).toEqual(hardErrors('spec.hard'));
  for (const list of ['hard', 'used'])
    expect(statusErrors(resourceQuota, { status: { [list]: badHard } })).toEqual(
      hardErrors(`status.${list}`),
    );
});

test.each<[scopes: string[], hard: string[], problems: string[]]>([
  [['Terminating', 'NotBestEffort'], ['pods', 'cpu', 'limits.memory', 'requests.cpu', 'count/x.y'], []],
  [['BestEffort'], ['pods'], []],
  [['PriorityClass', 'CrossNamespacePodAffinity', 'NotTerminating'], ['memory'], []],
  [['VolumeAttributesClass'], ['persistentvolumeclaims', 'requests.storage'], []],
  [['Foo', 'Bar'], ['services'], ['unsupported scope']],
  [['BestEffort'], ['cpu'], ['unsupported scope applied to resource']],
  [['Terminating'], ['services'], ['unsupported scope applied to resource']],
  [['VolumeAttributesClass'], ['pods'], ['unsupported scope applied to resource']],
  [['Terminating', 'NotTerminating'], [], ['conflicting scopes']],
  [['BestEffort', 'NotBestEffort'], ['pods'], ['conflicting scopes']],
])('scopes %o with %o', (scopes, hard, problems) => {
  const spec = { scopes, hard: Object.fromEntries(hard.map((name) => [name, '1'])) };
  expect(createErrors(resourceQuota, { spec })).toEqual(
    problems.map((problem) =>
      error('I', 'spec.scopes', `Invalid value: ${JSON.stringify(scopes)}: ${problem}`),
    ),
  );
});

const at = 'spec.scopeSelector.matchExpressions';

test.each<[expression: object, errors: ReturnType<typeof error>[]]>([
  [{ scopeName: 'PriorityClass', operator: 'In', values: ['high'] }, []],
  [{ scopeName: 'PriorityClass', operator: 'DoesNotExist' }, []],
  [{ scopeName: 'Terminating', operator: 'Exists' }, []],
  [
    { scopeName: 'Foo', operator: 'Exists' },
    [error('I', `${at}.scopeName`, 'Invalid value: "Foo": unsupported scope')],
  ],
  [
    { scopeName: 'PriorityClass', operator: 'In' },
    [
      error(
        'R',
        `${at}.values`,
        "Required value: must be at least one value when `operator` is 'In' or 'NotIn' for scope selector",
      ),
    ],
  ],
  [
    { scopeName: 'PriorityClass', operator: 'Exists', values: ['a'] },
    [
      error(
        'I',
        `${at}.values`,
        "Invalid value: [\"a\"]: must be no value when `operator` is 'Exists' or 'DoesNotExist' for scope selector",
      ),
    ],
  ],
  [
    { scopeName: 'PriorityClass', operator: 'Foo' },
    [error('I', `${at}.operator`, 'Invalid value: "Foo": not a valid selector operator')],
  ],
  [
    { scopeName: 'BestEffort', operator: 'In', values: ['a'] },
    [
      error(
        'I',
        `${at}.operator`,
        'Invalid value: "In": must be \'Exist\' when scope is any of ResourceQuotaScopeTerminating, ResourceQuotaScopeNotTerminating, ResourceQuotaScopeBestEffort, ResourceQuotaScopeNotBestEffort or ResourceQuotaScopeCrossNamespacePodAffinity',
      ),
    ],
  ],
])('scope selector %o', (expression, errors) => {
  const spec = { hard: { pods: '1' }, scopeSelector: { matchExpressions: [expression] } };
  expect(createErrors(resourceQuota, { spec })).toEqual(errors);
});

test('scope selectors that do not fit the resources, or each other', () => {
  const exists = (scopeName: string) => ({ scopeName, operator: 'Exists' });
  const selector = (...names: string[]) => ({ matchExpressions: names.map(exists) });
  const problems = (spec: object) => createErrors(resourceQuota, { spec }).map(({ message }) => message);
  expect(problems({ hard: { services: '1' }, scopeSelector: selector('Terminating') })).toEqual([
    `Invalid value: ${JSON.stringify(selector('Terminating'))}: unsupported scope applied to resource`,
  ]);
  expect(problems({ scopeSelector: selector('Terminating', 'NotTerminating') })).toEqual([
    'Invalid value: ["Terminating","NotTerminating"]: conflicting scopes',
  ]);
});

test('scopes cannot change, though their order can', () => {
  const scopes = (...names: string[]) => ({ spec: { scopes: names } });
  const old = scopes('Terminating', 'NotBestEffort');
  expect(updateErrors(resourceQuota, scopes('NotBestEffort', 'Terminating'), old)).toEqual([]);
  expect(updateErrors(resourceQuota, scopes('Terminating'), old)).toEqual([
    error('I', 'spec.scopes', 'Invalid value: ["Terminating"]: field is immutable'),
  ]);
  expect(updateErrors(resourceQuota, {}, old)).toEqual([
    error('I', 'spec.scopes', 'Invalid value: null: field is immutable'),
  ]);
});

test('many scopes give few errors', () => {
  const scopes = Array.from({ length: 10_000 }, (_, i) => (i % 2 ? 'BestEffort' : `s${i}`));
  const hard = Object.fromEntries(scopes.map((_, i) => [`hugepages-${i}`, '1']));
  expect(createErrors(resourceQuota, { spec: { scopes, hard } })).toHaveLength(2);
});

test('more requests than limits are warned about', () => {
  const hard = {
    'requests.cpu': '2',
    'limits.cpu': '1',
    'requests.memory': '1Gi',
    'limits.memory': '1Gi',
    'requests.ephemeral-storage': '2Gi',
  };
  expect(resourceQuota.warnings!(created(resourceQuota, { spec: { hard } }), undefined)).toEqual([
    'ResourceQuota requests.cpu (2) should be less than limits.cpu (1)',
  ]);
  expect(resourceQuota.warnings!(created(resourceQuota, {}), undefined)).toEqual([]);
});

test('cells', () => {
  const hard = { pods: '5', 'requests.cpu': '2', 'limits.memory': '2Gi', 'limits.cpu': '4', cpu: '1' };
  const used = { pods: '1', 'limits.cpu': '500m' };
  expect(cells(resourceQuota, { spec: { hard: { services: '1' } }, status: { hard, used } })).toEqual({
    Name: 'a',
    Request: 'cpu: 0/1, pods: 1/5, requests.cpu: 0/2',
    Limit: 'limits.cpu: 500m/4, limits.memory: 0/2Gi',
    Age: createdAge,
  });
  expect(cells(resourceQuota, {})).toMatchObject({ Request: '', Limit: '' });
});
