/** Proves that a network policy is felt by real pods in network namespaces, and as soon as it changes. */
import { describe, expect, it, onTestFinished } from 'vitest';
import type { NetworkPolicySpec, Pod } from '../../api/generated/types.ts';
import { Client } from '../../client/client.ts';
import { namespaces, networkPolicies, pods as podResource } from '../../client/resources.ts';
import { start } from '../../cluster/index.ts';
import { Spawner } from '../process/spawner.ts';
import { asking, namedServer, note, problem, useNetwork } from './netns.fixture.ts';
import { NetnsNetwork } from './netns-network.ts';
import { filterProblem } from './packet-filter.ts';
import { PodFilters } from './pod-filters.ts';
import type { PodAttachment } from './pod-network.ts';
import { PolicyTable } from './policy-table.ts';

const nft = filterProblem(new Spawner());
const why = nft === undefined ? note : ` (left out: ${nft})`;

describe.skipIf(problem !== undefined || nft !== undefined)(`network policies${why}`, () => {
  const test = useNetwork();

  it('that deny are felt: ingress and egress, peers, blocks, ports and their names', async () => {
    const cluster = await start({ store: 'memory', controllers: false });
    const client = new Client(cluster.url);
    const onError = (error: Error): void => void test.errors.push(error);
    const table = new PolicyTable(client, onError);
    onTestFinished(async () => {
      table.close();
      client.close();
      await cluster.close();
    });
    const bridge = test.bridge();
    await bridge.open();
    const filters = new PodFilters({
      spawner: test.spawner,
      surroundings: () => ({
        node: [bridge.gateway],
        nameServer: bridge.serviceAddress,
        services: [bridge.serviceRange.text],
      }),
      onError,
    });
    await table.start();
    await filters.follow(table);
    const network = new NetnsNetwork({
      bridge,
      address: '127.0.0.1',
      spawner: test.spawner,
      onError,
      filters,
    });
    await client.create(namespaces, undefined, { metadata: { name: 'far', labels: { team: 'far' } } });

    /** Makes a pod with its network, and says in its status where it is. */
    const made = async (name: string, namespace: string): Promise<PodAttachment> => {
      const ports = [{ name: 'web', containerPort: 8080 }];
      const pod = await client.create(podResource, namespace, {
        metadata: { name, labels: { app: name } },
        spec: { containers: [{ name: 'c', image: 'i', ports }] },
      });
      const attachment = await network.attach(pod as Pod);
      const status = { phase: 'Running', podIP: attachment.ip, podIPs: [{ ip: attachment.ip }] };
      await client.patch(podResource, namespace, name, { status }, 'merge', 'status');
      return attachment;
    };
    const [web, near, far] = [
      await made('web', 'default'),
      await made('near', 'default'),
      await made('far', 'far'),
    ];
    await test.serve(web, namedServer('web', 8080));
    await test.serve(web, namedServer('other', 8081));
    await test.serve(near, namedServer('near', 8080));
    /** What a pod hears of several servers, asked at once; one that is kept away hears nothing for a while. */
    const hears = async (from: PodAttachment | undefined, ...targets: [string, number][]) => {
      const asked = targets.map((target) =>
        test.run(from, asking(target).replace('timeout: 5000', 'timeout: 1500')),
      );
      return (await Promise.all(asked)).join(' ');
    };
    /** Whether near, far and the machine reach both ports of web. */
    const reached = async (): Promise<string> => {
      const found = [near, far, undefined].map((from) => hears(from, [web.ip, 8080], [web.ip, 8081]));
      return (await Promise.all(found)).map((text) => text.replace(/late|E[A-Z]+/g, '-')).join(', ');
    };
    const policy = async (spec: NetworkPolicySpec): Promise<void> => {
      await client.delete(networkPolicies, 'default', 'p').catch(() => undefined);
      await client.create(networkPolicies, 'default', { metadata: { name: 'p' }, spec });
    };
    const eventually = (look: () => Promise<string>) => expect.poll(look, { timeout: 60_000, interval: 50 });
    const open = 'web other, web other, web other';
    await eventually(reached).toBe(open);

    const selected = { podSelector: { matchLabels: { app: 'web' } }, policyTypes: ['Ingress'] };
    await policy(selected);
    await eventually(reached).toBe('- -, - -, web other');
    await policy({ ...selected, ingress: [{ from: [{ podSelector: { matchLabels: { app: 'near' } } }] }] });
    await eventually(reached).toBe('web other, - -, web other');
    await policy({
      ...selected,
      ingress: [
        { from: [{ namespaceSelector: { matchLabels: { team: 'far' } } }], ports: [{ port: 'web' }] },
      ],
    });
    await eventually(reached).toBe('- -, web -, web other');
    await policy({
      ...selected,
      ingress: [
        {
          from: [{ ipBlock: { cidr: '10.0.0.0/8', except: [`${near.ip}/32`] } }],
          ports: [{ port: 8081, endPort: 8090 }],
        },
      ],
    });
    await eventually(reached).toBe('- -, - other, web other');
    await client.delete(networkPolicies, 'default', 'p');
    await eventually(reached).toBe(open);

    // A pod may be kept from reaching others, and what it accepts is another matter.
    const outgoing = () => hears(web, [near.ip, 8080], [far.ip, 8080]);
    await policy({ podSelector: { matchLabels: { app: 'web' } }, policyTypes: ['Egress'] });
    await eventually(outgoing).toBe('late late');
    await eventually(reached).toBe(open);
    await policy({
      podSelector: { matchLabels: { app: 'web' } },
      policyTypes: ['Egress'],
      egress: [{ to: [{ podSelector: { matchLabels: { app: 'near' } } }], ports: [{ port: 'web' }] }],
    });
    await eventually(outgoing).toBe('near late');
    // The service proxy asks the same table, because its packets come from the node.
    expect(table.allows(web.ip, near.ip, 'TCP', 8080)).toBe(true);
    expect(table.allows(web.ip, far.ip, 'TCP', 8080)).toBe(false);
    expect(table.allows(near.ip, web.ip, 'TCP', 8080)).toBe(true);
    await network.close();
  });
});
