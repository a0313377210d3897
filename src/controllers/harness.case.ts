/** A registry with controllers and no server, for tests that need many objects or want to know when all is done. */
import { randomInt, randomUUID } from 'node:crypto';
import { KindTable } from '../api/kinds.ts';
import type { ApiObject } from '../api/object.ts';
import type { Entry } from '../registry/entry.ts';
import { Filter } from '../registry/filter.ts';
import { Registry } from '../registry/registry.ts';
import { View } from '../registry/view.ts';
import { openMemoryStore } from '../store/memory.ts';
import { type ControllerContext, defaultSettings, type RunningController } from './controller.ts';
import { chosenControllers, startControllers } from './controllers.ts';

/** How long a test waits for controllers to have done their work. */
const settleMaxMs = 20_000;

export class Harness {
  readonly errors: Error[] = [];
  #running: RunningController | undefined;

  private constructor(
    readonly registry: Registry,
    private readonly closeStore: () => Promise<void>,
  ) {}

  static async open(namespaces: readonly string[] = ['default']): Promise<Harness> {
    const store = openMemoryStore();
    const kinds = new KindTable();
    const view = await View.open(store, kinds);
    const chance = {
      nowMs: () => Date.now(),
      uid: () => randomUUID(),
      randomBelow: (n: number) => randomInt(n),
    };
    const registry = new Registry(store, view, kinds, chance);
    const harness = new Harness(registry, async () => {
      view.close();
      await store.close();
    });
    for (const name of namespaces)
      await harness.plant('v1', 'namespaces', '', {
        metadata: { name },
        spec: { finalizers: ['kubernetes'] },
      });
    return harness;
  }

  get context(): ControllerContext {
    const onError = (error: Error): void => void this.errors.push(error);
    return { registry: this.registry, settings: defaultSettings, onError };
  }

  /** Stores an object as it is; its name must be free. */
  async plant(apiVersion: string, resource: string, namespace: string, object: object): Promise<Entry> {
    const kind = this.registry.kinds.resource(apiVersion, resource)!;
    const whole = { kind: kind.kind, apiVersion, ...structuredClone(object) } as unknown as ApiObject;
    if (!(await this.registry.plant(kind, namespace, whole)))
      throw new Error(`${resource} ${whole.metadata.name} is there already`);
    return this.registry.find(kind, namespace, whole.metadata.name!);
  }

  all(resource: string): Entry[] {
    const everything = new Filter(undefined, undefined, undefined, undefined);
    return this.registry.view.collection(resource).select(everything).entries;
  }

  start(controllers: readonly string[]): void {
    this.#running = startControllers(this.context, chosenControllers(controllers));
  }

  /** Resolves when the controllers have nothing left to do. */
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
    await this.closeStore();
  }
}
