/** etcd's command line: one or two dashes, and every flag also as a variable of the environment. */
import file from './etcd-flags.json' with { type: 'json' };
import { type Flag, FlagError, type FlagValues, flagMap, textOf, truthOf } from './flag.ts';

const etcdFlags: readonly Flag[] = file.flags;
const known = flagMap(etcdFlags);

/** Throws a `FlagError` with the words of Go's flag package. */
export function readEtcdFlags(args: readonly string[], environment: NodeJS.ProcessEnv): FlagValues {
  const values = new Map<string, string[]>();
  for (let i = 0; i < args.length; i++) {
    const arg = args[i]!;
    const [, name, given] = /^--?([^-=][^=]*)(?:=(.*))?$/s.exec(arg) ?? [];
    if (name === undefined) throw new FlagError(`'${arg}' is not a valid flag`);
    const flag = known.get(name === 'h' ? 'help' : name);
    if (!flag) throw new FlagError(`flag provided but not defined: -${name}`);
    if (given === undefined && flag.type !== 'bool' && i + 1 >= args.length)
      throw new FlagError(`flag needs an argument: -${name}`);
    const value = given ?? (flag.type === 'bool' ? 'true' : args[++i]!);
    if (flag.type === 'bool' && truthOf(value) === undefined)
      throw new FlagError(`invalid boolean value ${JSON.stringify(value)} for -${name}: parse error`);
    if (/^u?int$/.test(flag.type) && !/^-?\d{1,18}$/.test(value))
      throw new FlagError(`invalid value ${JSON.stringify(value)} for flag -${name}: parse error`);
    values.set(flag.name, [value]);
  }
  for (const { name } of etcdFlags) {
    const value = environment[`ETCD_${name.toUpperCase().replaceAll('-', '_')}`];
    if (value && !values.has(name)) values.set(name, [value]);
  }
  return values;
}

export const etcdUsage = `Usage:

  etcd [flags]
    Keeps the data folder of the kube-apiserver beside it.

  etcd --version
    Prints the version.

  etcd -h | --help
    Prints the flags.
`;

export const etcdHelp = (): string =>
  ['Wherry in the place of etcd:', ...etcdFlags.map(line)].map((text) => `${text}\n`).join('');

const line = (flag: Flag): string => `  --${flag.name} '${flag.default}'\n    ${textOf(flag)}`;
