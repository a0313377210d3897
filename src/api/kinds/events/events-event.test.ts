/**
 * Proves that an event is the same object in both groups, and the rules of events.k8s.io/v1 for creates and updates.
 */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { Event, EventV1 } from '../../generated/types.ts';
import { normalized } from '../../model/encode.ts';
import type { ApiObject, JsonObject } from '../../text/object.ts';
import { event } from '../core/event.ts';
import { cells, createErrors, error, texts, updateErrors, written } from '../kind.fixture.ts';
import { eventsEvent } from './events-event.ts';

const modern = {
  eventTime: '2024-05-01T11:59:00.000000Z',
  regarding: { kind: 'Pod', namespace: 'ns1', name: 'p' },
  reportingController: 'example.com/c',
  reportingInstance: 'c-1',
  action: 'Act',
  reason: 'Because',
  note: 'It happened.',
  type: 'Normal',
};

describe('conversion', () => {
  const { toStored, fromStored } = eventsEvent.stored!;
  const time = fc.constantFrom('2024-05-01T12:00:00Z', '2024-05-01T13:00:00Z');
  const micro = time.map((text) => text.replace('Z', '.000000Z'));
  const text = fc.constantFrom('a', 'b');
  const some = <T extends object>(model: { [K in keyof T]: fc.Arbitrary<T[K]> }) =>
    fc.record(model, { requiredKeys: [] });
  const reference = some({ kind: text, namespace: text, name: text, uid: text, fieldPath: text });
  const shared = {
    eventTime: micro,
    series: fc.record({ count: fc.integer({ min: 1, max: 9 }), lastObservedTime: micro }),
    reportingInstance: text,
    action: text,
    reason: text,
    related: reference,
    type: text,
  };
  const source = some({ component: text, host: text });
  const metadata = fc.constant({ name: 'x' });
  const count = fc.integer({ min: 1, max: 9 });
  const inV1 = some({
    ...shared,
    regarding: reference,
    note: text,
    reportingController: text,
    deprecatedSource: source,
    deprecatedFirstTimestamp: time,
    deprecatedLastTimestamp: time,
    deprecatedCount: count,
  });
  const inCore = some({
    ...shared,
    involvedObject: reference,
    message: text,
    reportingComponent: text,
    source,
    firstTimestamp: time,
    lastTimestamp: time,
    count,
  });
  const json = (kind: typeof event, object: ApiObject): JsonObject =>
    normalized(kind.model, object as unknown as JsonObject);

  test('there and back, from either side', () => {
    fc.assert(
      fc.property(metadata, inV1, inCore, (metadata, one, other) => {
        const modern = { metadata, ...one } as EventV1;
        const stored = json(event, toStored(modern, undefined)) as unknown as ApiObject;
        expect(json(eventsEvent, fromStored(stored))).toEqual(json(eventsEvent, modern));
        const old = json(event, { metadata, ...other } as Event) as unknown as ApiObject;
        expect(json(event, toStored(fromStored(old) as EventV1, old))).toEqual(old);
      }),
    );
  });

  test('of each field', () => {
    expect(toStored({ metadata: {}, ...modern } as EventV1, undefined)).toMatchObject({
      eventTime: modern.eventTime,
      involvedObject: modern.regarding,
      reportingComponent: 'example.com/c',
      reportingInstance: 'c-1',
      message: 'It happened.',
    });
  });
});

describe('a new event', () => {
  const errors = (change: object) => createErrors(eventsEvent, { ...modern, ...change });

  test.each<[name: string, change: object, ...errors: ReturnType<typeof error>[]]>([
    ['that is right', {}],
    ['in a series', { series: { count: 2, lastObservedTime: modern.eventTime } }],
    [
      'in a series of one',
      { series: { count: 1 } },
      error('I', 'series.count', 'Invalid value: "": should be at least 2'),
      error('R', 'series.lastObservedTime', 'Required value'),
    ],
    ['without a time', { eventTime: null }, error('R', 'eventTime', 'Required value')],
    ['of another type', { type: 'X' }, error('I', 'type', 'Invalid value: "": has invalid value: X')],
    [
      'without a controller',
      { reportingController: '' },
      error('R', 'reportingController', 'Required value'),
      error('I', 'reportingController', 'Invalid value: "": name part must be non-empty'),
      error('I', 'reportingController', `Invalid value: "": ${texts.qualified}`),
    ],
    [
      'with a long note',
      { note: 'x'.repeat(1025) },
      error('I', 'message', 'Invalid value: "": can have at most 1024 characters'),
    ],
    [
      'told the old way',
      {
        deprecatedFirstTimestamp: '2024-05-01T12:00:00Z',
        deprecatedLastTimestamp: '2024-05-01T12:00:00Z',
        deprecatedCount: 1,
        deprecatedSource: { host: 'h' },
      },
      error('I', 'firstTimestamp', 'Invalid value: "": needs to be unset'),
      error('I', 'lastTimestamp', 'Invalid value: "": needs to be unset'),
      error('I', 'count', 'Invalid value: "": needs to be unset'),
      error('I', 'source', 'Invalid value: "": needs to be unset'),
    ],
  ])('%s', (_, change, ...expected) => {
    expect(errors(change)).toEqual(expected);
  });
});

describe('a change', () => {
  const change = (fields: object, old: object = modern) =>
    updateErrors(eventsEvent, { ...modern, ...fields }, old);
  const fixed = (field: string) => error('I', field, expect.stringMatching(/: field is immutable$/));

  test('of the series is what changes are for', () => {
    const series = { count: 2, lastObservedTime: modern.eventTime };
    expect(change({ series })).toEqual([]);
    expect(change({ metadata: { labels: { a: 'b' } } })).toEqual([]);
    expect(change({ series: { ...series, count: 1 } })).toHaveLength(1);
  });

  test('of anything else is refused', () => {
    expect(change({ note: 'Other.' })).toEqual([fixed('message')]);
    expect(change({ reportingController: 'example.com/d' })).toEqual([fixed('reportingController')]);
    expect(change({ regarding: { ...modern.regarding, name: 'q' } })).toEqual([fixed('involvedObject')]);
    expect(change({ deprecatedCount: 2 })).toEqual([fixed('count')]);
  });

  test('of an old event is not held to what new ones must be', () => {
    const older = { regarding: modern.regarding, deprecatedCount: 1 };
    expect(updateErrors(eventsEvent, older, older)).toEqual([]);
  });
});

test('unset values as they are written', () => {
  expect(written(eventsEvent, {})).toMatchObject({
    eventTime: null,
    regarding: {},
    deprecatedSource: {},
    deprecatedFirstTimestamp: null,
    deprecatedLastTimestamp: null,
  });
});

test('cells are those of v1', () => {
  expect(eventsEvent.columns).toBe(event.columns);
  expect(cells(eventsEvent, modern)).toMatchObject({
    'Last Seen': '60s',
    Object: 'pod/p',
    Message: 'It happened.',
    '*Source': 'example.com/c, c-1',
  });
});
