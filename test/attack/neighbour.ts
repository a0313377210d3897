/**
 * The neighbour: an ordinary user of the secure door, the administrator there, and a client of the local door, who work
 * while others attack. What they feel is how long their requests take, and which are not answered as they should be.
 */
import type { AttackedServer } from './attacked-server.ts';

/** Between two rounds of each. */
const pauseMs = 20;

export interface Felt {
  readonly requests: number;
  readonly p99Ms: number;
  /** Answers that were refusals, or none. */
  readonly failures: readonly string[];
}

export class Neighbour {
  readonly #took: number[] = [];
  readonly #failures: string[] = [];
  #stopped = false;
  readonly #work: Promise<unknown>;

  constructor(server: AttackedServer) {
    const configMaps = '/api/v1/namespaces/default/configmaps';
    let made = 0;
    this.#work = Promise.all([
      this.#repeat('the neighbour reads', () => server.ask('neighbour', `${configMaps}?limit=10`)),
      this.#repeat('the neighbour writes', () => {
        const body = { metadata: { name: `neighbour-${made++}-${this.#took.length}` } };
        return server.ask('neighbour', `${configMaps}?dryRun=All`, { method: 'POST', body });
      }),
      this.#repeat('the administrator reads', () => server.ask('admin', '/api/v1/namespaces')),
      this.#repeat('the local door reads', () => server.askLocally('/api/v1/namespaces')),
      this.#repeat('a probe asks', () => server.ask('anonymous', '/livez')),
    ]);
  }

  /** Resolves when all of them were answered this many times more. */
  async stop(): Promise<Felt> {
    this.#stopped = true;
    await this.#work;
    const sorted = [...this.#took].sort((a, b) => a - b);
    return {
      requests: sorted.length,
      p99Ms: sorted[Math.floor(sorted.length * 0.99)] ?? 0,
      failures: [...new Set(this.#failures)],
    };
  }

  async #repeat(what: string, ask: () => Promise<{ status: number; text: string }>): Promise<void> {
    do {
      const begun = performance.now();
      const { status, text } = await ask();
      this.#took.push(performance.now() - begun);
      if (status !== 200 && status !== 201) this.#failures.push(`${what}: ${status} ${text.slice(0, 200)}`);
      await new Promise((resolve) => setTimeout(resolve, pauseMs));
    } while (!this.#stopped);
  }
}
