/**
 * Growth: what a request costs the server at two lengths of a list that the client chooses. What grows with the length
 * may cost four times as much at four times the length; what grows with its square would cost sixteen times as much.
 *
 * The cost is the time that the server's main thread was on a processor, as Linux counts it in nanoseconds, so other
 * work on the machine does not count. Two lengths are measured in turn, after a round to warm up, and their least costs
 * are compared: collecting garbage or compiling code makes a request dearer, never cheaper.
 */
import { readFileSync } from 'node:fs';
import { isRelease } from '../support/tier.ts';
import type { ListInput, Sent } from './inputs/shapes.ts';

/** At four times the length, a request may cost this many times as much. */
const growthMax = 6;
/** Below this, fixed costs and the clock hide growth, and nobody is hurt: milliseconds at the greater length. */
const costMinMs = 40;
/** Measurements of each length after the first, which warms up; more are made before one counts as a failure. */
const rounds = isRelease ? 2 : 1;
const roundsMore = 8;

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

/** Milliseconds that the main thread of a process has been on a processor. */
const cpuMs = (pid: number): number =>
  Number(readFileSync(`/proc/${pid}/schedstat`, 'utf8').split(' ')[0]) / 1e6;

/** Measures one input, and again before it is found too great. */
export async function growthOf(input: ListInput, pid: number, send: Send): Promise<Growth> {
  const codes = new Set<number>();
  const least: [number, number] = [Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY];
  const measure = async (at: 0 | 1, round: number): Promise<void> => {
    const request = input.make(at === 0 ? input.n : input.n * 4, `${input.name}-${round}-${at}`);
    if (request.before) await send(request.before);
    const before = cpuMs(pid);
    const { status } = await send(request);
    const cost = cpuMs(pid) - before;
    if (round > 0 || cost <= costMinMs) least[at] = Math.min(least[at], cost);
    codes.add(status);
    if (request.after) await send(request.after);
  };
  const isGreat = (): boolean => least[1] > costMinMs && least[1] / least[0] > growthMax;
  for (let round = 0; round <= rounds || (round <= roundsMore && isGreat()); round++) {
    await measure(0, round);
    await measure(1, round);
    // What costs so little at first costs no more once code is compiled.
    if (least[1] <= costMinMs) break;
  }
  return {
    name: input.name,
    n: input.n,
    least,
    codes: [...codes],
    ratio: least[1] / least[0],
    isTooGreat: isGreat(),
  };
}
