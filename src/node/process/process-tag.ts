/**
 * Tags of processes: a number that every child inherits and that survives a new session, environment or
 * parent. It is stored in the resource limit on file locks (RLIMIT_LOCKS), which Linux still inherits and
 * shows for every process but has not enforced since 2.4.
 *
 * The first digits identify the agent, the others one run of a container.
 */

import { createHash, randomInt } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { platform } from '../../platform.ts';
import type { Spawner } from './spawner.ts';

const agentDigits = 11;
const runDigits = 7;

export class ProcessTags {
  readonly #prlimit: string | undefined;

  constructor(
    spawner: Spawner,
    /** The prefix of all tags of this agent. */
    readonly agent: string,
  ) {
    this.#prlimit = canTag() ? spawner.tool('prlimit') : undefined;
  }

  /** A tag for one run of a container; undefined where processes cannot be tagged. */
  next(): string | undefined {
    return this.#prlimit && `${this.agent}${randomInt(10 ** runDigits)}`.padEnd(agentDigits + runDigits, '0');
  }

  /** The command line that runs a command with a tag. */
  wrap(tag: string | undefined, command: readonly string[]): string[] {
    return tag && this.#prlimit ? [this.#prlimit, `--locks=${tag}:${tag}`, ...command] : [...command];
  }
}

export function agentTag(identity: string): string {
  const lowest = 10 ** (agentDigits - 1);
  const hash = createHash('sha256').update(identity).digest().readUIntBE(0, 6);
  return String(lowest + (hash % (9 * lowest)));
}

/** The tag of a process; undefined when it has none, or has ended. */
export function tagOf(pid: number | 'self'): string | undefined {
  try {
    return /^Max file locks +\S+ +(\d+) /m.exec(readFileSync(`/proc/${pid}/limits`, 'latin1'))?.[1];
  } catch {
    return undefined;
  }
}

/** Only root can raise a limit again, so an agent inside another agent's container keeps the tag it has. */
const canTag = (): boolean => platform.isLinuxRoot || (platform.isLinux && tagOf('self') === undefined);
