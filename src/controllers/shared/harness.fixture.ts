/**
 * A registry with controllers and without a server, for tests that need many objects or have to wait until
 * controllers are idle.
 */

import { randomInt, randomUUID } from 'node:crypto';
import { afterEach, beforeEach, expect } from 'vitest';
import { Tokens } from '../../access/tokens/tokens.ts';
import type { Authorizer } from '../../api/kind/access.ts';
import type { ResourceId } from '../../api/kind/kind.ts';
import { KindTable } from '../../api/kinds/kinds.ts';
import type { ApiObject } from '../../api/text/object.ts';
import { type AdmissionOptions, admissionChain } from '../../registry/admission/plugins.ts';
import { QuotaAccounts } from '../../registry/admission/quota-accounts.ts';
import type { Registry, Sources } from '../../registry/registry.ts';
import { asTester } from '../../registry/request.fixture.ts';
import { collectionOf, named } from '../../registry/target.ts';
import type { Entry } from '../../registry/view/entry.ts';
import { everything } from '../../registry/view/filter.ts';
import { View } from '../../registry/view/view.ts';
import { makeWriting, type Writing } from '../../registry/writing.ts';
import { openMemoryStore } from '../../store/memory.ts';
import type { Store } from '../../store/store.ts';
import { systemTimers } from '../../timers.ts';
import { chosenControllers, startControllers } from '../controllers.ts';
import {
  type ClusterTrust,
  type ControllerContext,
  type ControllerSettings,
  defaultSettings,
  type NodeVolumes,
  type RunningController,
} from './controller.ts';

/** How long a test waits for controllers to become idle. */
const settleMaxMs = 60_000;

const sources: Sources = {
  nowMs: () => Date.now(),
  uid: () => randomUUID(),
  randomBelow: (bound) => randomInt(bound),
};

/** What a test may change of the registry. */
interface RegistrySettings {
  /** The registry's clock; timers use real time. */
  readonly nowMs?: () => number;
  readonly authorizer?: Authorizer;
  readonly admission?: AdmissionOptions;
}

interface MadeRegistry {
  readonly writing: Writing;
  readonly quotas: QuotaAccounts;
}

async function registryOn(
  store: Store,
  { nowMs = sources.nowMs, authorizer, admission }: RegistrySettings = {},
): Promise<MadeRegistry> {
  const kinds = new KindTable();
  // Nothing is released with the request: what is deleted is left to controllers, so that tests see them at work.
  const finalizing = { protection: true, collection: true, prompt: false, kept: true };
  let quotas!: QuotaAccounts;
  const writing = makeWriting(
    store,
    await View.open(store, kinds),
    kinds,
    { ...sources, nowMs },
    {
      admission: (made) => {
        quotas = new QuotaAccounts(made.registry);
        return admissionChain(made, admission, { quotas });
      },
      authorizer,
      finalizing,
      // A copy of its own, so that a test may change them.
      timers: { ...systemTimers },
    },
  );
  return { writing, quotas };
}

/** Changes of another server that are held back. */
class Delay {
  #waiting: (() => void)[] | undefined;

  hold(): void {
    this.#waiting ??= [];
  }

  release(): void {
    const waiting = this.#waiting ?? [];
    this.#waiting = undefined;
    for (const deliver of waiting) deliver();
  }

  deliver(what: () => void): void {
    if (this.#waiting) this.#waiting.push(what);
    else what();
  }
}

const delayed = (store: Store, delay: Delay): Store => ({
  get compacted() {
    return store.compacted;
  },
  valueBytesMax: store.valueBytesMax,
  revision: () => store.revision(),
  get: (key) => store.get(key),
  range: (query) => store.range(query),
  write: (write) => store.write(write),
  stats: () => store.stats(),
  compact: (revision) => store.compact(revision),
  backup: () => store.backup(),
  close: () => store.close(),
  watch: (after, listener) => store.watch(after, (changes) => delay.deliver(() => listener(changes))),
});

export class Harness {
  readonly errors: Error[] = [];
  /** Set before the controllers are started. */
  trust: ClusterTrust | undefined;
  /** Set before the controllers are started. */
  nodeVolumes: NodeVolumes | undefined;
  /** Set before the controllers are started. */
  podUsage: ControllerContext['podUsage'];
  #running: RunningController | undefined;

  readonly writing: Writing;
  readonly registry: Registry;
  readonly #quotas: QuotaAccounts;

  private constructor(
    { writing, quotas }: MadeRegistry,
    private readonly store: Store,
    private readonly isOwner: boolean,
  ) {
    this.writing = writing;
    this.registry = writing.registry;
    this.#quotas = quotas;
  }

  static async open(
    namespaces: readonly string[] = ['default'],
    settings?: RegistrySettings,
  ): Promise<Harness> {
    const store = openMemoryStore();
    const harness = new Harness(await registryOn(store, settings), store, true);
    for (const name of namespaces)
      await harness.seed('v1', 'namespaces', '', {
        metadata: { name },
        spec: { finalizers: ['kubernetes'] },
      });
    return harness;
  }

  /** Another server on the same store, whose feed can be delayed. */
  async neighbour(): Promise<{ neighbour: Harness; delay: Delay }> {
    const delay = new Delay();
    const made = await registryOn(delayed(this.store, delay));
    return { neighbour: new Harness(made, this.store, false), delay };
  }

  get context(): ControllerContext {
    const onError = (error: Error): void => void this.errors.push(error);
    const { registry, writing, trust, nodeVolumes, podUsage } = this;
    return {
      registry,
      writing,
      quotas: this.#quotas,
      tokens: new Tokens(registry),
      settings: defaultSettings,
      trust,
      nodeVolumes,
      ...(podUsage ? { podUsage } : {}),
      onError,
    };
  }

  /** Stores an object without validation; its name must be free. */
  async seed(apiVersion: string, resource: string, namespace: string, object: object): Promise<Entry> {
    const kind = this.registry.kinds.resource(apiVersion, resource)!;
    const whole = { kind: kind.kind, apiVersion, ...structuredClone(object) } as unknown as ApiObject;
    const collection = collectionOf(kind, namespace);
    if (!(await this.registry.seed(asTester('create'), collection, whole)))
      throw new Error(`${resource} ${whole.metadata.name} is there already`);
    return this.registry.find(named(collection, whole.metadata.name!));
  }

  all(id: ResourceId): readonly Entry[] {
    return this.registry.view.collection(id).select(everything).entries;
  }

  start(controllers: readonly string[], settings: Partial<ControllerSettings> = {}): void {
    const context = { ...this.context, settings: { ...defaultSettings, ...settings } };
    this.#running = startControllers(context, chosenControllers(controllers));
  }

  /** Resolves when the controllers are idle. */
  async settled(): Promise<void> {
    const deadline = Date.now() + settleMaxMs;
    while (!this.#running!.settled) {
      if (Date.now() > deadline) throw new Error('the controllers do not come to rest');
      await new Promise((resolve) => setImmediate(resolve));
    }
  }

  async stop(): Promise<void> {
    await this.#running?.close();
    this.#running = undefined;
  }

  async close(): Promise<void> {
    await this.stop();
    this.registry.view.close();
    if (this.isOwner) await this.store.close();
  }
}

/** The harness of the current test. */
export let harness: Harness;

/** Creates a harness for every test of the file; an error of a controller fails the test. */
export function useHarness(): void {
  beforeEach(async () => {
    harness = await Harness.open();
  });
  afterEach(async () => {
    await harness.close();
    expect(harness.errors).toEqual([]);
  });
}
