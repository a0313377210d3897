/**
 * The zone of a node, for services whose traffic should stay near. It is followed from its first use on, because most
 * clusters have no zones.
 */
import type { Node } from '../../api/generated/types.ts';
import type { Client } from '../../client/client.ts';
import { Informer } from '../../client/informer.ts';
import { nodes } from '../../client/resources.ts';

const zoneLabel = 'topology.kubernetes.io/zone';

export class NodeZone {
  readonly #listeners = new Set<() => void>();
  #informer: Informer<Node> | undefined;
  #name: string | undefined;
  #closed = false;

  constructor(
    private readonly client: Client,
    private readonly nodeName: string,
    private readonly onError: (error: Error) => void,
  ) {}

  /** The zone; undefined when the node has none, or it is not known yet. */
  get name(): string | undefined {
    if (!this.#informer && !this.#closed) {
      const { client, nodeName, onError } = this;
      this.#informer = new Informer(client, nodes, {
        fieldSelector: `metadata.name=${nodeName}`,
        changed: (node) => this.#take(node?.metadata.labels?.[zoneLabel] || undefined),
        onError,
      });
      void this.#informer.start();
    }
    return this.#name;
  }

  /** Calls the listener when the node is in another zone than before. */
  onChange(listener: () => void): void {
    this.#listeners.add(listener);
  }

  close(): void {
    this.#closed = true;
    this.#informer?.close();
    this.#listeners.clear();
  }

  #take(name: string | undefined): void {
    if (name === this.#name) return;
    this.#name = name;
    for (const listener of this.#listeners) listener();
  }
}
