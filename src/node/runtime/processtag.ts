/**
 * Tags of processes: a number that a process hands on to all it starts, and that none of them loses by a session, an
 * environment or a parent of its own. It is the limit on file locks, which Linux still keeps and shows for every
 * process, and has not looked at since 2.4.
 *
 * The first digits stand for the agent, the others for one run of a container.
 */
import { createHash, randomInt } from 'node:crypto';
import { readFileSync } from 'node:fs';
import type { Spawner } from './spawner.ts';

const agentDigits = 11;
const runDigits = 7;

export class ProcessTags {
  readonly #prlimit: string | undefined;

  constructor(
    spawner: Spawner,
    /** How all tags of this agent begin. */
    readonly agent: string,
  ) {
    this.#prlimit = canTag() ? spawner.tool('prlimit') : undefined;
  }

  /** For one run of a container; undefined where processes cannot be tagged. */
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

/** The tag of a process; undefined when it has none, or is gone. */
export function tagOf(pid: number | 'self'): string | undefined {
  try {
    return /^Max file locks +\S+ +(\d+) /m.exec(readFileSync(`/proc/${pid}/limits`, 'latin1'))?.[1];
  } catch {
    return undefined;
  }
}

/** A limit can only be lowered, but by root. An agent that runs in a container of another one has its tag already. */
const canTag = (): boolean =>
  process.platform === 'linux' && (process.getuid?.() === 0 || tagOf('self') === undefined);
