/**
 * The guard of a node's network: a small shell at the other end of a pipe. An agent that ends without having removed
 * its links and namespaces, for whatever reason, is followed by its guard, which does that.
 */
import type { ChildProcess } from 'node:child_process';
import { helperEnv, type Spawner } from '../runtime/spawner.ts';

/**
 * $1 is how names of links begin, $2 how paths of namespaces do, $3 the claim. A line says that all is removed; the
 * pipe ends without one when the agent is gone.
 */
const script = `
trap '' INT TERM HUP QUIT PIPE
read -r line && exit 0
for link in "/sys/class/net/$1"*; do
  [ -e "$link" ] && ip link del "\${link##*/}"
done
for space in "$2"*; do
  [ -e "$space" ] && ip netns del "\${space##*/}"
done
rm -f "$3" "$3.new"
`;

export interface Guarded {
  readonly linkPrefix: string;
  readonly namespacePrefix: string;
  readonly claimFile: string;
}

export class NetworkGuard {
  readonly #child: ChildProcess;
  readonly #ended: Promise<void>;

  constructor(spawner: Spawner, { linkPrefix, namespacePrefix, claimFile }: Guarded) {
    const child = spawner.spawn(['/bin/sh', '-c', script, 'sh', linkPrefix, namespacePrefix, claimFile], {
      env: helperEnv,
      stdio: ['pipe', 'ignore', 'ignore'],
      cwd: '/',
      // A Ctrl-C at the agent's terminal is not for the guard.
      detached: true,
    });
    child.stdin!.on('error', () => undefined);
    this.#child = child;
    this.#ended = new Promise((resolve) => {
      child.once('error', () => resolve()).once('exit', () => resolve());
    });
  }

  get pid(): number | undefined {
    return this.#child.pid;
  }

  /** All is removed: there is nothing left to guard. */
  async dismiss(): Promise<void> {
    this.#child.stdin!.end('done\n');
    await this.#ended;
  }
}
