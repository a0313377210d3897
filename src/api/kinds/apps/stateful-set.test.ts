// Proves StatefulSet of apps/v1: defaults, rules for spec, update and status, warnings, table.
import { describe, expect, test } from 'vitest';
import type { StatefulSet } from '../../generated/types.ts';
import {
  columns,
  notNegative,
  selectorCases,
  template,
  templateCases,
  testSpecs,
  workload,
} from '../../rules/workload/workload.fixture.ts';
import { brief, container, made, now } from '../core/pod.fixture.ts';
import { shownCells, statusErrors, statusUpdated, texts, updateErrors, written } from '../kind.fixture.ts';
import { statefulSet } from './stateful-set.ts';

const make = (spec: object = {}, metadata: object = {}): StatefulSet =>
  made(statefulSet, workload(spec, metadata));
const claim = (spec: object = {}, name = 'data'): object => ({
  metadata: { name },
  spec: { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1Gi' } }, ...spec },
});
const mounting = (...names: string[]) =>
  template({
    containers: [container({ volumeMounts: names.map((name) => ({ name, mountPath: `/${name}` })) })],
  });

describe('defaults', () => {
  test('of everything', () => {
    expect(make().spec).toMatchObject({
      replicas: 1,
      podManagementPolicy: 'OrderedReady',
      updateStrategy: { type: 'RollingUpdate', rollingUpdate: { partition: 0 } },
      revisionHistoryLimit: 10,
      persistentVolumeClaimRetentionPolicy: { whenDeleted: 'Retain', whenScaled: 'Retain' },
      template: { spec: { restartPolicy: 'Always' } },
    });
    expect(written(statefulSet, workload()).spec).toMatchObject({ serviceName: '' });
  });

  test.each([
    [{ type: 'RollingUpdate' }, { type: 'RollingUpdate' }],
    [{ type: 'OnDelete' }, { type: 'OnDelete' }],
    [{ rollingUpdate: { partition: 2 } }, { type: 'RollingUpdate', rollingUpdate: { partition: 2 } }],
    [
      { type: 'RollingUpdate', rollingUpdate: {} },
      { type: 'RollingUpdate', rollingUpdate: { partition: 0 } },
    ],
  ])('of the strategy %j', (updateStrategy, expected) => {
    expect(make({ updateStrategy }).spec!.updateStrategy).toEqual(expected);
  });

  test('maxUnavailable is behind a gate that is closed', () => {
    const updateStrategy = { rollingUpdate: { maxUnavailable: 2 } };
    expect(make({ updateStrategy }).spec!.updateStrategy!.rollingUpdate).toEqual({ partition: 0 });
  });

  test('of claims are those of claims', () => {
    const [made] = make({ volumeClaimTemplates: [claim()] }).spec!.volumeClaimTemplates!;
    expect(made).toMatchObject({
      kind: 'PersistentVolumeClaim',
      apiVersion: 'v1',
      metadata: { name: 'data' },
      spec: { volumeMode: 'Filesystem' },
      status: { phase: 'Pending' },
    });
  });
});

describe('rules', () => {
  testSpecs(statefulSet, [
    ...templateCases('StatefulSet'),
    ...selectorCases('statefulset'),
    [
      'a selector that makes no sense',
      { selector: { matchLabels: { 'a/b/c': 'd' } } },
      [
        'spec.selector.matchLabels',
        'I',
        expect.stringContaining('Invalid value: "a/b/c": a valid label key'),
      ],
      ['spec.selector', 'I', 'Invalid value: {"matchLabels":{"a/b/c":"d"}}'],
    ],
    [
      'negative numbers',
      {
        replicas: -1,
        minReadySeconds: -2,
        ordinals: { start: -3 },
        updateStrategy: { rollingUpdate: { partition: -4 } },
      },
      ['spec.updateStrategy.rollingUpdate.partition', 'I', notNegative(-4)],
      ['spec.replicas', 'I', notNegative(-1)],
      ['spec.minReadySeconds', 'I', notNegative(-2)],
      ['spec.ordinals.start', 'I', notNegative(-3)],
    ],
    [
      'an unknown order',
      { podManagementPolicy: 'Backwards' },
      ['spec.podManagementPolicy', 'I', "Invalid value: \"Backwards\": must be 'OrderedReady' or 'Parallel'"],
    ],
    ['all at once', { podManagementPolicy: 'Parallel', ordinals: { start: 5 } }],
    [
      'an unknown strategy',
      { updateStrategy: { type: 'Recreate' } },
      [
        'spec.updateStrategy',
        'I',
        'Invalid value: {"type":"Recreate"}: must be \'RollingUpdate\' or \'OnDelete\'',
      ],
    ],
    [
      'a partition for another strategy',
      { updateStrategy: { type: 'OnDelete', rollingUpdate: { partition: 1 } } },
      [
        'spec.updateStrategy.rollingUpdate',
        'I',
        'Invalid value: {"partition":1}: only allowed for updateStrategy \'RollingUpdate\'',
      ],
    ],
    [
      'unknown retention',
      { persistentVolumeClaimRetentionPolicy: { whenDeleted: 'Keep', whenScaled: 'Delete' } },
      [
        'spec.persistentVolumeClaimRetentionPolicy.whenDeleted',
        'N',
        'Unsupported value: "Keep": supported values: "Retain", "Delete"',
      ],
    ],
    [
      'the name of a service',
      { serviceName: 'A' },
      ['spec.serviceName', 'I', `Invalid value: "A": ${texts.label}`],
    ],
    [
      'a claim for nothing',
      { volumeClaimTemplates: [claim(), claim({ accessModes: [], resources: {} }, 'logs')] },
      [
        'spec.volumeClaimTemplates[1].spec.accessModes',
        'R',
        'Required value: at least 1 access mode is required',
      ],
      ['spec.volumeClaimTemplates[1].spec.resources[storage]', 'R', 'Required value'],
    ],
    [
      'a claim with a name that no volume can have',
      { volumeClaimTemplates: [claim({}, 'A')] },
      ['spec.template.spec.volumes[0].name', 'I', `Invalid value: "A": ${texts.label}`],
    ],
    ['mounts of claims', { volumeClaimTemplates: [claim()], template: mounting('data') }],
    [
      'mounts of nothing',
      { volumeClaimTemplates: [claim()], template: mounting('data', 'logs') },
      ['spec.template.spec.containers[0].volumeMounts[1].name', 'NF', 'Not found: "logs"'],
    ],
    [
      'a volume whose place a claim takes',
      {
        volumeClaimTemplates: [claim()],
        template: template({ volumes: [{ name: 'data', emptyDir: {}, hostPath: { path: '/x' } }] }),
      },
    ],
    ['names that are given later', { template: template({ hostname: 'A', subdomain: 'B' }) }],
  ]);

  test('its name becomes that of a host', () => {
    expect(statefulSet.nameRule('web', false)).toEqual([]);
    expect(statefulSet.nameRule('a.b', false)).toEqual(['must not contain dots']);
  });
});

describe('updates', () => {
  const text =
    "Forbidden: updates to statefulset spec for fields other than 'replicas', 'ordinals', 'template', 'updateStrategy', 'revisionHistoryLimit', 'persistentVolumeClaimRetentionPolicy' and 'minReadySeconds' are forbidden";
  const errorsOf = (spec: object, old: object = {}) =>
    brief(updateErrors(statefulSet, workload(spec), workload(old)));

  test.each([
    { replicas: 4 },
    { ordinals: { start: 2 } },
    { template: template({ hostNetwork: true }) },
    { updateStrategy: { type: 'OnDelete' } },
    { revisionHistoryLimit: 2 },
    { persistentVolumeClaimRetentionPolicy: { whenScaled: 'Delete' } },
    { minReadySeconds: 4 },
  ])('may change %j', (spec) => {
    expect(errorsOf(spec)).toEqual([]);
  });

  test.each([
    { selector: { matchExpressions: [{ key: 'a', operator: 'Exists' }] } },
    { serviceName: 'web' },
    { podManagementPolicy: 'Parallel' },
    { volumeClaimTemplates: [claim()] },
  ])('may not change %j', (spec) => {
    expect(errorsOf({ ...spec, replicas: 3 })).toEqual([['spec', 'F', text]]);
    expect(errorsOf(spec, spec)).toEqual([]);
  });

  test('claims written in other words are no change', () => {
    const words = { apiVersion: 'v1', ...claim({ resources: { requests: { storage: '1024Mi' } } }) };
    expect(errorsOf({ volumeClaimTemplates: [words] }, { volumeClaimTemplates: [claim()] })).toEqual([]);
  });

  test('keep to the rules, but are not told again of what cannot change', () => {
    expect(errorsOf({ replicas: -1 })).toEqual([['spec.replicas', 'I', notNegative(-1)]]);
    const odd = { serviceName: 'A', volumeClaimTemplates: [claim({ accessModes: [] })] };
    expect(errorsOf({ ...odd, replicas: 2 }, odd)).toEqual([]);
  });
});

describe('status', () => {
  const errorsOf = (status: object) => brief(statusErrors(statefulSet, { status }, workload()));
  const parts = ['readyReplicas', 'currentReplicas', 'updatedReplicas', 'availableReplicas'];

  test.each(['replicas', ...parts, 'observedGeneration', 'collisionCount'])(
    '%s is not below zero',
    (name) => {
      expect(errorsOf({ [name]: -1 })).toContainEqual([`status.${name}`, 'I', notNegative(-1)]);
    },
  );

  test('has no part that is more than the whole', () => {
    const counts = Object.fromEntries(parts.map((name) => [name, 2]));
    expect(errorsOf({ replicas: 2, ...counts })).toEqual([]);
    expect(errorsOf({ replicas: 1, ...counts })).toEqual(
      parts.map((name) => [
        `status.${name}`,
        'I',
        'Invalid value: 2: cannot be greater than status.replicas',
      ]),
    );
    expect(errorsOf({ replicas: 2, readyReplicas: 1, availableReplicas: 2 })).toEqual([
      ['status.availableReplicas', 'I', 'Invalid value: 2: cannot be greater than status.readyReplicas'],
    ]);
  });

  test('counts collisions upwards', () => {
    const old = { ...written(statefulSet, workload()), status: { collisionCount: 2 } };
    const errors = statefulSet.changes.status!.validate!(statusUpdated(statefulSet, {}, old), old);
    expect(brief(errors)).toEqual([
      ['status.collisionCount', 'I', 'Invalid value: 0: cannot be decremented'],
    ]);
  });
});

test('warnings', () => {
  const spec = {
    template: template({ nodeSelector: { 'beta.kubernetes.io/os': 'linux' } }),
    volumeClaimTemplates: [
      claim({ resources: { requests: { storage: '1500m' }, limits: { storage: '2' } } }),
    ],
  };
  const object = make(spec);
  const about =
    'spec.template.spec.nodeSelector[beta.kubernetes.io/os]: deprecated since v1.14; use "kubernetes.io/os" instead';
  const storage = 'resources.requests[storage]: fractional byte value "1500m" is invalid, must be an integer';
  expect(statefulSet.warnings!(object, undefined)).toEqual([
    about,
    `spec.volumeClaimTemplates[0].${storage}`,
  ]);
  expect(statefulSet.warnings!(object, object)).toEqual([`spec.volumeClaimTemplates[0].Spec.${storage}`]);
  expect(statefulSet.warnings!(make({ revisionHistoryLimit: -1 }), undefined)).toEqual([
    'spec.revisionHistoryLimit: a negative value retains all historical revisions; a value >= 0 is recommended',
  ]);
});

test('table', () => {
  expect(columns(statefulSet)).toEqual([
    ['Name', 'string', 0],
    ['Ready', 'string', 0],
    ['Age', 'string', 0],
    ['Containers', 'string', 1],
    ['Images', 'string', 1],
  ]);
  const object = make({ replicas: 3 });
  object.status = { replicas: 3, readyReplicas: 2 };
  expect(shownCells(statefulSet, object, Date.parse(now) + 5000)).toEqual(['w', '2/3', '5s', 'c', 'i:1']);
});
