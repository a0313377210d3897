/**
 * Proves that a Node object is created or taken over, that heartbeats are cheap, and that server errors are
 * survived.
 */
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, describe, expect, it, vi } from 'vitest';
import type { Node, NodeStatus } from '../../api/generated/types.ts';
import { Client } from '../../client/client.ts';
import { csiNodes, leases, nodes } from '../../client/resources.ts';
import { goOs } from '../machine/machine.ts';
import { ScriptedRuntime } from '../runtime/scripted-runtime.fixture.ts';
import { container, useNode } from './agent.fixture.ts';
import { Agent } from './agent.ts';
import { shareOf } from './node-registration.ts';

const node = useNode();
const servers: Server[] = [];
const waiting = { timeout: 60_000, interval: 5 };

afterEach(() => {
  for (const server of servers.splice(0)) {
    server.closeAllConnections();
    server.close();
  }
});

describe('a node', () => {
  it('that is there already is taken over, with what others have put there', async () => {
    await node.client.create(nodes, undefined, {
      metadata: { name: 'n1', labels: { mine: 'x', 'kubernetes.io/os': 'other' } },
      spec: { unschedulable: true },
      status: {
        addresses: [{ type: 'InternalIP', address: '198.51.100.1' }],
        conditions: [
          { type: 'NetworkUnavailable', status: 'False', reason: 'RouteCreated' },
          {
            type: 'Ready',
            status: 'Unknown',
            reason: 'NodeStatusUnknown',
            lastTransitionTime: '2020-01-01T00:00:00Z',
          },
          { type: 'DiskPressure', status: 'False', lastTransitionTime: '2020-01-01T00:00:00Z' },
        ],
      },
    });
    await node.agent(new ScriptedRuntime());
    const { metadata, spec, status } = await node.client.get(nodes, undefined, 'n1');
    expect(metadata.labels).toMatchObject({ mine: 'x', 'kubernetes.io/os': goOs() });
    expect(spec!.unschedulable).toBe(true);
    expect(status!.addresses).toEqual([
      { type: 'InternalIP', address: '192.0.2.1' },
      { type: 'LegacyHostIP', address: '192.0.2.1' },
    ]);
    const condition = (type: string) => status!.conditions!.find((one) => one.type === type);
    expect(condition('NetworkUnavailable')).toMatchObject({ reason: 'RouteCreated' });
    expect(condition('Ready')).toMatchObject({ status: 'True' });
    expect(condition('Ready')!.lastTransitionTime).not.toBe('2020-01-01T00:00:00Z');
    expect(condition('DiskPressure')!.lastTransitionTime).toBe('2020-01-01T00:00:00Z');
    expect(status!.conditions).toHaveLength(5);
  });

  it('makes the object in which storage drivers would register', async () => {
    await node.agent(new ScriptedRuntime());
    const { uid } = (await node.client.get(nodes, undefined, 'n1')).metadata;
    const { metadata, spec } = await node.client.get(csiNodes, undefined, 'n1');
    expect(metadata.ownerReferences).toEqual([{ apiVersion: 'v1', kind: 'Node', name: 'n1', uid }]);
    expect(spec?.drivers ?? []).toEqual([]);
  });

  it('tells its host name only when that leads to it', async () => {
    // A host name that resolves to loopback is not reported: an API server prefers host names, and would dial itself.
    const told = async (hostname: string) => {
      const agent = await node.agent(new ScriptedRuntime(), { hostname });
      const { status } = await node.client.get(nodes, undefined, 'n1');
      await agent.close();
      return status!.addresses;
    };
    const internal = { type: 'InternalIP', address: '192.0.2.1' };
    const legacy = { type: 'LegacyHostIP', address: '192.0.2.1' };
    expect(await told('localhost')).toEqual([internal, legacy]);
    expect(await told('no-such-name.invalid')).toEqual([internal, legacy]);
    // An IP address used as host name resolves to itself.
    expect(await told('192.0.2.1')).toEqual([internal, { type: 'Hostname', address: '192.0.2.1' }, legacy]);
  });

  it('renews its lease, makes it anew when it is gone, and leaves its status alone', async () => {
    await node.agent(new ScriptedRuntime(), { heartbeat: { leaseMs: 20, lookMs: 20 } });
    const before = await node.client.get(nodes, undefined, 'n1');
    const { spec } = await node.client.get(leases, 'kube-node-lease', 'n1');
    expect(spec).toMatchObject({ holderIdentity: 'n1', leaseDurationSeconds: 40 });
    await node.until(leases, 'n1', (lease) => lease.spec!.renewTime! > spec!.renewTime!, 'kube-node-lease');
    const { metadata } = await node.client.get(leases, 'kube-node-lease', 'n1');
    await node.client.delete(leases, 'kube-node-lease', 'n1');
    await node.until(leases, 'n1', (lease) => lease.metadata.uid !== metadata.uid, 'kube-node-lease');
    expect((await node.client.get(nodes, undefined, 'n1')).metadata.resourceVersion).toBe(
      before.metadata.resourceVersion,
    );
  });

  it('writes its status now and then, though nothing has changed', async () => {
    let nowMs = Date.now();
    await node.agent(new ScriptedRuntime(), {
      heartbeat: { lookMs: 20, leaseMs: 3_600_000 },
      now: () => nowMs,
    });
    const ready = async () =>
      (await node.client.get(nodes, undefined, 'n1')).status!.conditions!.find(
        ({ type }) => type === 'Ready',
      )!;
    const first = await ready();
    nowMs += 301_000;
    await expect.poll(ready).not.toMatchObject({ lastHeartbeatTime: first.lastHeartbeatTime });
    expect((await ready()).lastTransitionTime).toBe(first.lastTransitionTime);
  });

  it('that was silent for too long objects to what was said of it', async () => {
    let nowMs = Date.now();
    await node.agent(new ScriptedRuntime(), {
      heartbeat: { lookMs: 3_600_000, leaseMs: 20 },
      now: () => nowMs,
    });
    const unknown = {
      status: { conditions: [{ type: 'Ready', status: 'Unknown', reason: 'NodeStatusUnknown' }] },
    };
    await node.client.patch(nodes, undefined, 'n1', unknown, 'strategic', 'status');
    nowMs += 60_000;
    await expect
      .poll(async () => (await node.client.get(nodes, undefined, 'n1')).status!.conditions)
      .toContainEqual(expect.objectContaining({ type: 'Ready', status: 'True', reason: 'KubeletReady' }));
  });

  it('keeps extended resources that others put into its capacity, and gives them to pods', async () => {
    let nowMs = Date.now();
    await node.agent(new ScriptedRuntime(), { heartbeat: { lookMs: 20 }, now: () => nowMs });
    const add = { status: { capacity: { 'example.com/foo': '2' } } };
    const { metadata } = await node.client.patch(nodes, undefined, 'n1', add, 'strategic', 'status');
    // Nodes of earlier tests had the same name, and are seen again by a watch.
    const untilNode = (will: (status: NodeStatus) => boolean): Promise<Node> =>
      node.until(nodes, 'n1', (one) => one.metadata.uid === metadata.uid && will(one.status!), '');
    await untilNode(({ allocatable }) => allocatable!['example.com/foo'] === '2');
    const foo = (amount: string) => ({
      containers: [{ ...container(), resources: { limits: { 'example.com/foo': amount } } }],
    });
    await node.create('takes', foo('2'));
    await node.untilPod('takes', ({ status }) => status?.phase === 'Running');
    await node.create('lacks', foo('1'));
    const { status } = await node.untilPod('lacks', (pod) => pod.status?.phase === 'Failed');
    expect(status).toMatchObject({
      reason: 'OutOfexample.com/foo',
      message:
        "Pod was rejected: Node didn't have enough resource: example.com/foo, requested: 1, used: 2, capacity: 2",
    });
    // A later write of the whole status keeps them.
    nowMs += 301_000;
    const late = (time: string | undefined): boolean => Date.parse(time ?? '') >= nowMs - 1_000;
    const written = await untilNode(({ conditions }) =>
      conditions!.some(({ lastHeartbeatTime }) => late(lastHeartbeatTime)),
    );
    expect(written.status!.capacity!['example.com/foo']).toBe('2');
    // Removed from the capacity, they are gone.
    const remove = { status: { capacity: { 'example.com/foo': null } } };
    await node.client.patch(nodes, undefined, 'n1', remove, 'strategic', 'status');
    await expect
      .poll(async () => (await node.client.get(nodes, undefined, 'n1')).status!.allocatable)
      .not.toHaveProperty('example.com/foo');
  });

  it('that is deleted stays so, and so does its lease', async () => {
    await node.agent(new ScriptedRuntime(), { heartbeat: { lookMs: 20, leaseMs: 20 } });
    await node.client.delete(nodes, undefined, 'n1');
    await expect.poll(async () => (await node.client.list(leases)).items).toEqual([]);
    const { resourceVersion } = await node.client.list(leases);
    const changes: string[] = [];
    const watch = node.client.watch(leases, {}, resourceVersion, {
      changed: (type, { metadata }) => changes.push(`${type} ${metadata.name}`),
      bookmark: () => undefined,
      ended: () => undefined,
    });
    const renewals = vi.spyOn(node.client, 'patch');
    await vi.waitFor(() => expect(renewals.mock.calls.length).toBeGreaterThan(10), waiting);
    renewals.mockRestore();
    // Ten failed attempts are over when this is seen, so nothing was created before.
    await node.client.create(leases, 'default', { metadata: { name: 'later' } });
    await vi.waitFor(() => expect(changes).not.toEqual([]), waiting);
    watch.close();
    expect(changes).toEqual(['ADDED later']);
    await node.client.delete(leases, 'default', 'later');
    expect((await node.client.list(nodes)).items).toEqual([]);
  });

  it('that somebody else has made anew is taken over', async () => {
    await node.agent(new ScriptedRuntime(), { heartbeat: { lookMs: 20, leaseMs: 20 } });
    await node.client.delete(nodes, undefined, 'n1');
    await node.client.create(nodes, undefined, { metadata: { name: 'n1' } });
    const ready = expect.objectContaining({ type: 'Ready', status: 'True' });
    await expect
      .poll(async () => await node.client.get(nodes, undefined, 'n1'))
      .toMatchObject({
        metadata: { labels: { 'kubernetes.io/hostname': 'n1' } },
        status: { conditions: expect.arrayContaining([ready]) },
      });
  });

  it('says goodbye, unless it is to fall silent', async () => {
    const status = async (name: string) =>
      (await node.client.get(nodes, undefined, name)).status!.conditions!.find(
        ({ type }) => type === 'Ready',
      )!.status;
    const polite = await node.agent(new ScriptedRuntime(), { nodeName: 'polite' });
    const lost = await node.agent(new ScriptedRuntime(), { nodeName: 'lost' });
    await Promise.all([polite.close(), lost.close({ silently: true })]);
    expect(await status('polite')).toBe('False');
    expect(await status('lost')).toBe('True');
  });

  // Otherwise a hundred nodes that start together would renew their leases at the same moment for ever.
  it('renews its lease at another time than a node of almost the same name', () => {
    const shares = Array.from({ length: 100 }, (_, i) => shareOf(`simulated-${i + 1}`)).sort((a, b) => a - b);
    const gaps = shares.map((share, i) => (shares[i + 1] ?? shares[0]! + 1) - share);
    expect(Math.max(...gaps)).toBeLessThan(0.1);
  });

  it('tells of itself in events', async () => {
    await node.agent(new ScriptedRuntime(), { nodeName: 'telling' });
    const ready = await node.event('telling', 'NodeReady');
    expect(ready).toMatchObject({
      message: 'Node telling status is now: NodeReady',
      involvedObject: { kind: 'Node', uid: 'telling' },
    });
    const told = (await node.events('telling')).map(({ reason }) => reason);
    expect(told).toEqual(
      expect.arrayContaining([
        'Starting',
        'NodeHasSufficientMemory',
        'NodeHasNoDiskPressure',
        'NodeHasSufficientPID',
      ]),
    );
  });
});

describe('an agent', () => {
  it('can be closed while the server does not answer, or is not there', async () => {
    const silent = createServer(() => undefined);
    servers.push(silent);
    await new Promise<void>((resolve) => silent.listen(0, '127.0.0.1', resolve));
    const urls = [`http://127.0.0.1:${(silent.address() as AddressInfo).port}`, 'http://127.0.0.1:1'];
    for (const url of urls) {
      const client = new Client(url);
      const runtime = new ScriptedRuntime();
      const agent = new Agent({ nodeName: 'x', client, runtime, folder: node.folder, address: '192.0.2.1' });
      const started = agent.start();
      await agent.close();
      await started;
      expect(runtime.closed).toBe(true);
      client.close();
    }
  });
});
