/** Proves what the lanes of a timeline tell of the versions of objects. */
import { describe, expect, it } from 'vitest';
import type { Change } from '../../core/history/history.ts';
import type { Kind } from '../../core/kinds.ts';
import { Lanes, spansOf } from './lanes.ts';

const kind = { id: 'pods', kind: 'Pod' } as Kind;
const at = (second: number): string => `2026-01-01T00:00:0${second}Z`;
const ms = (second: number): number => Date.parse(at(second));

function pod(type: Change['type'], version: number, second: number, fields: object = {}): Change {
  const managedFields = [{ manager: `writer-${version}`, operation: 'Update', time: at(second) }];
  const metadata = {
    name: 'p',
    uid: 'u',
    resourceVersion: String(version),
    creationTimestamp: at(0),
    managedFields,
  };
  return { type, version, object: { kind: 'Pod', metadata, ...fields } };
}

const condition = (type: string, status: string, second: number) => ({
  type,
  status,
  lastTransitionTime: at(second),
});

describe('the lane of a pod', () => {
  const lanes = new Lanes();
  lanes.take(kind, pod('ADDED', 1, 0));
  const scheduled = condition('PodScheduled', 'True', 1);
  lanes.take(
    kind,
    pod('MODIFIED', 2, 1, { spec: { nodeName: 'n' }, status: { phase: 'Pending', conditions: [scheduled] } }),
  );
  const ready = {
    phase: 'Running',
    startTime: at(2),
    conditions: [scheduled, condition('Ready', 'True', 3)],
  };
  lanes.take(kind, pod('MODIFIED', 3, 3, { spec: { nodeName: 'n' }, status: ready }));
  const failed = { ...ready, phase: 'Failed', conditions: [scheduled, condition('Ready', 'False', 5)] };
  lanes.take(kind, pod('MODIFIED', 4, 5, { spec: { nodeName: 'n' }, status: failed }));
  lanes.take(kind, pod('DELETED', 5, 6));
  const lane = lanes.byUid.get('u')!;

  it('tells what happened, when, and at which version', () => {
    expect(lane.marks.map(({ what, timeMs, version }) => [what, (timeMs - ms(0)) / 1000, version])).toEqual([
      ['created', 0, 1],
      ['scheduled to n', 1, 2],
      ['started', 2, 3],
      ['ready', 3, 3],
      ['failed', 5, 4],
      ['not ready', 5, 4],
      ['deleted', 6, 5],
    ]);
  });

  it('is drawn as stretches in the tone of what came last', () => {
    expect(spansOf(lane, ms(9)).map(({ tone, fromMs }) => [tone, (fromMs - ms(0)) / 1000])).toEqual([
      ['calm', 0],
      ['calm', 1],
      ['calm', 2],
      ['good', 3],
      ['warn', 5],
    ]);
  });

  it('has the events about it', () => {
    const event = {
      type: 'Warning',
      reason: 'Odd',
      message: 'very',
      lastTimestamp: at(4),
      involvedObject: { uid: 'u' },
    };
    lanes.takeEvent({
      type: 'ADDED',
      version: 9,
      object: { ...event, metadata: { name: 'e', uid: 'e', resourceVersion: '9' } },
    });
    expect(lane.marks.find(({ isEvent }) => isEvent)).toMatchObject({
      what: 'Odd: very',
      tone: 'warn',
      timeMs: ms(4),
    });
  });

  it('is dropped when there are too many', () => {
    const many = new Lanes();
    for (let i = 0; i < 400; i++) {
      const { object, ...change } = pod('ADDED', i + 1, 0);
      many.take(kind, { ...change, object: { ...object, metadata: { ...object.metadata, uid: `u${i}` } } });
    }
    expect(many.byUid.size).toBe(300);
  });
});

it('ends in the last state, also when several states were within one second', () => {
  const lanes = new Lanes();
  const workload = { ...kind, id: 'deployments.apps', kind: 'Deployment' } as Kind;
  for (const [version, readyReplicas] of [2, 1, 2].entries()) {
    const { object, ...change } = pod(version ? 'MODIFIED' : 'ADDED', version + 1, 1);
    const status = { readyReplicas };
    lanes.take(workload, {
      ...change,
      object: { ...object, kind: 'Deployment', spec: { replicas: 2 }, status },
    });
  }
  const lane = lanes.byUid.get('u')!;
  expect(lane.marks.map(({ what }) => what)).toEqual(['created', 'all ready', 'not all ready', 'all ready']);
  expect(spansOf(lane, ms(9)).at(-1)).toMatchObject({ tone: 'good', toMs: ms(9) });
});

it('dates the end of a pod by its containers, a restart by its run, and a deletion by when it was asked for', () => {
  const ended = (second: number) => ({ state: { terminated: { exitCode: 0, finishedAt: at(second) } } });
  const marksAfter = (status: object, metadata: object = {}) => {
    const lanes = new Lanes();
    lanes.take(kind, pod('ADDED', 1, 0, { status: { phase: 'Running', startTime: at(0) } }));
    const { object, ...change } = pod('MODIFIED', 2, 9, { status });
    lanes.take(kind, { ...change, object: { ...object, metadata: { ...object.metadata, ...metadata } } });
    return lanes.byUid
      .get('u')!
      .marks.filter(({ version }) => version === 2)
      .map(({ what, timeMs }) => [what, (timeMs - ms(0)) / 1000]);
  };
  const containers = [ended(4), ended(6)];
  expect(marksAfter({ phase: 'Succeeded', containerStatuses: containers })).toEqual([['completed', 6]]);
  expect(marksAfter({ phase: 'Failed', containerStatuses: containers })).toEqual([['failed', 6]]);
  expect(marksAfter({ phase: 'Failed', initContainerStatuses: [ended(3)] })).toEqual([['failed', 3]]);
  expect(marksAfter({ phase: 'Failed', conditions: [condition('Ready', 'False', 5)] })).toEqual([
    ['failed', 5],
  ]);
  expect(marksAfter({ phase: 'Failed', reason: 'Evicted' })).toEqual([['failed', 9]]);
  const again = { restartCount: 1, state: { running: { startedAt: at(7) } } };
  expect(marksAfter({ phase: 'Running', containerStatuses: [again] })).toEqual([
    ['restarted, 1 times now', 7],
  ]);
  const waits = { restartCount: 1, state: { waiting: {} }, lastState: { terminated: { finishedAt: at(5) } } };
  expect(marksAfter({ phase: 'Running', containerStatuses: [waits] })).toEqual([
    ['restarted, 1 times now', 5],
  ]);
  const deletion = { deletionTimestamp: at(8), deletionGracePeriodSeconds: 5 };
  expect(marksAfter({ phase: 'Running' }, deletion)).toEqual([['being deleted', 3]]);
});

it('knows objects up to where history is read, and until now once it is', () => {
  const lanes = new Lanes();
  lanes.clear(kind);
  lanes.take(kind, pod('ADDED', 1, 2));
  const lane = lanes.byUid.get('u')!;
  expect([...lanes.unread]).toEqual([kind]);
  expect(lanes.knownUntil(lane)).toBe(ms(2));
  lanes.caughtUp(kind);
  expect(lanes.unread.size).toBe(0);
  expect(lanes.knownUntil(lane)).toBeUndefined();
});
