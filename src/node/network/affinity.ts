/** Session affinity: remembers which target a client was sent to, for as long as the service wants it to stay there. */

import { composedKey } from '../../composed-key.ts';
import type { ServiceTarget } from './service-ports.ts';

/** Clients remembered per service port. Beyond this the least recently seen is evicted. */
const clientsMax = 10_000;

interface Stay {
  readonly target: string;
  readonly untilMs: number;
}

export const targetKey = ({ ip, port }: ServiceTarget): string => composedKey(ip, String(port));

export class ClientAffinity {
  readonly #stays = new Map<string, Stay>();

  constructor(private readonly now: () => number) {}

  /** The target this client was sent to before, if its time is not over and the target still exists. */
  find(client: string, targets: readonly ServiceTarget[]): ServiceTarget | undefined {
    const stay = this.#stays.get(client);
    if (!stay) return undefined;
    if (stay.untilMs <= this.now()) {
      this.#stays.delete(client);
      return undefined;
    }
    return targets.find((target) => targetKey(target) === stay.target);
  }

  /** Remembers the target. Every connection restarts the affinity timeout. */
  keep(client: string, target: ServiceTarget, forMs: number): void {
    this.#stays.delete(client);
    this.#stays.set(client, { target: targetKey(target), untilMs: this.now() + forMs });
    if (this.#stays.size > clientsMax) this.#stays.delete(this.#stays.keys().next().value!);
  }
}
