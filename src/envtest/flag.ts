/** Flags of the programs that Wherry stands in for, as data. */

export interface Flag {
  readonly name: string;
  /** The type as kube-apiserver's help names it: `string`, `bool`, `int`, `duration`, `strings`… */
  readonly type: string;
  readonly default: string;
  /** The section of the help it stands in. */
  readonly section?: string;
  /** `honour`: it does something here. `accept`: known, but without meaning here. `refuse`: an error. */
  readonly use: 'honour' | 'accept' | 'refuse';
  /** What the help says. Default: that it has no meaning here. */
  readonly text?: string;
  /** Whether all given values count; otherwise only the last does. */
  readonly repeatable?: boolean;
  /** Whether the help leaves it out. */
  readonly hidden?: boolean;
}

/** The given values of each flag, in the order in which they were given. */
export type FlagValues = ReadonlyMap<string, readonly string[]>;

/** A command line that is refused; the message is the program's own. */
export class FlagError extends Error {}

export const textOf = ({ text = 'Accepted; it has no meaning here.' }: Flag): string => text;

export const flagMap = (flags: readonly Flag[]): ReadonlyMap<string, Flag> =>
  new Map(flags.map((flag) => [flag.name, flag]));

/** The last value of a flag; undefined when it was not given. */
export const lastOf = (values: FlagValues, name: string): string | undefined => values.get(name)?.at(-1);

/** All values of a list flag, which are separated by commas too. */
export const listOf = (values: FlagValues, name: string): string[] =>
  (values.get(name) ?? []).flatMap((value) => value.split(',')).filter(Boolean);

const truths = new Set(['1', 't', 'T', 'TRUE', 'true', 'True']);
const untruths = new Set(['0', 'f', 'F', 'FALSE', 'false', 'False']);

/** How Go reads a boolean; undefined for any other text. */
export const truthOf = (text: string): boolean | undefined =>
  truths.has(text) ? true : untruths.has(text) ? false : undefined;

/** Whether the last value of a boolean flag is true. */
export const isTrue = (values: FlagValues, name: string, unset = false): boolean =>
  truthOf(lastOf(values, name) ?? '') ?? unset;
