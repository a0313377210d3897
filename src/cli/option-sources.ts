/**
 * Where options come from beside the command line: `wherry.yaml`, and variables of the environment such as `WHERRY_PORT`.
 * The command line wins over the file, the file over the environment, and that over defaults.
 */
import {
  type ConfigFile,
  type ConfigForms,
  configForms,
  readConfigFile,
} from '../cluster/config/config-file.ts';
import { configFlags, everyFlags } from '../cluster/options/commands.ts';
import { type Command, flagsOf, type Option, type Refuse } from '../cluster/options/option.ts';
import { sections, takesFlag } from './flag-sections.ts';

type Form = NonNullable<Option<unknown>['form']>;
type Flags = ReadonlyMap<string, readonly string[]>;

/** What the machine says of options. */
export interface OptionSources {
  readonly environment: Readonly<Record<string, string | undefined>>;
}

/** Options of all sources, for one command. */
export interface SourcedOptions {
  readonly flags: Flags;
  /** Options that only a file can say, by their key. */
  readonly parts: ReadonlyMap<string, unknown>;
  /** The file in use. */
  readonly file?: string | undefined;
  /** Where the value of a flag comes from, when it is not from the command line. */
  readonly origins: ReadonlyMap<string, string>;
}

/** Commands for which the file of the current folder counts; others take one by `--config` alone. */
const fileCommands: ReadonlySet<Command> = new Set([
  'up',
  'serve',
  'config',
  'token',
  'kubeconfig',
  'cleanup',
  'doctor',
]);
/** The commands that run something: their options can be in the environment, for all commands that take them. */
const running: readonly Command[] = ['up', 'serve', 'node', 'test'];

/** Flags that the command line alone gives: the process in the background must not start another. */
const never: ReadonlySet<string> = new Set([
  'detach',
  'output',
  ...[...flagsOf(everyFlags), ...flagsOf(configFlags)].map(({ flag }) => flag),
]);

/** What a file may say. */
export const fileForms = (): ConfigForms =>
  configForms(
    sections.flatMap(({ topics }) => topics),
    never,
  );

const variableOf = (flag: string): string => `WHERRY_${flag.toUpperCase().replaceAll('-', '_')}`;

/** Flags that the environment may give. */
const environmentForms = (): readonly Form[] =>
  sections
    .flatMap(({ topics }) => topics.flatMap(flagsOf))
    .filter(({ flag, for: takers }) => !isAlwaysGiven(flag) && takers.some((one) => running.includes(one)));

/** `--help` and the like, which no variable asks for. */
const isAlwaysGiven = (flag: string): boolean => flag !== 'config' && never.has(flag);

export function sourcedOptions(
  command: Command,
  given: Flags,
  { environment }: OptionSources,
  refuse: Refuse,
): SourcedOptions {
  const variables = variablesOf(command, environment, refuse);
  const file = fileOf(command, given.get('config')?.at(-1) ?? variables.get('config')?.at(-1));
  const flags = new Map<string, readonly string[]>();
  const parts = new Map<string, unknown>();
  const origins = new Map<string, string>();
  for (const [flag, value] of variables) {
    flags.set(flag, value);
    origins.set(flag, variableOf(flag));
  }
  for (const [flag, value] of file?.flags ?? [])
    if (takesFlag(command, flag)) {
      flags.set(flag, value);
      origins.set(flag, file!.file);
    }
  for (const [key, part] of file?.parts ?? []) {
    if (given.has(key)) continue;
    parts.set(key, part);
    flags.delete(key);
    origins.set(key, file!.file);
  }
  for (const [flag, value] of given) {
    flags.set(flag, value);
    origins.delete(flag);
  }
  return { flags, parts, file: file?.file, origins };
}

function fileOf(command: Command, asked: string | undefined): ConfigFile | undefined {
  if (asked === 'off' || !takesFlag(command, 'config')) return undefined;
  if (asked === undefined && !fileCommands.has(command)) return undefined;
  return readConfigFile(asked, fileForms);
}

function variablesOf(command: Command, environment: OptionSources['environment'], refuse: Refuse): Flags {
  const found = new Map<string, readonly string[]>();
  // Most environments have no such variable: the declarations are not looked at then.
  if (!Object.keys(environment).some((name) => name.startsWith('WHERRY_'))) return found;
  for (const { flag, value } of environmentForms()) {
    const name = variableOf(flag);
    const text = environment[name];
    if (text === undefined || text === '' || !takesFlag(command, flag)) continue;
    const given = variableValues(text, value.form, name, refuse);
    if (!given) continue;
    value.read(given, name, refuse);
    found.set(flag, given);
  }
  return found;
}

/** The values of a flag; undefined for a switch that is off. Several values are on lines of their own. */
function variableValues(
  text: string,
  form: Form['value']['form'],
  name: string,
  refuse: Refuse,
): readonly string[] | undefined {
  if (form === 'repeated') return text.split('\n').filter(Boolean);
  if (form !== 'switch' && form !== 'truth') return [text];
  const truth = { 1: true, true: true, 0: false, false: false }[text];
  if (truth === undefined) return refuse(`${name} must be true or false, not ${JSON.stringify(text)}`);
  return form === 'switch' && !truth ? undefined : [String(truth)];
}

/** Variables that look like options, and are not: likely misspelt. */
export function unknownVariables(environment: OptionSources['environment']): readonly string[] {
  const known = new Set(environmentForms().map(({ flag }) => variableOf(flag)));
  return Object.keys(environment).filter((name) => name.startsWith('WHERRY_') && !known.has(name));
}
