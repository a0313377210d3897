/** Proves the rules of events, old and new, and the cells of their table. */
import { expect, test } from 'vitest';
import { cells, createErrors, error, texts, written } from '../kind.fixture.ts';
import { event } from './event.ts';

const eventTime = '2024-05-01T11:59:00.000000Z';
const newer = {
  eventTime,
  involvedObject: { namespace: 'ns1' },
  reportingComponent: 'example.com/c',
  reportingInstance: 'c-1',
  action: 'Act',
  reason: 'Because',
};
const mismatch = (namespace: string) => [
  error('I', 'involvedObject.namespace', `Invalid value: "${namespace}": does not match event.namespace`),
];

test.each<[namespace: string, involved: string | undefined, errors: ReturnType<typeof error>[]]>([
  ['ns1', 'ns1', []],
  ['default', undefined, []],
  ['default', 'default', []],
  ['ns1', undefined, mismatch('')],
  ['kube-system', undefined, mismatch('')],
  ['ns1', 'other', mismatch('other')],
  ['default', 'other', mismatch('other')],
])('old event in %s about %s', (namespace, involved, errors) => {
  const body = { metadata: { namespace }, involvedObject: { namespace: involved } };
  expect(createErrors(event, body)).toEqual(errors);
});

test.each<[namespace: string, involved: string | undefined, errors: ReturnType<typeof error>[]]>([
  ['ns1', 'other', []],
  ['default', undefined, []],
  ['kube-system', undefined, []],
  ['ns1', undefined, mismatch('')],
])('new event in %s about %s', (namespace, involved, errors) => {
  const body = { ...newer, metadata: { namespace }, involvedObject: { namespace: involved } };
  expect(createErrors(event, body)).toEqual(errors);
});

test('a new event says who reports what', () => {
  expect(createErrors(event, newer)).toEqual([]);
  expect(createErrors(event, { eventTime, involvedObject: { namespace: 'ns1' } })).toEqual([
    error('R', 'reportingComponent', 'Required value'),
    error('I', 'reportingComponent', 'Invalid value: "": name part must be non-empty'),
    error('I', 'reportingComponent', `Invalid value: "": ${texts.qualified}`),
    error('R', 'reportingInstance', 'Required value'),
    error('R', 'action', 'Required value'),
    error('R', 'reason', 'Required value'),
  ]);
  expect(createErrors(event, { ...newer, reportingComponent: 'a b' })).toEqual([
    error('I', 'reportingComponent', `Invalid value: "a b": ${texts.qualified}`),
  ]);
});

test.each([
  ['reportingInstance', 128],
  ['action', 128],
  ['reason', 128],
  ['message', 1024],
])('length of %s', (field, bytesMax) => {
  expect(createErrors(event, { ...newer, [field]: 'x'.repeat(bytesMax) })).toEqual([]);
  for (const text of ['x'.repeat(bytesMax + 1), 'é'.repeat(bytesMax / 2 + 1)]) {
    expect(createErrors(event, { ...newer, [field]: text })).toEqual([
      error('I', field, `Invalid value: "": can have at most ${bytesMax} characters`),
    ]);
    // Events of the old form are not checked.
    const older = { involvedObject: { namespace: 'ns1' }, [field]: text };
    expect(createErrors(event, older)).toEqual([]);
  }
});

test('unset values as they are written', () => {
  expect(written(event, { involvedObject: { namespace: 'ns1' } })).toMatchObject({
    source: {},
    firstTimestamp: null,
    lastTimestamp: null,
    eventTime: null,
    reportingComponent: '',
    reportingInstance: '',
  });
});

test('cells of an old event', () => {
  expect(
    cells(event, {
      involvedObject: { kind: 'Pod', name: 'p', fieldPath: 'spec.containers{c}' },
      type: 'Warning',
      reason: 'BackOff',
      message: ' back-off\n',
      source: { component: 'kubelet', host: 'n1' },
      firstTimestamp: '2024-05-01T11:00:00Z',
      lastTimestamp: '2024-05-01T11:59:00Z',
      count: 7,
    }),
  ).toEqual({
    'Last Seen': '60s',
    Type: 'Warning',
    Reason: 'BackOff',
    Object: 'pod/p',
    '*Subobject': 'spec.containers{c}',
    '*Source': 'kubelet, n1',
    Message: 'back-off',
    '*First Seen': '60m',
    '*Count': 7,
    '*Name': 'a',
  });
});

test('cells of a new event', () => {
  const body = { ...newer, involvedObject: { kind: 'Node' } };
  expect(cells(event, body)).toMatchObject({
    'Last Seen': '60s',
    Type: '',
    Object: 'node',
    '*Source': 'example.com/c, c-1',
    '*First Seen': '60s',
    '*Count': 1,
  });
  const series = { count: 3, lastObservedTime: '2024-05-01T11:59:50.000000Z' };
  expect(cells(event, { ...body, series, count: 9 })).toMatchObject({
    'Last Seen': '10s',
    '*First Seen': '60s',
    '*Count': 3,
  });
  expect(cells(event, { reportingComponent: 'c' })).toMatchObject({
    'Last Seen': '<unknown>',
    '*Source': 'c',
    '*First Seen': '<unknown>',
  });
});
