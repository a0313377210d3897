/** Proves that repeated events are counted, similar ones are combined, and that their rate per object is limited. */
import { beforeEach, describe, expect, it } from 'vitest';
import { notFound } from '../api/errors/errors.ts';
import type { Event } from '../api/generated/types.ts';
import { EventRecorder } from './events.ts';

const minuteMs = 60_000;
let nowMs = Date.parse('2026-01-02T03:04:05Z');
let stored: Map<string, Event>;
let writes: string[];
let errors: Error[];
let refusal: Error | undefined;

const kind = { kind: 'Event', resource: 'events', group: '' };
const pod = (name = 'a') => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name, namespace: 'ns', uid: `uid-${name}`, resourceVersion: '7' },
});

function recorder(host?: string): EventRecorder {
  return new EventRecorder(
    {
      create: async (namespace, event) => {
        if (refusal) throw refusal;
        writes.push('create');
        stored.set(`${namespace}/${event.metadata.name}`, event);
        return event;
      },
      patch: async (namespace, name, patch) => {
        if (refusal) throw refusal;
        writes.push('patch');
        const event = stored.get(`${namespace}/${name}`);
        if (!event) throw notFound(kind, name);
        Object.assign(event, patch);
      },
    },
    { component: 'kubelet', host, now: () => nowMs, onError: (error) => errors.push(error) },
  );
}

const all = (): Event[] => [...stored.values()];

beforeEach(() => {
  nowMs = Date.parse('2026-01-02T03:04:05Z');
  stored = new Map();
  writes = [];
  errors = [];
  refusal = undefined;
});

describe('an event', () => {
  it('says what, about whom, by whom and when', async () => {
    const events = recorder('n1');
    events.normal(pod(), 'Started', 'Container started', 'spec.containers{c}');
    expect(events.idle).toBe(false);
    await events.flushed();
    expect(events.idle).toBe(true);
    expect(all()).toEqual([
      {
        apiVersion: 'v1',
        kind: 'Event',
        metadata: { name: expect.stringMatching(/^a\.[0-9a-f]{16}$/), namespace: 'ns' },
        involvedObject: {
          apiVersion: 'v1',
          kind: 'Pod',
          name: 'a',
          namespace: 'ns',
          uid: 'uid-a',
          resourceVersion: '7',
          fieldPath: 'spec.containers{c}',
        },
        type: 'Normal',
        reason: 'Started',
        message: 'Container started',
        source: { component: 'kubelet', host: 'n1' },
        reportingComponent: 'kubelet',
        reportingInstance: 'n1',
        firstTimestamp: '2026-01-02T03:04:05Z',
        lastTimestamp: '2026-01-02T03:04:05Z',
        count: 1,
      },
    ]);
  });

  it('about an object of the cluster stands in the default namespace', async () => {
    const events = recorder();
    events.warning(
      { apiVersion: 'v1', kind: 'Node', metadata: { name: 'n1', uid: 'n1' } },
      'NodeNotReady',
      'gone',
    );
    await events.flushed();
    expect([...stored.keys()][0]).toMatch(/^default\/n1\./);
    expect(all()[0]).toMatchObject({ type: 'Warning', involvedObject: { kind: 'Node', name: 'n1' } });
  });

  it('of any length is cut to what may be stored', async () => {
    const events = recorder();
    events.normal(pod(), 'Long', 'x'.repeat(5000));
    await events.flushed();
    expect(all()[0]!.message).toBe(`${'x'.repeat(1021)}...`);
  });
});

describe('the same event told again', () => {
  it('counts up, also while the first is still being written', async () => {
    const events = recorder();
    events.normal(pod(), 'Pulled', 'image');
    events.normal(pod(), 'Pulled', 'image');
    nowMs += minuteMs;
    events.normal(pod(), 'Pulled', 'image');
    await events.flushed();
    expect(writes).toEqual(['create', 'patch', 'patch']);
    expect(all()).toEqual([
      expect.objectContaining({
        count: 3,
        firstTimestamp: '2026-01-02T03:04:05Z',
        lastTimestamp: '2026-01-02T03:05:05Z',
      }),
    ]);
  });

  it('is another when it differs in type, reason, field, object or text', async () => {
    const events = recorder();
    events.normal(pod(), 'A', 'text');
    events.warning(pod(), 'A', 'text');
    events.normal(pod(), 'B', 'text');
    events.normal(pod(), 'A', 'text', 'spec.containers{c}');
    events.normal(pod(), 'A', 'other');
    events.normal(pod('b'), 'A', 'text');
    await events.flushed();
    expect(writes).toEqual(Array(6).fill('create'));
    expect(new Set(stored.keys()).size).toBe(6);
  });

  it('after a long time is new', async () => {
    const events = recorder();
    events.normal(pod(), 'Pulled', 'image');
    nowMs += 11 * minuteMs;
    events.normal(pod(), 'Pulled', 'image');
    await events.flushed();
    expect(all().map(({ count }) => count)).toEqual([1, 1]);
  });

  it('is written anew when somebody has deleted it', async () => {
    const events = recorder();
    events.normal(pod(), 'Pulled', 'image');
    await events.flushed();
    stored.clear();
    events.normal(pod(), 'Pulled', 'image');
    await events.flushed();
    expect(all().map(({ count }) => count)).toEqual([1]);
    events.normal(pod(), 'Pulled', 'image');
    await events.flushed();
    expect(all().map(({ count }) => count)).toEqual([2]);
    expect(errors).toEqual([]);
  });
});

describe('many events', () => {
  it('that differ in their text only are folded into one', async () => {
    const events = recorder();
    for (let i = 0; i < 15; i++) events.normal(pod(), 'Created', `pod ${i}`);
    await events.flushed();
    const folded = all().filter(({ message }) => message?.startsWith('(combined from similar events): '));
    expect([all().length, folded.length]).toEqual([11, 1]);
    expect(folded[0]).toMatchObject({ count: 5, message: '(combined from similar events): pod 14' });
    // A message that has its own event is still counted there.
    events.normal(pod(), 'Created', 'pod 3');
    await events.flushed();
    expect(all().find(({ message }) => message === 'pod 3')!.count).toBe(2);
  });

  it('are told apart again after a while', async () => {
    const events = recorder();
    for (let i = 0; i < 12; i++) events.normal(pod(), 'Created', `pod ${i}`);
    nowMs += 11 * minuteMs;
    events.normal(pod(), 'Created', 'pod 99');
    await events.flushed();
    expect(all().some(({ message }) => message === 'pod 99')).toBe(true);
  });

  it('about one object are not listened to any more, then now and again; others are', async () => {
    const events = recorder();
    for (let i = 0; i < 40; i++) events.normal(pod(), 'Same', 'text');
    await events.flushed();
    expect(writes.length).toBe(25);
    events.normal(pod('b'), 'Same', 'text');
    await events.flushed();
    expect(writes.length).toBe(26);
    nowMs += 5 * minuteMs;
    events.normal(pod(), 'Same', 'text');
    events.normal(pod(), 'Same', 'text');
    await events.flushed();
    expect(writes.length).toBe(27);
  });
});

it('an event that cannot be written is reported, and the next one is written', async () => {
  const events = recorder();
  refusal = new Error('no room');
  events.normal(pod(), 'A', 'text');
  await events.flushed();
  expect(errors.map(({ message }) => message)).toEqual(['no room']);
  refusal = undefined;
  events.normal(pod(), 'B', 'text');
  await events.flushed();
  expect(all().map(({ reason }) => reason)).toEqual(['B']);
});
