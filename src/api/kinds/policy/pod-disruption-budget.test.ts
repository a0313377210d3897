// Proves PodDisruptionBudget in both versions: rules for spec and status, table, and what an empty selector means.
import { describe, expect, test } from 'vitest';
import { applyStrategicMerge } from '../../patch/strategic-merge.ts';
import type { ApiObject } from '../../text/object.ts';
import {
  cells,
  createdAge,
  createErrors,
  error,
  read,
  statusErrors,
  stored,
  updateErrors,
  written,
} from '../kind.fixture.ts';
import { podDisruptionBudget as v1 } from './pod-disruption-budget.ts';
import { policyV1beta1 as v1beta1 } from './policy-v1beta1.ts';

const selector = { matchLabels: { app: 'web' } };
const percentText =
  "a valid percent string must be a numeric string followed by an ending '%' (e.g. '1%',  or '93%', regex used for validation is '[0-9]+%')";

const cases: [string, object, ReturnType<typeof error>[]][] = [
  ['nothing at all', {}, []],
  ['a number', { minAvailable: 0, selector }, []],
  ['a share', { maxUnavailable: '100%', selector }, []],
  [
    'both bounds',
    { minAvailable: 1, maxUnavailable: '1%' },
    [
      error(
        'I',
        'spec',
        'Invalid value: {"MinAvailable":1,"Selector":null,"MaxUnavailable":"1%","UnhealthyPodEvictionPolicy":null}: minAvailable and maxUnavailable cannot be both set',
      ),
    ],
  ],
  [
    'less than none',
    { minAvailable: -1 },
    [error('I', 'spec.minAvailable', 'Invalid value: -1: must be greater than or equal to 0')],
  ],
  [
    'no share',
    { maxUnavailable: 'some' },
    [error('I', 'spec.maxUnavailable', `Invalid value: "some": ${percentText}`)],
  ],
  [
    'more than all',
    { maxUnavailable: '101%' },
    [error('I', 'spec.maxUnavailable', 'Invalid value: "101%": must not be greater than 100%')],
  ],
  [
    'a policy that is none',
    { unhealthyPodEvictionPolicy: 'Never' },
    [
      error(
        'N',
        'spec.unhealthyPodEvictionPolicy',
        'Unsupported value: "Never": supported values: "AlwaysAllow", "IfHealthyBudget"',
      ),
    ],
  ],
  [
    'a selector that is none',
    { selector: { matchExpressions: [{ key: 'a', operator: 'Near' }] } },
    [
      error(
        'I',
        'spec.selector.matchExpressions[0].operator',
        'Invalid value: "Near": not a valid selector operator',
      ),
    ],
  ],
];

describe.each([v1, v1beta1])('a budget of $apiVersion', (kind) => {
  test.each(cases)('with %s', (_name, spec, errors) => {
    expect(createErrors(kind, { spec })).toEqual(errors);
  });

  test('is changed only by who has seen it', () => {
    const unseen = error(
      'I',
      'metadata.resourceVersion',
      'Invalid value: 0: must be specified for an update',
    );
    expect(updateErrors(kind, { spec: { minAvailable: 2 } }, {})).toEqual([unseen]);
    expect(statusErrors(kind, {})).toEqual([unseen]);
    const seen = { metadata: { resourceVersion: '7' } };
    expect(updateErrors(kind, { ...seen, spec: { minAvailable: 2 } }, {})).toEqual([]);
    expect(statusErrors(kind, seen)).toEqual([]);
  });

  test('has conditions that follow the rules for all of them', () => {
    const condition = {
      type: 'DisruptionAllowed',
      status: 'True',
      reason: 'SufficientPods',
      lastTransitionTime: '2026-01-02T03:04:05Z',
    };
    const errorsOf = (...conditions: object[]) =>
      statusErrors(kind, { metadata: { resourceVersion: '7' }, status: { conditions } }).map(
        ({ field, message }) => `${field}: ${message.split(':')[0]}`,
      );
    expect(errorsOf(condition)).toEqual([]);
    expect(errorsOf(condition, condition)).toEqual(['status.conditions[1].type: Duplicate value']);
    expect(errorsOf({ type: '-', status: 'Perhaps', reason: 'not a word', observedGeneration: -1 })).toEqual([
      'status.conditions[0].type: Invalid value',
      'status.conditions[0].status: Unsupported value',
      'status.conditions[0].observedGeneration: Invalid value',
      'status.conditions[0].lastTransitionTime: Required value',
      'status.conditions[0].reason: Invalid value',
    ]);
    expect(errorsOf({ ...condition, reason: undefined })).toEqual([
      'status.conditions[0].reason: Required value',
    ]);
    expect(errorsOf({ ...condition, reason: 'a'.repeat(1025), message: 'm'.repeat(32_769) })).toEqual([
      'status.conditions[0].reason: Too long',
      'status.conditions[0].message: Too long',
    ]);
  });

  test('shows its bounds and what is to spare', () => {
    expect(cells(kind, { spec: { minAvailable: 1 }, status: { disruptionsAllowed: 3 } })).toEqual({
      Name: 'a',
      'Min Available': '1',
      'Max Unavailable': 'N/A',
      'Allowed Disruptions': 3,
      Age: createdAge,
    });
    expect(cells(kind, { spec: { maxUnavailable: '25%' } })).toMatchObject({
      'Min Available': 'N/A',
      'Max Unavailable': '25%',
      'Allowed Disruptions': 0,
    });
  });

  test('writes figures that are zero', () => {
    expect(written(kind, { spec: { minAvailable: 0 } })).toMatchObject({
      spec: { minAvailable: 0 },
      status: { disruptionsAllowed: 0, currentHealthy: 0, desiredHealthy: 0, expectedPods: 0 },
    });
  });
});

