/**
 * A cluster with one node, for tests of the agent. Everything is real, except the runtime where a test
 * replaces it.
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, expect } from 'vitest';
import type { Event, Pod, PodSpec } from '../../api/generated/types.ts';
import { Client } from '../../client/client.ts';
import { events, nodes, pods, type Resource } from '../../client/resources.ts';
import { type Cluster, start } from '../../cluster/index.ts';
import type { Runtime } from '../runtime/runtime.ts';
import { ScriptedRuntime } from '../runtime/scripted-runtime.fixture.ts';
import { Agent, type AgentOptions } from './agent.ts';

const waitMaxMs = 60_000;

export class TestNode {
  client!: Client;
  folder = '';
  readonly errors: Error[] = [];
  readonly agents: Agent[] = [];
  #cluster: Cluster | undefined;

  async open(): Promise<void> {
    this.#cluster = await start({ store: 'memory', onError: (error) => this.errors.push(error) });
    this.client = new Client(this.#cluster.url);
    this.folder = await mkdtemp(join(tmpdir(), 'wherry-node-'));
  }

  get url(): string {
    return this.#cluster!.url;
  }

  async agent(runtime: Runtime, options: Partial<AgentOptions> = {}): Promise<Agent> {
    if (runtime instanceof ScriptedRuntime) runtime.folder ||= this.folder;
    const agent = new Agent({
      nodeName: 'n1',
      client: this.client,
      runtime,
      folder: this.folder,
      address: '192.0.2.1',
      backOff: { firstMs: 20, maxMs: 200 },
      onError: (error) => this.errors.push(error),
      ...options,
    });
    this.agents.push(agent);
    await agent.start();
    return agent;
  }

  /** Closes the agents and deletes the objects that the test has made. */
  async clear(): Promise<void> {
    await Promise.all(this.agents.splice(0).map((agent) => agent.close()));
    for (const { metadata } of (await this.client.list(pods, { namespace: 'default' })).items) {
      if (metadata.finalizers?.length)
        await this.client.patch(pods, 'default', metadata.name!, { metadata: { finalizers: null } });
      await this.client
        .delete(pods, 'default', metadata.name!, { gracePeriodSeconds: 0 })
        .catch(() => undefined);
    }
    for (const { metadata } of (await this.client.list(nodes)).items)
      await this.client.delete(nodes, undefined, metadata.name!);
    const unexpected = this.errors.splice(0);
    expect(unexpected).toEqual([]);
  }

  async close(): Promise<void> {
    this.client.close();
    await this.#cluster?.close();
    await rm(this.folder, { recursive: true, force: true });
  }

  create(name: string, spec: Partial<PodSpec> = {}, metadata: Partial<Pod['metadata']> = {}): Promise<Pod> {
    return this.client.create(pods, 'default', {
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: { name, namespace: 'default', ...metadata },
      spec: {
        nodeName: 'n1',
        automountServiceAccountToken: false,
        containers: [container()],
        ...spec,
      },
    });
  }

  /**
   * Resolves with the first state of the object that passes the check. A watch without a resourceVersion
   * replays history, so earlier states count, too.
   */
  until<T extends { metadata: { name?: string } }>(
    of: Resource<T>,
    name: string,
    will: (object: T) => boolean | undefined,
    namespace: string | undefined = 'default',
  ): Promise<T> {
    return this.#watching(of, namespace, name, (type, object) => type !== 'DELETED' && will(object));
  }

  untilPod(name: string, will: (pod: Pod) => boolean | undefined): Promise<Pod> {
    return this.until(pods, name, will);
  }

  untilGone(name: string): Promise<Pod> {
    return this.#watching(pods, 'default', name, (type) => type === 'DELETED');
  }

  /** All watch events of a pod since its creation; the array grows as events arrive. */
  history(name: string): { told: [type: string, pod: Pod][]; close(): void } {
    const told: [string, Pod][] = [];
    const watch = this.client.watch(
      pods,
      { namespace: 'default', fieldSelector: `metadata.name=${name}` },
      '',
      {
        changed: (type, pod) => told.push([type, pod]),
        bookmark: () => undefined,
        ended: () => undefined,
      },
    );
    return { told, close: () => watch.close() };
  }

  /** Waits for an event with this reason. */
  async event(about: string, reason: string): Promise<Event> {
    return this.#watching(
      events,
      'default',
      undefined,
      (_type, event) => event.involvedObject?.name === about && event.reason === reason,
    );
  }

  async events(about: string): Promise<Event[]> {
    const { items } = await this.client.list(events, { namespace: 'default' });
    return items.filter(({ involvedObject }) => involvedObject?.name === about);
  }

  #watching<T>(
    of: Resource<T>,
    namespace: string | undefined,
    name: string | undefined,
    will: (type: string, object: T) => boolean | undefined,
  ): Promise<T> {
    return new Promise((resolve, reject) => {
      let last: T | undefined;
      const done = (finish: () => void): void => {
        clearTimeout(timer);
        watch.close();
        finish();
      };
      const timer = setTimeout(
        () => done(() => reject(new Error(`not seen in time; last: ${JSON.stringify(last)}`))),
        waitMaxMs,
      );
      const selection = { namespace, ...(name ? { fieldSelector: `metadata.name=${name}` } : {}) };
      const watch = this.client.watch(of, selection, '', {
        changed: (type, object) => {
          last = object;
          if (will(type, object)) done(() => resolve(object));
        },
        bookmark: () => undefined,
        ended: (error) => done(() => reject(error ?? new Error('the watch has ended'))),
      });
    });
  }
}

export const container = (name = 'c', ...command: string[]) => ({
  name,
  image: 'made-up',
  command: command.length ? command : ['run'],
});

export const condition = (pod: Pod, type: string) => pod.status?.conditions?.find((one) => one.type === type);

/** One cluster per test file; the node is cleared after each test. */
export function useNode(): TestNode {
  const node = new TestNode();
  beforeAll(() => node.open());
  afterEach(() => node.clear());
  afterAll(() => node.close());
  return node;
}
