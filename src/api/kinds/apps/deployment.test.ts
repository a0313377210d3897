// Proves Deployment of apps/v1: defaults, rules for spec, update and status, generation, warnings, table.
import { describe, expect, test } from 'vitest';
import type { Deployment } from '../../generated/types.ts';
import {
  columns,
  good,
  notNegative,
  selectorCases,
  template,
  templateCases,
  testSpecs,
  workload,
} from '../../rules/workload/workload.fixture.ts';
import { brief, made, now } from '../core/pod.fixture.ts';
import { shownCells, statusErrors, statusUpdated, updated, updateErrors, written } from '../kind.fixture.ts';
import { deployment } from './deployment.ts';

const make = (spec: object = {}, metadata: object = {}): Deployment =>
  made(deployment, workload(spec, metadata));

describe('defaults', () => {
  test('of everything', () => {
    expect(make().spec).toMatchObject({
      replicas: 1,
      strategy: { type: 'RollingUpdate', rollingUpdate: { maxUnavailable: '25%', maxSurge: '25%' } },
      revisionHistoryLimit: 10,
      progressDeadlineSeconds: 600,
      template: {
        spec: { restartPolicy: 'Always', dnsPolicy: 'ClusterFirst', schedulerName: 'default-scheduler' },
      },
    });
  });

  test('what is given stays, zero as well', () => {
    const spec = {
      replicas: 0,
      revisionHistoryLimit: 0,
      progressDeadlineSeconds: 5,
      strategy: { rollingUpdate: { maxUnavailable: 0 } },
    };
    expect(make(spec).spec).toMatchObject({
      ...spec,
      strategy: { type: 'RollingUpdate', rollingUpdate: { maxUnavailable: 0, maxSurge: '25%' } },
    });
  });

  test('recreating has no bounds', () => {
    expect(make({ strategy: { type: 'Recreate' } }).spec!.strategy).toEqual({ type: 'Recreate' });
  });

  test('labels and selector are nobody else’s business', () => {
    const { metadata, spec } = made<Deployment>(deployment, {
      metadata: { name: 'w' },
      spec: { template: template() },
    });
    expect([metadata.labels, spec!.selector]).toEqual([undefined, undefined]);
  });
});

const strategy = (rollingUpdate: object) => ({ strategy: { rollingUpdate } });
const rolling = 'spec.strategy.rollingUpdate';
const percentText =
  "a valid percent string must be a numeric string followed by an ending '%' (e.g. '1%',  or '93%', regex used for validation is '[0-9]+%')";

describe('rules', () => {
  testSpecs(deployment, [
    ...templateCases('ReplicaSet'),
    ...selectorCases('deployment'),
    [
      'a selector that makes no sense',
      { selector: { matchExpressions: [{ key: 'a', operator: 'In' }] } },
      [
        'spec.selector.matchExpressions[0].values',
        'R',
        "Required value: must be specified when `operator` is 'In' or 'NotIn'",
      ],
      [
        'spec.selector',
        'I',
        'Invalid value: {"matchExpressions":[{"key":"a","operator":"In"}]}: invalid label selector',
      ],
    ],
    [
      'negative numbers',
      { replicas: -1, minReadySeconds: -2, revisionHistoryLimit: -3, progressDeadlineSeconds: -1 },
      ['spec.replicas', 'I', notNegative(-1)],
      ['spec.minReadySeconds', 'I', notNegative(-2)],
      ['spec.revisionHistoryLimit', 'I', notNegative(-3)],
      ['spec.progressDeadlineSeconds', 'I', notNegative(-1)],
    ],
    [
      'no time for progress',
      { minReadySeconds: 600 },
      ['spec.progressDeadlineSeconds', 'I', 'Invalid value: 600: must be greater than minReadySeconds'],
    ],
    ['just enough time', { minReadySeconds: 599 }],
    [
      'an unknown strategy',
      { strategy: { type: 'Slow' } },
      [
        'spec.strategy',
        'N',
        'Unsupported value: {"type":"Slow"}: supported values: "Recreate", "RollingUpdate"',
      ],
    ],
    [
      'bounds for recreating',
      { strategy: { type: 'Recreate', rollingUpdate: {} } },
      [rolling, 'F', "Forbidden: may not be specified when strategy `type` is 'Recreate'"],
    ],
    ['numbers and percentages', strategy({ maxUnavailable: 3, maxSurge: '150%' })],
    [
      'both zero',
      strategy({ maxUnavailable: 0, maxSurge: '0%' }),
      [`${rolling}.maxUnavailable`, 'I', 'Invalid value: 0: may not be 0 when `maxSurge` is 0'],
    ],
    [
      'below zero',
      strategy({ maxUnavailable: -1, maxSurge: -2 }),
      [`${rolling}.maxUnavailable`, 'I', notNegative(-1)],
      [`${rolling}.maxSurge`, 'I', notNegative(-2)],
    ],
    [
      'no percentages',
      strategy({ maxUnavailable: '5', maxSurge: '-5%' }),
      [`${rolling}.maxUnavailable`, 'I', `Invalid value: "5": ${percentText}`],
      [`${rolling}.maxSurge`, 'I', `Invalid value: "-5%": ${percentText}`],
      [`${rolling}.maxUnavailable`, 'I', 'Invalid value: "5": may not be 0 when `maxSurge` is 0'],
    ],
    [
      'more than all',
      strategy({ maxUnavailable: '101%' }),
      [`${rolling}.maxUnavailable`, 'I', 'Invalid value: "101%": must not be greater than 100%'],
    ],
  ]);
});

