/**
 * How an option is declared. A declaration is the only place that names an option: the types of `start()`, its check, the
 * command line, its help, the documents and the flags that envtest passes on are made from it.
 *
 * Declarations are members of objects, one object per topic: the member's name is the option's name in the library, the
 * comment before it is the text of the library's reference, and the order of members is their order in the help.
 */

import type { Shape } from './shape.ts';

export const commands = [
  'up',
  'list',
  'status',
  'stop',
  'restart',
  'logs',
  'delete',
  'snapshot',
  'serve',
  'node',
  'backup',
  'restore',
  'problems',
  'history',
  'timeline',
  'at',
  'token',
  'kubeconfig',
  'test',
  'open',
  'import',
  'record',
  'cleanup',
  'envtest',
  'config',
  'doctor',
  'completion',
  'help',
  'version',
] as const;

export type Command = (typeof commands)[number];

/** Throws an error for the user of the command. */
export type Refuse = (message: string) => never;

/** Kinds of names that there is a list of, for completion: `src/cluster/known-names.ts` has them. */
export type NameKind = 'controllers' | 'clusters' | 'snapshots';

/** How the values of a flag are written, and what they mean to the library. */
export interface Value<T> {
  /** How the help names the value: `FILE`. */
  readonly shown: string;
  /**
   * `text`: the last one counts. `list`: may be given several times, with commas, or both. `repeated`: may be given several
   * times. `truth`: alone, with `true` or with `false`. `switch`: always alone.
   */
  readonly form: 'text' | 'list' | 'repeated' | 'truth' | 'switch';
  /**
   * @param given at least one; exactly one where the form allows no more
   * @param flag with its dashes, for messages
   */
  read(given: readonly string[], flag: string, refuse: Refuse): T;
  /**
   * What stands between the items of a text that is a list, so that a file may write it as a list.
   */
  readonly joins?: string;
  /**
   * What a shell completes it with: words, or names of a kind that the machine knows. Default: files for `FILE`, folders
   * for `FOLDER`, else nothing.
   */
  readonly completes?: readonly string[] | NameKind;
  /** What is wrong with a value that a program hands in; undefined: nothing. Default: the types say enough. */
  problem?(name: string, value: unknown): string | undefined;
}

export interface Flag<T> {
  /** Without its dashes. */
  readonly flag: string;
  readonly value: Value<T>;
  /** A letter that stands for the flag behind a single dash; the same for all commands. */
  readonly short?: string;
  /**
   * Commands whose `--help` shows the flag: at most twelve flags for each command. `--help-all` shows all. Commands with
   * few flags show them all, and need no mark.
   */
  readonly needed?: readonly Command[];
  /** What the help says, with its line breaks. One that begins with a line break stands below the flag. */
  readonly text: string;
  /** How the help names the value. Default: as the form of the value does. */
  readonly shown?: string;
  /** What holds without the flag, as the flag would say it; the help shows it behind the text. */
  readonly default?: string;
  /** Whether the command hands its default to the library, which has another or none; or the flag with which it does. */
  readonly preset?: true | string;
  /** kube-apiserver has the flag, too, with the same values: the stand-in of envtest passes it on. */
  readonly isPassedOn?: true;
}

/** What a command line says of some options. */
export interface Given {
  readonly command: Command;
  /** Flags of the group that were given, in the order of their declarations. */
  readonly flags: readonly string[];
  /** The last value of any flag. */
  last(flag: string): string | undefined;
  readonly refuse: Refuse;
}

/** Options that are options of one. */
export interface Group<T> {
  readonly members: Members;
  /** Whether the names of its members are checked by who reads them. */
  readonly isCheckedByReader?: true;
  /** Whether the flags given make an object, after a check of what they need. Default: when there are any. */
  readonly isGiven?: (given: Given) => boolean;
  /** In the place of an object that the flags do not make. Default: undefined. */
  readonly absent?: T;
}

/** How `wherry.yaml` writes an option that is more than its flag can say. */
export interface FileForm<T> {
  /** Its name in the file: that of its flag, if it has one. */
  readonly key: string;
  readonly shape: Shape<T>;
  /** What the schema says of it. Default: the text of its flag. */
  readonly says?: string;
}

/**
 * With neither a flag nor members nor a form of the file, it is for programs only; with a flag and members, the flag says
 * what the members are.
 */
export interface Option<T> {
  readonly form?: (Flag<T> & { readonly for: readonly Command[] }) | undefined;
  readonly group?: Group<T>;
  readonly inFile?: FileForm<T>;
}

export type Members = Readonly<Record<string, Option<unknown>>>;

/** Options of the object type of `T`, all of which must be declared. */
type MembersOf<T> = { readonly [name in keyof Required<T>]: Option<T[name]> };
type ObjectOf<T> = T extends readonly (infer Item)[] ? Item : Extract<T, object>;

/** The type of options that are declared. @typeParam Needed those that must be given */
export type OptionsOf<Declared, Needed extends keyof Declared = never> = {
  readonly [name in keyof Declared]?: TypeOf<Declared[name]>;
} & { readonly [name in Needed]: TypeOf<Declared[name]> };

type TypeOf<Declared> = Declared extends Option<infer T> ? T : never;

/** Declares options with flags of these commands. */
export const optionFor =
  (...takers: readonly Command[]) =>
  <T>(flag: Flag<T>): Option<T> => ({ form: { ...flag, for: takers } });

/** Declares an option that programs alone can give. */
export const handedIn = <T>(): Option<T> => ({});

/** Declares an option that is an object of options, or maybe one. */
export const group = <T>(
  members: MembersOf<ObjectOf<T>>,
  rules: Omit<Group<T>, 'members'> = {},
): Option<T> => ({ group: { members: members as unknown as Members, ...rules } });

/** Declares the members of an option whose flag makes an object. */
export const withMembers = <T>({ form }: Option<T>, members: MembersOf<ObjectOf<T>>): Option<T> => ({
  ...group<T>(members),
  form,
});

/** Declares an option that files alone write, and programs hand in. */
export const onlyInFile = <T>(key: string, shape: Shape<T>, says: string): Option<T> => ({
  inFile: { key, shape, says },
});

/** Declares how a file writes an option that has a flag, where it is more than text. */
export const alsoInFile = <T, S extends T>({ form }: Option<T>, shape: Shape<S>): Option<T> => ({
  form,
  inFile: { key: form!.flag, shape },
});

/** The default of a declared option. */
export function defaultOf<T>({ form }: Option<T>): T {
  const { value, default: text, flag } = form!;
  return value.read([text!], flag, (message) => {
    throw new Error(message);
  });
}

/** Every declaration that a file writes in a form of its own, in order, those of groups included. */
export function fileFormsOf(members: Members): (FileForm<unknown> & { readonly text?: string })[] {
  return Object.values(members).flatMap(({ form, group, inFile }) =>
    inFile ? [{ ...inFile, ...(form && { text: form.text }) }] : group ? fileFormsOf(group.members) : [],
  );
}

/** Every declaration with a flag, in order, those of groups included. */
export function flagsOf(members: Members): NonNullable<Option<unknown>['form']>[] {
  return Object.values(members).flatMap(({ form, group }) =>
    form ? [form] : group ? flagsOf(group.members) : [],
  );
}
