/** Connecting: what connections to pods and nodes need, and the list of those that are open. */
import { unavailable } from '../../api/errors.ts';
import type { Registry } from '../../registry/registry.ts';
import type { NodeWay } from '../../streams/nodeway.ts';

export interface Connecting {
  readonly registry: Registry;
  readonly nodes: NodeWay;
  /** Types of node addresses, the one to be tried first in front. */
  readonly addressTypes: readonly string[];
  readonly open: OpenConnections;
}

export class OpenConnections {
  readonly #cuts = new Set<() => void>();
  #closed = false;

  /** Takes a connection in, until what is returned is called. `cut` breaks it off. */
  add(cut: () => void): () => void {
    if (this.#closed) throw unavailable('the server is shutting down');
    // The same function may be added twice; each is a connection of its own.
    const own = (): void => cut();
    this.#cuts.add(own);
    return () => void this.#cuts.delete(own);
  }

  /** The server closes: nobody is waited for, and nobody comes any more. */
  cutAll(): void {
    this.#closed = true;
    for (const cut of this.#cuts) cut();
  }
}
