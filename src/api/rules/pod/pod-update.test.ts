// Proves what an update of a pod may change (kinds.md 10.4): path, reason and text of every line.
import { describe, expect, test } from 'vitest';
import type { Pod } from '../../generated/types.ts';
import { brief, container, type Expected, makePod, stored } from '../../kinds/core/pod.fixture.ts';
import { pod } from '../../kinds/core/pod.ts';

/** The errors of an update from one spec and metadata to others. */
function updateErrors(
  before: object,
  after: object,
  metaBefore: object = {},
  metaAfter: object = metaBefore,
) {
  const old = stored<Pod>(pod, makePod(before, metaBefore));
  const object = makePod(after, metaAfter);
  object.metadata.generation = 2;
  return brief([...pod.validate!(object), ...pod.validateUpdate!(object, old)]);
}

describe('update', () => {
  const one = { containers: [container()], tolerations: [{ key: 'a', operator: 'Exists' }] };
  const changeText =
    'Forbidden: pod updates may not change fields other than `spec.containers[*].image`,`spec.initContainers[*].image`,`spec.activeDeadlineSeconds`,`spec.tolerations` (only additions to existing tolerations),`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)\n';
  const init = (image: string) => ({ initContainers: [{ name: 'i', image }] });
  const terms = (...lists: string[][]) => ({
    affinity: {
      nodeAffinity: {
        requiredDuringSchedulingIgnoredDuringExecution: {
          nodeSelectorTerms: lists.map((keys) => ({
            matchExpressions: keys.map((key) => ({ key, operator: 'Exists' })),
          })),
        },
      },
    },
  });
  const gated = { schedulingGates: [{ name: 'g' }, { name: 'h' }] };
  const cases: [name: string, before: object, after: object, ...errors: Expected[]][] = [
    ['nothing', one, one],
    [
      'nothing, with values that are written though they are zero',
      { volumes: [{ name: 'v', iscsi: { targetPortal: 'p', iqn: 'iqn.2015-02.example.com:test', lun: 0 } }] },
      { volumes: [{ name: 'v', iscsi: { targetPortal: 'p', iqn: 'iqn.2015-02.example.com:test', lun: 0 } }] },
    ],
    ['image', one, { ...one, containers: [container({ image: 'i:2' })] }],
    ['image of an init container', init('i:1'), init('i:2')],
    ['first deadline', {}, { activeDeadlineSeconds: 10 }],
    ['earlier deadline', { activeDeadlineSeconds: 10 }, { activeDeadlineSeconds: 9 }],
    ['another toleration', one, { tolerations: [...one.tolerations, { key: 'b' }] }],
    [
      'longer toleration',
      { tolerations: [{ key: 'a', effect: 'NoExecute', tolerationSeconds: 1 }] },
      { tolerations: [{ key: 'a', effect: 'NoExecute', tolerationSeconds: 2 }] },
    ],
    [
      'negative grace period to 1',
      { terminationGracePeriodSeconds: -5 },
      { terminationGracePeriodSeconds: 1 },
    ],
    ['gate removed', gated, { schedulingGates: [{ name: 'h' }] }],
    ['gated: nodeSelector added', gated, { ...gated, nodeSelector: { a: 'b' } }],
    ['gated: affinity added', gated, { ...gated, ...terms(['a']) }],
    ['gated: affinity narrower', { ...gated, ...terms(['a']) }, { ...gated, ...terms(['b', 'a']) }],
    [
      'container added',
      {},
      { containers: [container(), container({ name: 'd' })], restartPolicy: 'Never' },
      ['spec.containers', 'F', 'Forbidden: pod updates may not add or remove containers'],
    ],
    [
      'init container removed',
      init('i'),
      {},
      ['spec.initContainers', 'F', 'Forbidden: pod updates may not add or remove containers'],
    ],
    [
      'other fields',
      {},
      { restartPolicy: 'Never', nodeName: 'n' },
      ['spec', 'F', `${changeText}spec.restartPolicy\nspec.nodeName`],
    ],
    [
      'other fields of a container',
      {},
      { containers: [container({ command: ['x'] })] },
      ['spec', 'F', `${changeText}spec.containers`],
    ],
    [
      'grace period',
      {},
      { terminationGracePeriodSeconds: 1 },
      ['spec', 'F', `${changeText}spec.terminationGracePeriodSeconds`],
    ],
    [
      'later deadline',
      { activeDeadlineSeconds: 10 },
      { activeDeadlineSeconds: 11 },
      ['spec.activeDeadlineSeconds', 'I', 'Invalid value: 11: must be less than or equal to previous value'],
    ],
    [
      'no deadline any longer',
      { activeDeadlineSeconds: 10 },
      {},
      [
        'spec.activeDeadlineSeconds',
        'I',
        'Invalid value: null: must not update from a positive integer to nil value',
      ],
    ],
    [
      'deadline out of range',
      {},
      { activeDeadlineSeconds: -1 },
      ['spec.activeDeadlineSeconds', 'I', 'Invalid value: -1: must be between 1 and 2147483647, inclusive'],
      ['spec.activeDeadlineSeconds', 'I', 'Invalid value: -1: must be between 0 and 2147483647, inclusive'],
    ],
    [
      'toleration removed',
      one,
      {},
      [
        'spec.tolerations',
        'F',
        'Forbidden: existing toleration can not be modified except its tolerationSeconds',
      ],
    ],
    [
      'gate added',
      gated,
      { schedulingGates: [...gated.schedulingGates, { name: 'x' }] },
      [
        'spec.schedulingGates[2].name',
        'F',
        "Forbidden: only deletion is allowed, but found new scheduling gate 'x'",
      ],
    ],
    [
      'nodeSelector of a pod without gates',
      {},
      { nodeSelector: { a: 'b' } },
      ['spec', 'F', `${changeText}spec.nodeSelector`],
    ],
    [
      'gated: nodeSelector changed',
      { ...gated, nodeSelector: { a: 'b' } },
      { ...gated, nodeSelector: { a: 'c' } },
      [
        'spec.nodeSelector',
        'I',
        'Invalid value: {"a":"c"}: only additions are allowed (no mutations or deletions)',
      ],
    ],
    [
      'gated: affinity wider',
      { ...gated, ...terms(['a']) },
      { ...gated, ...terms(['b']) },
      [
        'spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms[0]',
        'I',
        'Invalid value: {"matchExpressions":[{"key":"b","operator":"Exists"}]}: only additions are allowed (no mutations or deletions)',
      ],
    ],
    [
      'gated: another term',
      { ...gated, ...terms(['a']) },
      { ...gated, ...terms(['a'], ['b']) },
      [
        'spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms',
        'I',
        expect.stringContaining('no additions/deletions to non-empty NodeSelectorTerms list are allowed'),
      ],
    ],
    [
      'gated: pod affinity',
      gated,
      {
        ...gated,
        affinity: { podAffinity: { requiredDuringSchedulingIgnoredDuringExecution: [{ topologyKey: 'a' }] } },
      },
      ['spec', 'F', `${changeText}spec.affinity`],
    ],
  ];
  test.each(cases.map(([name, before, after, ...errors]) => ({ name, before, after, errors })))(
    '$name',
    ({ before, after, errors }) => {
      expect(updateErrors(before, after)).toEqual(errors);
    },
  );

  test('labels and annotations change freely', () => {
    expect(updateErrors({}, {}, {}, { labels: { a: 'b' }, annotations: { c: 'd' } })).toEqual([]);
  });

  test('a pod cannot become a mirror pod, nor cease to be one', () => {
    const mirror = (value: string) => ({ annotations: { 'kubernetes.io/config.mirror': value } });
    const bound = { nodeName: 'n' };
    const path = 'metadata.annotations[kubernetes.io/config.mirror]';
    expect(updateErrors(bound, bound, {}, mirror('a'))).toEqual([
      [path, 'F', 'Forbidden: may not add mirror pod annotation'],
    ]);
    for (const after of [{}, mirror('b')])
      expect(updateErrors(bound, bound, mirror('a'), after)).toEqual([
        [path, 'F', 'Forbidden: may not remove or update mirror pod annotation'],
      ]);
  });
});
