/**
 * The guard of a node's network: a small shell script that reads from a pipe. When the agent ends without
 * having removed its links and namespaces, the pipe closes and the guard removes them.
 */
import type { ChildProcess } from 'node:child_process';
import { helperEnv, type Spawner } from '../process/spawner.ts';

/**
 * $1: prefix of link names, $2: prefix of namespace paths, $3: the claim file. A line on the pipe means that
 * the agent has removed everything itself; end of file without a line means that the agent died.
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
rm -f "$3"
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
      // Its own process group, so that a Ctrl-C in the agent's terminal does not end the guard.
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

  /** Ends the guard after everything was removed. */
  async dismiss(): Promise<void> {
    this.#child.stdin!.end('done\n');
    await this.#ended;
  }
}
