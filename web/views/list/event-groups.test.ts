/** Proves that events that say the same are one group, the latest first, with all their objects. */
import { expect, it } from 'vitest';
import { groupsOf } from './event-groups.ts';

const event = (name: string, reason: string, message: string, second: number, more: object = {}): any => ({
  metadata: { name: `${name}.${second}`, uid: `${name}.${second}` },
  type: 'Warning',
  reason,
  message,
  lastTimestamp: `2026-01-01T00:00:0${second}Z`,
  involvedObject: { apiVersion: 'v1', kind: 'Pod', namespace: 'shop', name },
  ...more,
});

it('groups what is said of many objects, and puts the latest first', () => {
  const groups = groupsOf([
    event('web-7d9f8c6b5-x2k4z', 'BackOff', 'Back-off 10s of pod web-7d9f8c6b5-x2k4z', 1, { count: 3 }),
    event('web-7d9f8c6b5-qqz9w', 'BackOff', 'Back-off 40s of pod web-7d9f8c6b5-qqz9w', 4),
    event('db-0', 'FailedScheduling', '0/3 nodes are available', 3),
    event('web-7d9f8c6b5-x2k4z', 'BackOff', 'Back-off 20s of pod web-7d9f8c6b5-x2k4z', 2),
  ]);
  expect(
    groups.map(({ reason, count, objects }) => [reason, count, objects.map(({ name }) => name)]),
  ).toEqual([
    ['BackOff', 5, ['web-7d9f8c6b5-qqz9w', 'web-7d9f8c6b5-x2k4z']],
    ['FailedScheduling', 1, ['db-0']],
  ]);
  expect(groups[0]!.message).toBe('Back-off 40s of pod web-7d9f8c6b5-qqz9w');
  expect(groups[0]!.objects[1]).toMatchObject({
    count: 4,
    message: 'Back-off 20s of pod web-7d9f8c6b5-x2k4z',
  });
});

it('keeps apart what is said in another namespace, of another kind, or with other words', () => {
  const elsewhere = { involvedObject: { apiVersion: 'v1', kind: 'Pod', namespace: 'dev', name: 'db-0' } };
  const kinds = { involvedObject: { apiVersion: 'v1', kind: 'Node', namespace: 'shop', name: 'db-0' } };
  const said = [{}, elsewhere, kinds, { message: 'Nothing fits' }, { type: 'Normal' }];
  expect(groupsOf(said.map((more) => event('db-0', 'Failed', 'No', 1, more)))).toHaveLength(said.length);
});
