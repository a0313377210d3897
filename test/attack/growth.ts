/**
 * Growth: what a request costs the server at two lengths of a list that the client chooses. What grows with the length
 * may cost four times as much at four times the length; what grows with its square would cost sixteen times as much.
 *
 * The cost is the time that the server's main thread was on a processor, as Linux counts it in nanoseconds, so other
 * work on the machine does not count. Two lengths are measured in turn, and their least costs are compared: collecting
 * garbage or compiling code makes a request dearer, never cheaper. The greater length comes first, so that what has to be
 * compiled counts against it; when it is too great with that, both are measured again.
 *
 * Before a release the lengths are as great as requests may be. Otherwise an eighth is tried first: a part that grows with
 * the square is an eighth as great there, beside the part that grows with the length, so less growth counts as a
 * suspicion, and what is suspected is measured at full length.
 */
import { readFileSync } from 'node:fs';
import { isRelease } from '../support/tier.ts';
import type { ListInput, Sent } from './inputs/shapes.ts';

/** What is measured, and what counts as too great. */
interface Scale {
  /** Of the greatest length that a request may have. */
  readonly part: number;
  /** At four times the length, a request may cost this many times as much. */
  readonly growthMax: number;
  /** Below this, fixed costs and the clock hide growth, and nobody is hurt: milliseconds at the greater length. */
  readonly costMinMs: number;
  /** Measurements of each length, and how many are made before one counts as a failure. */
  readonly rounds: number;
  readonly roundsMax: number;
}

const full: Scale = { part: 1, growthMax: 6, costMinMs: 40, rounds: isRelease ? 3 : 1, roundsMax: 9 };
/** A cost that is six times as great at full length is 4.3 times as great here. */
const eighth: Scale = { part: 1 / 8, growthMax: 4.3, costMinMs: 5, rounds: 1, roundsMax: 6 };

export interface Growth {
  readonly name: string;
  readonly n: number;
  /** Milliseconds at n and at 4 n. */
  readonly least: readonly [number, number];
  readonly codes: readonly number[];
  readonly ratio: number;
  readonly isTooGreat: boolean;
}

export type Send = (request: Sent) => Promise<{ readonly status: number }>;

/** How the work of controllers and nodes is waited for that follows an answer: until a thread has been idle this long. */
const idleMs = 300;
const lookMs = 50;
/** Milliseconds on a processor between two looks: heartbeats of nodes and the like are no work. */
const idleUseMs = 8;
const idleWaitMaxMs = 30_000;

/** Resolves when a server has nothing to do any more. */
export async function idle(pid: number): Promise<void> {
  const endsMs = performance.now() + idleWaitMaxMs;
  for (let idleForMs = 0, before = cpuMs(pid); idleForMs < idleMs && performance.now() < endsMs; ) {
    await new Promise((resolve) => setTimeout(resolve, lookMs));
    const now = cpuMs(pid);
    idleForMs = now - before < idleUseMs ? idleForMs + lookMs : 0;
    before = now;
  }
}

/** Milliseconds that the main thread of a process has been on a processor. */
const cpuMs = (pid: number): number =>
  Number(readFileSync(`/proc/${pid}/schedstat`, 'utf8').split(' ')[0]) / 1e6;

/**
 * Measures one input, and again before it is found too great.
 *
 * @param isLong measures at full length at once
 * @param settle waits for the work that follows an answer, which then counts, too
 */
export async function growthOf(
  input: ListInput,
  pid: number,
  send: Send,
  isLong: boolean,
  settle: () => Promise<void> = async () => undefined,
): Promise<Growth> {
  const first = isLong ? undefined : await growthAt(eighth, input, pid, send, settle);
  return first && !first.isTooGreat ? first : growthAt(full, input, pid, send, settle);
}

async function growthAt(
  scale: Scale,
  input: ListInput,
  pid: number,
  send: Send,
  settle: () => Promise<void>,
): Promise<Growth> {
  const { part, growthMax, costMinMs, rounds, roundsMax } = scale;
  const n = Math.ceil(input.n * part);
  const codes = new Set<number>();
  const least: [number, number] = [Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY];
  const measure = async (at: 0 | 1, round: number): Promise<void> => {
    const request = input.make(at === 0 ? n : n * 4, `${input.name}-${n}-${round}-${at}`);
    if (request.before) await send(request.before);
    await settle();
    const before = cpuMs(pid);
    const { status } = await send(request);
    await settle();
    const cost = cpuMs(pid) - before;
    least[at] = Math.min(least[at], cost);
    codes.add(status);
    if (request.after) await send(request.after);
  };
  const isGreat = (): boolean => least[1] > costMinMs && least[1] / least[0] > growthMax;
  for (let round = 0; round < rounds || (round < roundsMax && isGreat()); round++) {
    await measure(1, round);
    await measure(0, round);
    // What costs so little at first costs no more once code is compiled.
    if (least[1] <= costMinMs) break;
  }
  return {
    name: input.name,
    n,
    least,
    codes: [...codes],
    ratio: least[1] / least[0],
    isTooGreat: isGreat(),
  };
}
