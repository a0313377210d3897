/** When samples are taken: every ten seconds while the server listens. The sampler is loaded with the first of them. */
import type { Sampled, Sampler } from './sampler.ts';

const everyMs = 10_000;

export class Sampling {
  #loading: Promise<Sampler> | undefined;
  #timer: NodeJS.Timeout | undefined;

  constructor(private readonly sampled: Omit<Sampled, 'everyMs'>) {}

  begin(): void {
    // The process may end while the timer waits. A round that fails is a gap in the charts.
    this.#timer = setInterval(() => void this.#take().catch(() => undefined), everyMs).unref();
  }

  end(): void {
    clearInterval(this.#timer);
  }

  sampler(): Promise<Sampler> {
    this.#loading ??= import('./sampler.ts').then(({ Sampler }) => new Sampler({ ...this.sampled, everyMs }));
    return this.#loading;
  }

  async #take(): Promise<void> {
    await (await this.sampler()).take();
  }
}
