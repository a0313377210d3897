/** Priority classes, and their effect on pods. Kinds contract, section 10.2; messages are those of Kubernetes. */
import { describe, expect, it } from 'vitest';
import { type Json, useCluster } from '../support/http.ts';
import { expectFailure, expectInvalid } from './failure.ts';
import { created, pod, pods } from './objects.ts';

const client = useCluster({ controllers: ['namespace', 'serviceaccount'] });
const classes = '/apis/scheduling.k8s.io/v1/priorityclasses';
const details = (name: string, kind = 'pods') => ({ name, kind });
const classDetails = (name: string) => ({ name, group: 'scheduling.k8s.io', kind: 'priorityclasses' });

const made = (name: string, value: number, more: Json = {}): Promise<Json> =>
  created(client, classes, { metadata: { name }, value, ...more });

const remove = async (name: string) => expect((await client.delete(`${classes}/${name}`)).status).toBe(200);

describe('priority classes', () => {
  it('of the system are there from the start, and stay', async () => {
    const { items } = (await client.get(classes)).body;
    expect(items).toMatchObject([
      { metadata: { name: 'system-cluster-critical', generation: 1 }, value: 2_000_000_000 },
      { metadata: { name: 'system-node-critical', generation: 1 }, value: 2_000_001_000 },
    ]);
    expectFailure(
      await client.delete(`${classes}/system-node-critical`),
      403,
      'Forbidden',
      'priorityclasses.scheduling.k8s.io "system-node-critical" is forbidden: this is a system priority class and cannot be deleted',
      classDetails('system-node-critical'),
    );
    expect((await client.get(`${classes}/system-node-critical`)).status).toBe(200);
  });

  it('keep their value', async () => {
    await made('fixed', 7);
    expectInvalid(
      await client.patch(`${classes}/fixed`, { value: 8 }),
      'PriorityClass.scheduling.k8s.io',
      'fixed',
      'value',
      'Forbidden: may not be changed in an update.',
    );
    const { body } = await client.patch(`${classes}/fixed`, { description: 'other' });
    expect(body).toMatchObject({ value: 7, description: 'other', metadata: { generation: 1 } });
    await remove('fixed');
  });

  it('have one default at most', async () => {
    await made('first', 5, { globalDefault: true });
    const twice = (name: string) =>
      `priorityclasses.scheduling.k8s.io "${name}" is forbidden: PriorityClass first is already marked as default. Only one default can exist`;
    const second = await client.post(classes, {
      metadata: { name: 'second' },
      value: 1,
      globalDefault: true,
    });
    expectFailure(second, 403, 'Forbidden', twice('second'), classDetails('second'));
    await made('third', 1);
    const turned = await client.patch(`${classes}/third`, { globalDefault: true });
    expectFailure(turned, 403, 'Forbidden', twice('third'), classDetails('third'));
    expect((await client.patch(`${classes}/first`, { description: 'still' })).status).toBe(200);
    const { spec } = await created(client, pods, pod('default'));
    expect(spec).toMatchObject({ priorityClassName: 'first', priority: 5 });
    await remove('first');
    await remove('third');
    const { spec: bare } = await created(client, pods, pod('bare'));
    expect(bare).toMatchObject({ priority: 0, preemptionPolicy: 'PreemptLowerPriority' });
    expect(bare).not.toHaveProperty('priorityClassName');
  });
});

describe('a pod', () => {
  it('gets priority and policy of its class', async () => {
    await made('meek', -5, { preemptionPolicy: 'Never' });
    const { spec } = await created(client, pods, pod('meek', {}, { priorityClassName: 'meek' }));
    expect(spec).toMatchObject({ priority: -5, preemptionPolicy: 'Never', priorityClassName: 'meek' });
    const critical = pod('critical', {}, { priorityClassName: 'system-cluster-critical' });
    expect((await created(client, pods, critical)).spec.priority).toBe(2_000_000_000);
    await remove('meek');
    // A priority that was assigned stays.
    expect((await client.get(`${pods}/meek`)).body.spec.priority).toBe(-5);
  });

  it('names a class that there is, and no number or policy of its own', async () => {
    expectFailure(
      await client.post(pods, pod('lost', {}, { priorityClassName: 'nowhere' })),
      403,
      'Forbidden',
      'pods "lost" is forbidden: no PriorityClass with name nowhere was found',
      details('lost'),
    );
    expectFailure(
      await client.post(pods, pod('numbered', {}, { priority: 5 })),
      403,
      'Forbidden',
      'pods "numbered" is forbidden: the integer value of priority (5) must not be provided in pod spec; priority admission controller computed 0 from the given PriorityClass name',
      details('numbered'),
    );
    expectFailure(
      await client.post(pods, pod('shy', {}, { preemptionPolicy: 'Never' })),
      403,
      'Forbidden',
      'pods "shy" is forbidden: the string value of PreemptionPolicy (Never) must not be provided in pod spec; priority admission controller computed PreemptLowerPriority from the given PriorityClass name',
      details('shy'),
    );
  });
});
