/** Parses flags by their declarations: which exist, which a command takes, and the options they set. */
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

/** One option on a command line, as `parseArgs` reports it. */
interface Token {
  readonly name: string;
  readonly rawName: string;
  readonly value?: string | undefined;
  readonly inlineValue?: boolean | undefined;
}

/** A flag may be declared several times, with other commands: for `parseArgs` it is the same. */
export class FlagTable {
  readonly #forms = new Map<string, Form[]>();

  constructor(topics: readonly Members[]) {
    for (const form of topics.flatMap(flagsOf)) {
      const same = this.#forms.get(form.flag);
      if (same) same.push(form);
      else this.#forms.set(form.flag, [form]);
    }
  }

  /**
   * Returns the values of each flag, and the words that are not flags.
   * @param command whose help an error names. Default: the first word
   */
  parse(
    args: readonly string[],
    refuse: Refuse,
    command?: string,
  ): { flags: Map<string, readonly string[]>; words: string[] } {
    const given = this.#withTruths(args);
    // Not strict, because errors are reported in our own words.
    const { tokens } = parseArgs({
      args: given,
      allowPositionals: true,
      strict: false,
      tokens: true,
      options: this.#parseForms(),
    });
    const words = tokens.flatMap((token) => (token.kind === 'positional' ? [token.value] : []));
    const flags = new Map<string, readonly string[]>();
    for (const token of tokens) {
      if (token.kind !== 'option') continue;
      const form = this.#formOf(token.name, command ?? words[0]);
      if (!form) return refuse(this.#unknown(given[token.index]!, token.rawName, command ?? words[0]));
      const value = givenValue(token, form, refuse);
      flags.set(token.name, isMultiple(form) ? [...(flags.get(token.name) ?? []), value] : [value]);
    }
    return { flags, words };
  }

  #formOf(flag: string, command: string | undefined): Form | undefined {
    const forms = this.#forms.get(flag);
    return forms?.find((form) => (form.for as readonly string[]).includes(command ?? '')) ?? forms?.[0];
  }

  #parseForms(): NonNullable<Parameters<typeof parseArgs>[0]>['options'] {
    return Object.fromEntries(
      [...this.#forms].map(([flag, forms]) => {
        const type = forms[0]!.value.form === 'switch' ? ('boolean' as const) : ('string' as const);
        const short = forms.find((one) => one.short !== undefined)?.short;
        return [flag, { type, ...(short === undefined ? {} : { short }) }] as const;
      }),
    );
  }

  /** Boolean flags may be given without a value, as with kube-apiserver, or with one after a space. */
  #withTruths(args: readonly string[]): string[] {
    const isTruth = (arg = ''): boolean =>
      arg.startsWith('--') && this.#forms.get(arg.slice(2))?.[0]?.value.form === 'truth';
    const isValue = (arg: string | undefined): boolean => arg === 'true' || arg === 'false';
    return args.flatMap((arg, i) => {
      if (isTruth(arg)) return [`${arg}=${isValue(args[i + 1]) ? args[i + 1] : 'true'}`];
      return isValue(arg) && isTruth(args[i - 1]) ? [] : [arg];
    });
  }

  /** @param arg the whole argument: several letters after one dash may be meant as a flag */
  #unknown(arg: string, rawName: string, command: string | undefined): string {
    const typed = (arg.startsWith('--') ? rawName : arg).replace(/^-+/, '').replace(/=.*$/s, '');
    const own = [...this.#forms.keys()].filter((flag) =>
      this.#forms.get(flag)!.some((form) => (form.for as readonly string[]).includes(command ?? '')),
    );
    // Do not suggest anything for a single letter, which is similar to every short name.
    const meant =
      typed.length > 1 ? (nearestName(typed, own) ?? nearestName(typed, this.#forms.keys())) : undefined;
    const advice = meant === undefined ? '' : `did you mean --${meant}? `;
    const shown = arg.startsWith('--') || typed.length < 2 ? rawName : `-${typed}`;
    return `there is no option ${shown}; ${advice}wherry ${own.length ? `${command} ` : ''}--help-all lists all`;
  }
}

const isMultiple = ({ value: { form } }: Form): boolean => form === 'list' || form === 'repeated';

/** The value of an option on the command line; `true` for one that takes none. */
function givenValue(
  { rawName, value, inlineValue }: Token,
  { value: { form, shown } }: Form,
  refuse: Refuse,
): string {
  if (form === 'switch')
    return value === undefined ? 'true' : refuse(`${rawName} takes no value, not ${JSON.stringify(value)}`);
  if (value === undefined) return refuse(`${rawName} needs a value: ${rawName} ${shown}`);
  // A value that looks like an option is refused: a list such as -job is written with an equals sign.
  if (!inlineValue && /^-./s.test(value))
    return refuse(
      `${rawName} needs a value: ${rawName} ${shown}; one that begins with a dash is written ${rawName}=${value}`,
    );
  return value;
}

/** The flags that a command was given. */
export interface FlagLine {
  readonly command: Command;
  readonly flags: ReadonlyMap<string, readonly string[]>;
  /** Options that a file gives in a form of its own, by their key. */
  readonly parts?: ReadonlyMap<string, unknown>;
  readonly refuse: Refuse;
}

/** The options that the flags of a line set; others are absent. */
export const readOptions = <Declared>(declared: Declared, line: FlagLine): OptionsOf<Declared> =>
  readMembers(declared as Members, line) as OptionsOf<Declared>;

function readMembers(members: Members, line: FlagLine): Record<string, unknown> {
  const read = Object.entries(members).map(([name, option]) => [name, readOption(option, line)] as const);
  return Object.fromEntries(read.filter(([, value]) => value !== undefined));
}

function readOption({ form, group, inFile }: Option<unknown>, line: FlagLine): unknown {
  if (inFile && line.parts?.has(inFile.key)) return line.parts.get(inFile.key);
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
