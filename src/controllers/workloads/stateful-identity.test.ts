/** Proves the identity of stateful pods, the owners of their claims, and how pods are counted. */
import { describe, expect, it } from 'vitest';
import type { StatefulSet, StatefulSetSpec } from '../../api/generated/types.ts';
import { KindTable } from '../../api/kinds/kinds.ts';
import type { IndexedPod } from '../shared/indexed-pod.ts';
import { claimOwner } from './stateful-claims.ts';
import { claimOf, placeIn, statefulPod } from './stateful-identity.ts';
import { statusOf } from './stateful-status.ts';

const set = (spec: StatefulSetSpec = {}): StatefulSet => ({
  metadata: { name: 'web', uid: 'u1', generation: 7 },
  spec: { replicas: 2, serviceName: 'db', updateStrategy: { type: 'RollingUpdate' }, ...spec },
});

describe('a name', () => {
  it.each<[string, ReturnType<typeof placeIn>]>([
    ['web-0', { set: 'web', ordinal: 0 }],
    ['my-web-12', { set: 'my-web', ordinal: 12 }],
    ['web-01', undefined],
    ['web-x', undefined],
    ['web', undefined],
    ['web-99999999999', undefined],
  ])('%s', (name, place) => {
    expect(placeIn(name)).toEqual(place);
  });
});

it('a pod has volumes for its claims, in place of those of the template', () => {
  const kind = new KindTable().resource('apps/v1', 'statefulsets')!;
  const template = {
    metadata: { labels: { app: 'web' } },
    spec: {
      volumes: [
        { name: 'data', emptyDir: {} },
        { name: 'other', emptyDir: {} },
      ],
    },
  };
  const owner = set({ volumeClaimTemplates: [{ metadata: { name: 'data' } }] });
  const pod = statefulPod(kind, owner, 4, { name: 'web-abc', template });
  expect(pod.spec).toEqual({
    hostname: 'web-4',
    subdomain: 'db',
    volumes: [
      { name: 'data', persistentVolumeClaim: { claimName: 'data-web-4' } },
      { name: 'other', emptyDir: {} },
    ],
  });
  expect(pod.metadata.labels).toEqual({
    app: 'web',
    'statefulset.kubernetes.io/pod-name': 'web-4',
    'apps.kubernetes.io/pod-index': '4',
    'controller-revision-hash': 'web-abc',
  });
  expect(template.spec.volumes[0]).toEqual({ name: 'data', emptyDir: {} });
});

it('a claim can be found by the labels of the set', () => {
  const owner = set({ selector: { matchLabels: { app: 'web' } } });
  const claim = claimOf(
    owner,
    { metadata: { name: 'data', labels: { app: 'no', disk: 'ssd' } }, spec: {} },
    1,
  );
  expect(claim.metadata).toMatchObject({ name: 'data-web-1', labels: { app: 'web', disk: 'ssd' } });
});

describe('claims belong', () => {
  it.each([
    ['Retain', 'Retain', 'nobody', 'nobody'],
    ['Delete', 'Retain', 'set', 'set'],
    ['Retain', 'Delete', 'nobody', 'pod'],
    ['Delete', 'Delete', 'set', 'pod'],
  ])(
    'when deleted %s, when scaled %s: to %s, and to %s of a pod that goes',
    (whenDeleted, whenScaled, kept, gone) => {
      expect(claimOwner({ whenDeleted, whenScaled }, false)).toBe(kept);
      expect(claimOwner({ whenDeleted, whenScaled }, true)).toBe(gone);
    },
  );

  it('to nobody without a policy', () => {
    expect(claimOwner(undefined, true)).toBe('nobody');
  });
});

describe('the status', () => {
  const pod = (revision: string, more: Partial<IndexedPod> = {}): IndexedPod =>
    ({
      phase: 'Running',
      ready: true,
      labels: { 'controller-revision-hash': revision },
      ...more,
    }) as IndexedPod;
  const revisions = { current: 'old', update: 'new', collisionCount: undefined };

  it('counts pods by how they are, and by revision unless they are going', () => {
    const pods = [pod('old'), pod('new', { marked: true }), pod('new', { ready: false }), pod('other')];
    expect(statusOf(set(), revisions, pods, 0)).toEqual({
      observedGeneration: 7,
      replicas: 4,
      readyReplicas: 3,
      availableReplicas: 3,
      currentReplicas: 1,
      updatedReplicas: 1,
      currentRevision: 'old',
      updateRevision: 'new',
      collisionCount: 0,
      conditions: undefined,
    });
  });

  it('moves on when an update is complete, and only then', () => {
    const status = (spec: StatefulSetSpec, ...pods: IndexedPod[]): unknown[] => {
      const { currentRevision, currentReplicas } = statusOf(set(spec), revisions, pods, 0);
      return [currentRevision, currentReplicas];
    };
    expect(status({}, pod('new'), pod('new'))).toEqual(['new', 2]);
    expect(status({}, pod('old'), pod('new'))).toEqual(['old', 1]);
    expect(status({}, pod('new'), pod('new', { ready: false }))).toEqual(['old', 0]);
    expect(status({}, pod('new'), pod('new'), pod('old', { marked: true }))).toEqual(['old', 0]);
    expect(status({ updateStrategy: { type: 'OnDelete' } }, pod('new'), pod('new'))).toEqual(['old', 0]);
    expect(status({ replicas: 0 })).toEqual(['new', 0]);
  });
});