test('only the newer version looks at the figures of a status', () => {
  const body = { metadata: { resourceVersion: '7' }, status: { currentHealthy: -1 } };
  expect(statusErrors(v1, body)).toEqual([
    error('I', 'status.currentHealthy', 'Invalid value: -1: must be greater than or equal to 0'),
  ]);
  expect(statusErrors(v1beta1, body)).toEqual([]);
});

test('a patch replaces the selector in v1, and adds to it in v1beta1', () => {
  const patched = (kind: typeof v1) =>
    applyStrategicMerge(
      kind.model,
      { spec: { selector } },
      { spec: { selector: { matchLabels: { tier: 'a' } } } },
    );
  expect(patched(v1)).toEqual({ spec: { selector: { matchLabels: { tier: 'a' } } } });
  expect(patched(v1beta1)).toEqual({ spec: { selector: { matchLabels: { app: 'web', tier: 'a' } } } });
});

describe('an empty selector', () => {
  const key = 'pdb.kubernetes.io/deprecated-v1beta1-empty-selector-match';
  const marked = (operator: string) => ({ matchExpressions: [{ key, operator }] });
  const selectorOf = (object: ApiObject): unknown => (object.spec as { selector?: unknown }).selector;

  /** The stored form of a v1beta1 body, and the v1beta1 form of a stored object. */
  const newer = (selector: object | undefined) =>
    selectorOf(stored(v1, v1beta1.stored!.toStored(read(v1beta1, { spec: { selector } }), undefined)));
  const older = (selector: object | undefined) =>
    selectorOf(stored(v1beta1, v1beta1.stored!.fromStored(read(v1, { spec: { selector } }))));

  test('means all pods in v1 and none in v1beta1, whichever version shows it', () => {
    expect(newer({})).toEqual(marked('Exists'));
    expect(older(marked('Exists'))).toEqual({});
    expect(older({})).toEqual(marked('DoesNotExist'));
    expect(newer(marked('DoesNotExist'))).toEqual({});
    expect([newer(undefined), older(undefined)]).toEqual([undefined, undefined]);
    expect([newer(selector), older(selector)]).toEqual([selector, selector]);
  });

  test('is never mixed with what a user asks for', () => {
    const mixed = { ...selector, ...marked('Exists') };
    expect(selectorOf(read(v1, { spec: { selector: mixed } }))).toEqual(selector);
    expect(selectorOf(read(v1, { spec: { selector: marked('DoesNotExist') } }))).toEqual({});
    expect(selectorOf(read(v1beta1, { spec: { selector: mixed } }))).toEqual(selector);
    expect(selectorOf(read(v1beta1, { spec: { selector: marked('Exists') } }))).toEqual({});
  });
});