describe('updates', () => {
  test('may change all but the selector', () => {
    const spec = { replicas: 7, paused: true, template: template({ hostNetwork: true }), minReadySeconds: 3 };
    expect(updateErrors(deployment, workload(spec), workload())).toEqual([]);
    const other = { selector: { matchLabels: { c: 'd' } }, template: template({}, { c: 'd' }) };
    expect(brief(updateErrors(deployment, workload(other), workload()))).toEqual([
      ['spec.selector', 'I', 'Invalid value: {"matchLabels":{"c":"d"}}: field is immutable'],
    ]);
    // A selector that is written differently but equal is no change.
    const same = { selector: { matchLabels: { a: 'b' }, matchExpressions: [] } };
    expect(updateErrors(deployment, workload(same), workload())).toEqual([]);
  });

  test('of annotations count as a new generation, of labels not', () => {
    const old = written(deployment, workload({}, { generation: 4 }));
    const generationOf = (metadata: object) =>
      updated(deployment, workload({}, { generation: 4, ...metadata }), old).metadata.generation;
    expect(generationOf({ labels: { x: 'y' } })).toBe(4);
    expect(generationOf({ annotations: {} })).toBe(4);
    expect(generationOf({ annotations: { x: 'y' } })).toBe(5);
  });
});

describe('status', () => {
  const errorsOf = (status: object, old?: object) => {
    if (!old) return brief(statusErrors(deployment, { status }, workload()));
    const before = { ...written(deployment, workload()), status: old };
    return brief(deployment.changes.status!.validate!(statusUpdated(deployment, { status }, before), before));
  };

  test('has no numbers below zero', () => {
    const names = [
      'observedGeneration',
      'replicas',
      'updatedReplicas',
      'readyReplicas',
      'availableReplicas',
      'unavailableReplicas',
      'terminatingReplicas',
      'collisionCount',
    ];
    for (const name of names)
      expect(errorsOf({ [name]: -1 }).filter(([field]) => field === `status.${name}`)).toEqual([
        [`status.${name}`, 'I', notNegative(-1)],
      ]);
  });

  test('has no part that is more than the whole', () => {
    const ready = { readyReplicas: 2, availableReplicas: 2, updatedReplicas: 2 };
    expect(errorsOf({ replicas: 2, ...ready, unavailableReplicas: 9, terminatingReplicas: 9 })).toEqual([]);
    const text = 'Invalid value: 2: cannot be greater than status.replicas';
    expect(errorsOf({ replicas: 1, ...ready })).toEqual([
      ['status.updatedReplicas', 'I', text],
      ['status.readyReplicas', 'I', text],
      ['status.availableReplicas', 'I', text],
    ]);
    expect(errorsOf({ replicas: 3, readyReplicas: 1, availableReplicas: 2 })).toEqual([
      ['status.availableReplicas', 'I', 'Invalid value: 2: cannot be greater than readyReplicas'],
    ]);
  });

  test('counts collisions upwards', () => {
    expect(errorsOf({ collisionCount: 2 }, { collisionCount: 2 })).toEqual([]);
    for (const [status, shown] of [
      [{ collisionCount: 1 }, 1],
      [{}, 0],
    ] as const)
      expect(errorsOf(status, { collisionCount: 2 })).toEqual([
        ['status.collisionCount', 'I', `Invalid value: ${shown}: cannot be decremented`],
      ]);
  });

  test('brings no labels with it', () => {
    const old = written(deployment, workload({}, { labels: { x: 'y' } }));
    const body = workload({}, { labels: { x: 'z' } });
    expect(statusUpdated(deployment, body, old).metadata.labels).toEqual({ x: 'y' });
    expect(statusUpdated(deployment, body, written(deployment, workload())).metadata.labels).toBeUndefined();
  });
});

test('warnings', () => {
  const nodeSelector = { 'beta.kubernetes.io/os': 'linux' };
  const object = make({ template: template({ nodeSelector }) }, { name: 'a.b' });
  const text =
    'spec.template.spec.nodeSelector[beta.kubernetes.io/os]: deprecated since v1.14; use "kubernetes.io/os" instead';
  expect(deployment.warnings!(object, undefined)).toEqual([
    'metadata.name: this is used in Pod names and hostnames, which can result in surprising behavior; a DNS label is recommended: [must not contain dots]',
    text,
  ]);
  const old = structuredClone(object);
  expect(deployment.warnings!(object, old)).toEqual([]);
  object.metadata.generation = 2;
  expect(deployment.warnings!(object, old)).toEqual([text]);
});

test('table', () => {
  expect(columns(deployment)).toEqual([
    ['Name', 'string', 0],
    ['Ready', 'string', 0],
    ['Up-to-date', 'string', 0],
    ['Available', 'string', 0],
    ['Age', 'string', 0],
    ['Containers', 'string', 1],
    ['Images', 'string', 1],
    ['Selector', 'string', 1],
  ]);
  const object = make({ ...good, replicas: 3 });
  const row = (ms: number) => shownCells(deployment, object, Date.parse(now) + ms);
  expect(row(5000)).toEqual(['w', '0/3', 0, 0, '5s', 'c', 'i:1', 'a=b']);
  object.status = { replicas: 3, readyReplicas: 2, updatedReplicas: 3, availableReplicas: 1 };
  expect(row(5000)).toEqual(['w', '2/3', 3, 1, '5s', 'c', 'i:1', 'a=b']);
});
