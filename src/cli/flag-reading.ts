/** Reads flags as their declarations say: which there are, which a command takes, and the options that they make. */
import { parseArgs } from 'node:util';
import {
  type Command,
  flagsOf,
  type Given,
  type Members,
  type Option,
  type OptionsOf,
  type Refuse,
} from '../cluster/options/option.ts';
import { nearestName } from '../cluster/shared/suggestion.ts';

type Form = NonNullable<Option<unknown>['form']>;

/** A flag may be declared several times, with other commands: for `parseArgs` it is the same. */
export class FlagTable {
  readonly #forms = new Map<string, Form[]>();

  /** @param advises whether a flag that there is not is answered with the one that may be meant */
  constructor(
    topics: readonly Members[],
    private readonly advises = true,
  ) {
    for (const form of topics.flatMap(flagsOf)) {
      const same = this.#forms.get(form.flag);
      if (same) same.push(form);
      else this.#forms.set(form.flag, [form]);
    }
  }

  /** Commands that take a flag. */
  takersOf(flag: string): readonly Command[] {
    return this.#forms.get(flag)?.flatMap((form) => form.for) ?? [];
  }

  /** What is given of each flag, and the words that are no flags. */
  parse(args: readonly string[], refuse: Refuse): { flags: Map<string, readonly string[]>; words: string[] } {
    const { values, positionals } = this.#parsed(args, refuse);
    const texts = Object.entries(values).map(([flag, value]): [string, string[]] => [
      flag,
      [value].flat().map(String),
    ]);
    return { flags: new Map(texts), words: positionals };
  }

  #parsed(args: readonly string[], refuse: Refuse) {
    try {
      return parseArgs({ args: this.#withTruths(args), allowPositionals: true, options: this.#parseForms() });
    } catch (error) {
      const { code, message } = error as NodeJS.ErrnoException;
      if (code === 'ERR_PARSE_ARGS_UNKNOWN_OPTION' && this.advises) return refuse(this.#unknown(message));
      // Only the first sentence; the rest of Node's message is advice over several lines.
      return refuse(`${message.split(/\.\s/)[0]!}; see wherry --help`);
    }
  }

  #parseForms(): Record<string, { type: 'string' | 'boolean'; multiple: boolean }> {
    return Object.fromEntries(
      [...this.#forms].map(([flag, [first]]) => {
        const { form } = first!.value;
        const multiple = form === 'list' || form === 'repeated';
        return [flag, { type: form === 'switch' ? 'boolean' : 'string', multiple }] as const;
      }),
    );
  }

  /** Flags for truths may be given without a value, as with kube-apiserver, or with one behind a space. */
  #withTruths(args: readonly string[]): string[] {
    const isTruth = (arg = ''): boolean =>
      arg.startsWith('--') && this.#forms.get(arg.slice(2))?.[0]?.value.form === 'truth';
    const isValue = (arg: string | undefined): boolean => arg === 'true' || arg === 'false';
    return args.flatMap((arg, i) => {
      if (isTruth(arg)) return [`${arg}=${isValue(args[i + 1]) ? args[i + 1] : 'true'}`];
      return isValue(arg) && isTruth(args[i - 1]) ? [] : [arg];
    });
  }

  /** Node's message `Unknown option '--prot'` without its advice, which does not fit here. */
  #unknown(message: string): string {
    const option = /'(-[^']*)'/.exec(message)?.[1] ?? '';
    const meant = nearestName(option.replace(/^-+/, ''), this.#forms.keys());
    const advice = meant === undefined ? '' : `did you mean --${meant}? `;
    return `there is no option ${option}; ${advice}wherry --help lists all`;
  }
}

/** The flags that a command was given. */
export interface FlagLine {
  readonly command: Command;
  readonly flags: ReadonlyMap<string, readonly string[]>;
  readonly refuse: Refuse;
}

/** The options that the flags of a line make. Those that it does not give are absent. */
export const readOptions = <Declared>(declared: Declared, line: FlagLine): OptionsOf<Declared> =>
  readMembers(declared as Members, line) as OptionsOf<Declared>;

function readMembers(members: Members, line: FlagLine): Record<string, unknown> {
  const read = Object.entries(members).map(([name, option]) => [name, readOption(option, line)] as const);
  return Object.fromEntries(read.filter(([, value]) => value !== undefined));
}

function readOption({ form, group }: Option<unknown>, line: FlagLine): unknown {
  if (form) return takes(form, line) ? readForm(form, line) : undefined;
  if (!group) return undefined;
  if (!group.isGiven) {
    const options = readMembers(group.members, line);
    return Object.keys(options).length ? options : group.absent;
  }
  return group.isGiven(givenOf(group.members, line)) ? readMembers(group.members, line) : group.absent;
}

/** The options of serve are those of `wherry test`, too. */
const takes = ({ for: takers }: Form, { command }: FlagLine): boolean =>
  takers.includes(command) || (command === 'test' && takers.includes('serve'));

function readForm(form: Form, { flags, refuse }: FlagLine): unknown {
  const isPreset = form.preset === true || (form.preset !== undefined && flags.has(form.preset));
  const given = flags.get(form.flag) ?? (isPreset ? [form.default!] : undefined);
  return given && form.value.read(given, `--${form.flag}`, refuse);
}

function givenOf(members: Members, line: FlagLine): Given {
  const own = flagsOf(members).map(({ flag }) => flag);
  return {
    command: line.command,
    flags: own.filter((flag) => line.flags.has(flag)),
    last: (flag) => line.flags.get(flag)?.at(-1),
    refuse: line.refuse,
  };
}
