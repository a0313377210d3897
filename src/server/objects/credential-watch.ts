/**
 * Ends long-running requests whose credential is no longer valid. A watch lasts for minutes or hours; meanwhile its
 * token may expire, its account be deleted, or the authority of its certificate be removed. So credentials of open
 * requests are checked again now and then, once for all requests with the same credential.
 */
import type { User } from '../../api/values/user.ts';
import type { RequestContext } from '../http/context.ts';

/** Time between two rounds: an invalid credential is noticed in less than a minute. */
const roundMs = 20_000;
/** Maximum number of credentials checked in one turn of the event loop. */
const turnMax = 100;

interface Watched {
  readonly end: () => void;
  readonly identifyAgain: () => User | Promise<User>;
}

export class CredentialWatch {
  /** Open requests by user: requests with the same credential share one user object. */
  readonly #byUser = new Map<User, Set<Watched>>();
  #timer: NodeJS.Timeout | undefined;

  constructor(private readonly everyMs = roundMs) {}

  /** Calls back when the credential of a request is no longer valid. Returns a function that stops this. */
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

  /** Checks all credentials once. */
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

/** Whether a credential still belongs to the user. */
export async function isStill(again: () => User | Promise<User>, user: User): Promise<boolean> {
  try {
    return (await again()).name === user.name;
  } catch {
    return false;
  }
}
