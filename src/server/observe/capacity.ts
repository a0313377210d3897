/** Capacity: warns when the number of objects or the size of the store exceeds a configured figure. Nothing is refused. */
import type { Registry } from '../../registry/registry.ts';
import { type LimitKeeper, type LimitName, limitForms } from '../http/limits.ts';
import { countObjects } from './store-metrics.ts';

const intervalMs = 10_000;
/** A warning is repeated only after the figure has been below this share of its limit. */
const relief = 0.9;

export interface CapacityOptions {
  readonly registry: Registry;
  readonly keeper: LimitKeeper;
  readonly warn: (message: string) => void;
  readonly report: (error: Error) => void;
}

export class Capacity {
  readonly #exceeded = new Set<LimitName>();
  #timer: NodeJS.Timeout | undefined;

  constructor(private readonly options: CapacityOptions) {}

  async start(): Promise<void> {
    await this.check();
    this.#timer = setInterval(() => void this.check(), intervalMs);
    this.#timer.unref();
  }

  close(): void {
    clearInterval(this.#timer);
  }

  /** Never rejects. */
  async check(): Promise<void> {
    const { registry, report } = this.options;
    try {
      const objects = countObjects(registry);
      this.#compare('objectsWarned', objects, `there are ${objects} objects`);
      const { bytes } = await registry.store.stats();
      this.#compare('bytesWarned', bytes, `the store has ${bytes} bytes`);
    } catch (error) {
      report(error as Error);
    }
  }

  #compare(name: LimitName, value: number, says: string): void {
    const { keeper, warn } = this.options;
    const limit = keeper.limits[name];
    if (value < limit * relief) this.#exceeded.delete(name);
    if (value < limit || this.#exceeded.has(name)) return;
    this.#exceeded.add(name);
    keeper.reached(name);
    warn(`${says}; a warning was asked for from ${limit} on (--${limitForms[name].option})`);
  }
}
