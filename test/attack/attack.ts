/**
 * Attacks on a running server. Each is a file in `attacks/` that exports one `attack`; a new file takes part by itself.
 * An attack tries something, and says what got in: what the server should have refused, or what others should not have
 * felt. Meanwhile a neighbour works (`neighbour.ts`).
 */
import type { AttackedServer } from './attacked-server.ts';

export interface Outcome {
  /** What the attack achieved, a sentence each; empty: nothing. */
  readonly gotIn: readonly string[];
  /** What was tried and answered, in a line. */
  readonly says: string;
}

/** What an attack starts before its server. */
interface Prepared {
  readonly options: readonly string[];
  close(): Promise<unknown>;
}

export interface Attack {
  readonly name: string;
  /** Left out of the short form: a test of the parts proves the same. */
  readonly longOnly?: boolean;
  /**
   * Further options of the server, such as small limits; `up` as the first gives it a node. An attack with options,
   * flags or preparations gets a server of its own, and is left out at one that runs already.
   */
  readonly options?: readonly string[];
  /** For Node, such as a small heap. */
  readonly flags?: readonly string[];
  /** Starts what the server has to know at its start, such as an issuer of tokens. */
  prepare?(): Promise<Prepared>;
  /**
   * Must leave nothing behind that the next attack could feel.
   * @param isShort whether it is part of a test run, and should take few seconds
   */
  run(server: AttackedServer, isShort: boolean): Promise<Outcome>;
}

/**
 * Limits a quarter as high as usual, and fewer connections for streams. The short form attacks a server with these: a
 * quarter of the requests fills it, too.
 */
export const smallLimits = [
  ...['--max-requests-inflight', '100', '--max-mutating-requests-inflight', '50'],
  ...['--max-connections', '60', '--max-connections-per-client', '30'],
] as const;

export const needsOwnServer = ({ options, flags, prepare }: Attack): boolean =>
  options !== undefined || flags !== undefined || prepare !== undefined;

/** How often each code was answered: `200×3 429×1`. */
export function codesText(codes: Iterable<number>): string {
  const counts = new Map<number, number>();
  for (const code of codes) counts.set(code, (counts.get(code) ?? 0) + 1);
  return [...counts]
    .sort(([a], [b]) => a - b)
    .map(([code, count]) => `${code}×${count}`)
    .join(' ');
}
