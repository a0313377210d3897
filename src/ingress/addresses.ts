/**
 * Writes the addresses of ingresses to their status. Only differences are written, one after the other;
 * failures are retried until the write succeeds, is no longer wanted, or the ingress is gone.
 */
import { isIP } from 'node:net';
import { isDeepStrictEqual } from 'node:util';
import { StatusError } from '../api/errors/errors.ts';
import type { Ingress, LoadBalancerIngress } from '../api/generated/types.ts';
import type { Client } from '../client/client.ts';
import { ingresses } from '../client/resources.ts';

const retryFirstMs = 200;
const retryMaxMs = 10_000;

export interface AddressesOptions {
  readonly client: Client;
  /** An IP address or a host name. */
  readonly address: string;
  readonly onError: (error: Error) => void;
}

interface Wanted {
  readonly ingress: Ingress;
  readonly addresses: readonly LoadBalancerIngress[];
}

export class Addresses {
  readonly #own: readonly LoadBalancerIngress[];
  /** Pending writes, by uid. */
  readonly #wanted = new Map<string, Wanted>();
  /** Uids of ingresses whose status may have an address written by this controller. */
  readonly #marked = new Set<string>();
  #working: Promise<void> | undefined;
  #wake: (() => void) | undefined;
  #closed = false;

  constructor(private readonly options: AddressesOptions) {
    const { address } = options;
    this.#own = [isIP(address) ? { ip: address } : { hostname: address }];
  }

  /** Called for an ingress that is served here. */
  show(ingress: Ingress): void {
    this.#marked.add(ingress.metadata.uid!);
    this.#want(ingress, this.#own);
  }

  /**
   * Called for an ingress of another controller: removes an address that was written here. What the other
   * controller has written stays, even if it is the same address.
   * @param first whether it is seen for the first time: it may have been served before a restart
   */
  hide(ingress: Ingress, first: boolean): void {
    const uid = ingress.metadata.uid!;
    if (isDeepStrictEqual(written(ingress), this.#own) && (this.#marked.has(uid) || first))
      this.#want(ingress, []);
    else this.#wanted.delete(uid);
  }

  /** Called when the ingress is deleted. */
  forget({ metadata }: Ingress): void {
    this.#wanted.delete(metadata.uid!);
    this.#marked.delete(metadata.uid!);
  }

  /** Waits for the write under way; drops those that wait. */
  async close(): Promise<void> {
    this.#closed = true;
    this.#wanted.clear();
    this.#wake?.();
    await this.#working;
  }

  #want(ingress: Ingress, addresses: readonly LoadBalancerIngress[]): void {
    const uid = ingress.metadata.uid!;
    if (isDeepStrictEqual(written(ingress), addresses)) return void this.#wanted.delete(uid);
    if (this.#closed) return;
    this.#wanted.set(uid, { ingress, addresses });
    this.#working ??= this.#work().finally(() => {
      this.#working = undefined;
    });
  }

  async #work(): Promise<void> {
    let retryMs = retryFirstMs;
    for (let next = this.#next(); next; next = this.#next()) {
      const uid = next.ingress.metadata.uid!;
      const done = await this.#write(next);
      if (done) {
        // Unless a newer status was requested meanwhile.
        if (this.#wanted.get(uid) === next) this.#wanted.delete(uid);
        retryMs = retryFirstMs;
      } else {
        await this.#pause(retryMs);
        retryMs = Math.min(retryMs * 2, retryMaxMs);
      }
    }
  }

  #next(): Wanted | undefined {
    return this.#wanted.values().next().value;
  }

  async #write({ ingress, addresses }: Wanted): Promise<boolean> {
    const { namespace, name, uid } = ingress.metadata;
    const patch = { metadata: { uid }, status: { loadBalancer: { ingress: addresses } } };
    try {
      await this.options.client.patch(ingresses, namespace, name!, patch, 'merge', 'status');
      if (addresses.length === 0) this.#marked.delete(uid!);
      return true;
    } catch (error) {
      const code = error instanceof StatusError ? error.code : 0;
      // Deleted, or replaced by another ingress of the same name.
      if (code === 404 || code === 409) return true;
      if (!this.#closed) this.options.onError(error as Error);
      // Do not retry a status that the server rejects as invalid.
      return code === 400 || code === 422;
    }
  }

  async #pause(ms: number): Promise<void> {
    if (this.#closed) return;
    await new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, ms);
      this.#wake = () => {
        clearTimeout(timer);
        resolve();
      };
    });
    this.#wake = undefined;
  }
}

const written = ({ status }: Ingress): readonly LoadBalancerIngress[] => status?.loadBalancer?.ingress ?? [];
