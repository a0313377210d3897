/**
 * Leases of keys that expire, such as events. Keys that are written in the same minute share one, so that etcd has few;
 * a lease lasts that minute longer. A key that is written again gets the lease of its last write.
 */
import { randomInt } from 'node:crypto';
import type { Members } from './members.ts';
import { encodeLeaseGrant, LEASE_GRANT } from './messages.ts';
import { leaseIdMax } from './registration.ts';

const CALL_MS = 5000;
/** How much longer than asked a key may live: this share of its life, at most SHARED_MAX_MS. */
const SHARE = 0.05;
const SHARED_MAX_MS = 60_000;
/** Maximum number of keys on one lease: etcd removes all keys of a lease in one revision. */
const KEYS_MAX = 1000;

interface Lease {
  readonly id: Promise<number>;
  readonly sinceMs: number;
  keys: number;
}

export class ExpiryLeases {
  /** The newest lease for each lifetime in milliseconds. */
  readonly #leases = new Map<number, Lease>();

  constructor(private readonly members: Members) {}

  /** A lease for a key that lives this long. */
  leaseFor(lifeMs: number): Promise<number> {
    const nowMs = performance.now();
    const sharedMs = Math.min(lifeMs * SHARE, SHARED_MAX_MS);
    let lease = this.#leases.get(lifeMs);
    if (!lease || nowMs - lease.sinceMs > sharedMs || lease.keys >= KEYS_MAX) {
      const id = this.#grant(Math.ceil((lifeMs + sharedMs) / 1000));
      id.catch(() => this.forget());
      lease = { id, sinceMs: nowMs, keys: 0 };
      this.#leases.set(lifeMs, lease);
    }
    lease.keys++;
    return lease.id;
  }

  /** Called when etcd does not know a lease: it has expired, or could not be granted. */
  forget(): void {
    this.#leases.clear();
  }

  async #grant(seconds: number): Promise<number> {
    // Another id with every attempt: a lease that was granted without an answer expires by itself.
    const id = randomInt(1, leaseIdMax);
    await this.members.call(LEASE_GRANT, encodeLeaseGrant(seconds, id), CALL_MS);
    return id;
  }
}
