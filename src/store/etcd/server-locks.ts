/**
 * Locks of servers in etcd: keys on the lease of the server that holds them, so that those of a dead server vanish with
 * it. A server holds a lock for all its callers together. It gives the lock up when the last of them has left; while
 * others keep coming, it lets no more in after a while, so that the other servers get their turn.
 */
import { randomInt } from 'node:crypto';
import { CallError, GrpcCode } from '../../grpc/call-error.ts';
import { DeadlineError, type Lock, type Locks, type StoreUnavailableError, storeClosed } from '../store.ts';
import { isNotDone } from './call-problem.ts';
import type { Keyspace } from './keyspace.ts';
import { isTemporary, type Members, pause } from './members.ts';
import { decodeTxn, encodeTxn, TXN, type TxnAnswer } from './messages.ts';
import { asUnavailable, type Registration } from './registration.ts';

/** How long new callers may join a lock that is held. */
const HOLD_MS = 50;
/** Maximum pause before trying again to get a lock that another server holds; random, so that servers alternate. */
const WAIT_MS = 15;
/** Pause after a long turn, so that other servers get the lock first. */
const YIELD_MS = 20;
const CALL_MS = 2500;
/** A caller without a deadline waits this long. */
const PATIENCE_MS = 30_000;

interface Caller {
  readonly enter: (lock: Lock) => void;
  readonly fail: (error: Error) => void;
}

/** What one server knows of one lock. */
interface State {
  readonly name: string;
  readonly key: Buffer;
  /** The revision at which the lock was taken; 0 while it is not held. */
  revision: number;
  callers: number;
  sinceMs: number;
  waiting: Set<Caller>;
  /** Whether the lock is being taken or given up. */
  moving: boolean;
}

export interface ServerLocksOptions {
  readonly members: Members;
  readonly keyspace: Keyspace;
  readonly registration: Registration;
  readonly now: () => number;
}

export class ServerLocks implements Locks {
  readonly #options: ServerLocksOptions;
  readonly #states = new Map<string, State>();
  #closed = false;

  constructor(options: ServerLocksOptions) {
    this.#options = options;
  }

  enter(name: string, deadlineMs?: number): Promise<Lock> {
    if (this.#closed) return Promise.reject(storeClosed());
    const state = this.#state(name);
    if (state.revision > 0 && !state.moving && performance.now() - state.sinceMs < HOLD_MS)
      return Promise.resolve(this.#let(state));
    return new Promise((resolve, reject) => {
      const patienceMs = deadlineMs === undefined ? PATIENCE_MS : deadlineMs - this.#options.now();
      const timer = setTimeout(() => caller.fail(new DeadlineError()), Math.max(0, patienceMs));
      const over = (): void => {
        clearTimeout(timer);
        state.waiting.delete(caller);
      };
      const caller: Caller = {
        enter: (lock) => {
          over();
          resolve(lock);
        },
        fail: (error) => {
          over();
          reject(error);
        },
      };
      state.waiting.add(caller);
      void this.#move(state);
    });
  }

  close(): void {
    this.#closed = true;
    for (const { waiting } of this.#states.values())
      for (const caller of [...waiting]) caller.fail(storeClosed());
  }

  #state(name: string): State {
    let state = this.#states.get(name);
    if (!state) {
      const key = this.#options.keyspace.lock(name);
      state = { name, key, revision: 0, callers: 0, sinceMs: 0, waiting: new Set(), moving: false };
      this.#states.set(name, state);
    }
    return state;
  }

  #let(state: State): Lock {
    state.callers++;
    let left = false;
    return {
      name: state.name,
      revision: state.revision,
      share: () => this.#let(state),
      leave: () => {
        if (left) return;
        left = true;
        state.callers--;
        void this.#move(state);
      },
    };
  }

  /** Gives the lock up when no caller is inside, and takes it when callers wait. */
  async #move(state: State): Promise<void> {
    if (state.moving || state.callers > 0) return;
    state.moving = true;
    try {
      if (state.revision > 0) {
        const longMs = performance.now() - state.sinceMs - HOLD_MS;
        await this.#giveUp(state);
        state.revision = 0;
        if (longMs > 0 && state.waiting.size > 0) await pause(YIELD_MS);
      }
      if (state.waiting.size > 0 && !this.#closed) {
        state.revision = await this.#take(state);
        state.sinceMs = performance.now();
      }
    } catch (error) {
      for (const caller of [...state.waiting]) caller.fail(error as Error);
    }
    state.moving = false;
    if (state.revision > 0) {
      for (const caller of [...state.waiting]) caller.enter(this.#let(state));
      // The callers may have stopped waiting.
      if (state.callers === 0) void this.#move(state);
    } else if (state.waiting.size > 0) void this.#move(state);
    else this.#states.delete(state.name);
  }

  /** Resolves with the revision at which the lock was taken. Rejects only when trying again does not help. */
  async #take({ key }: State): Promise<number> {
    const { registration } = this.#options;
    const id = Buffer.from(`${registration.key.toString('latin1')} ${randomInt(2 ** 47)}`);
    for (;;) {
      if (this.#closed) throw storeClosed();
      try {
        const epoch = await registration.epoch();
        const lease = registration.lease;
        const compare = [
          { key, revision: 0 },
          { key: registration.key, revision: epoch },
        ];
        const answer = await this.#send({
          compare,
          puts: [{ key, value: id, lease }],
          otherwise: [key, registration.key],
        });
        if (answer.succeeded) return answer.revision;
        const [holder, server] = answer.read;
        // An earlier attempt, whose answer was lost, has taken the lock.
        if (holder?.value.equals(id)) return holder.modRevision;
        if (server?.modRevision !== epoch) registration.adopt(server?.modRevision ?? 0, answer.revision);
        if (holder) await pause(randomInt(1, WAIT_MS));
      } catch (error) {
        if (!(error instanceof CallError) ? !isTemporary(error) : isRefused(error)) throw asFailure(error);
        await pause(WAIT_MS);
        // Begin a new epoch: an attempt without an answer can no longer succeed afterwards.
        await registration.fence().catch(() => undefined);
      }
    }
  }

  /** Resolves when the lock is certainly not held here any more. */
  async #giveUp({ key, revision }: State): Promise<void> {
    for (;;)
      try {
        await this.#send({ compare: [{ key, revision }], deletes: [key], otherwise: [] });
        return;
      } catch (error) {
        // A closed store ends its lease, and with it the lock. After a permanent error, too, the lock is left to the lease.
        if (this.#closed || (error instanceof CallError && isRefused(error))) return;
        await pause(WAIT_MS);
      }
  }

  async #send(request: Parameters<typeof encodeTxn>[0]): Promise<TxnAnswer> {
    return decodeTxn(await this.#options.members.once(TXN, encodeTxn(request), CALL_MS));
  }
}

/** Whether etcd refuses for good. An expired lease does not count: the next epoch has a new one. */
const isRefused = (error: CallError): boolean =>
  isNotDone(error) && !isTemporary(error) && error.code !== GrpcCode.notFound;

const asFailure = (error: unknown): Error =>
  error instanceof CallError ? asUnavailable(error) : (error as StoreUnavailableError);
