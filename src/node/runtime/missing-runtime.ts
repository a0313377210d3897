/** Stands for a runtime that a pod asks for and this node lacks: the pod gets no place, and its events say why. */
import type { ContainerUsage, ImageCommand, PodPlace, RunningContainer, Runtime } from './runtime.ts';

export class MissingRuntime implements Runtime {
  readonly version = '';
  readonly simulated = false;

  constructor(readonly name: string) {}

  resolveImage(): Promise<ImageCommand> {
    return this.#refuse();
  }

  preparePod(): Promise<PodPlace> {
    return this.#refuse();
  }

  start(): Promise<RunningContainer> {
    return this.#refuse();
  }

  resize(): Promise<void> {
    return this.#refuse();
  }

  dial(): Promise<never> {
    return this.#refuse();
  }

  reach(): Promise<never> {
    return this.#refuse();
  }

  log(): undefined {
    return undefined;
  }

  async usage(): Promise<readonly ContainerUsage[]> {
    return [];
  }

  async removePod(): Promise<void> {
    // Nothing to do.
  }

  async recover(): Promise<void> {
    // Nothing to do.
  }

  async close(): Promise<void> {
    // Nothing to do.
  }

  #refuse(): Promise<never> {
    return Promise.reject(
      new Error(
        `Failed to create pod sandbox: failed to get sandbox runtime: no runtime for ${JSON.stringify(this.name)} is configured`,
      ),
    );
  }
}
