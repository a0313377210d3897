/**
 * Watches whose credential ends. A watch lasts for minutes or hours; its token may expire meanwhile, its account be
 * deleted, or the authority of its certificate be taken away. So what lasts is asked now and then who its user is, once
 * for all that came with the same credential, and ends when nobody is.
 */
import type { User } from '../../api/values/user.ts';
import type { RequestContext } from '../http/context.ts';

/** Between two rounds: a credential that has ended is noticed in less than a minute. */
const roundMs = 20_000;
/** Credentials that are asked about in one turn of the event loop. */
const turnMax = 100;

interface Watched {
  readonly end: () => void;
  readonly identifyAgain: () => User | Promise<User>;
}

export class CredentialWatch {
  /** By the user: one credential gives the same object with every request. */
  readonly #byUser = new Map<User, Set<Watched>>();
  #timer: NodeJS.Timeout | undefined;

  constructor(private readonly everyMs = roundMs) {}

  /** Calls back when the credential of a request does not hold any more. Returns how to stop that. */
  watch(context: RequestContext, end: () => void): () => void {
    const { identifyAgain } = context;
    if (!identifyAgain) return () => undefined;
    const user = context.impersonator?.user ?? context.user;
    const watched: Watched = { end, identifyAgain };
    const known = this.#byUser.get(user);
    if (known) known.add(watched);
    else this.#byUser.set(user, new Set([watched]));
    this.#timer ??= setInterval(() => void this.check(), this.everyMs).unref();
    return () => this.#forget(user, watched);
  }

  /** One round. */
  async check(): Promise<void> {
    let asked = 0;
    for (const [user, all] of [...this.#byUser]) {
      const [first] = all;
      if (first && !(await isStill(first.identifyAgain, user))) for (const { end } of [...all]) end();
      if (++asked % turnMax === 0) await new Promise((resolve) => setImmediate(resolve));
    }
  }

  #forget(user: User, watched: Watched): void {
    const all = this.#byUser.get(user);
    all?.delete(watched);
    if (all?.size === 0) this.#byUser.delete(user);
    if (this.#byUser.size > 0) return;
    clearInterval(this.#timer);
    this.#timer = undefined;
  }
}

/** Whether a credential still is that of a user. */
export async function isStill(again: () => User | Promise<User>, user: User): Promise<boolean> {
  try {
    return (await again()).name === user.name;
  } catch {
    return false;
  }
}
