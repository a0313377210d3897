/**
 * kube-apiserver's command line: its flags, how they are parsed, and its error messages. Names may have `_` for `-`; a
 * boolean flag never takes the next argument as its value.
 */
import { isIP } from 'node:net';
import { parseDurationMs } from '../api/values/duration.ts';
import { flagsOf } from '../cluster/options/option.ts';
import { startOptions } from '../cluster/options/start-options.ts';
import file from './apiserver-flags.json' with { type: 'json' };
import { type Flag, FlagError, type FlagValues, flagMap, truthOf } from './flag.ts';

export const apiServerSections: readonly string[] = [...file.sections, 'Wherry'];

/** Flags that kube-apiserver does not have. */
const own: readonly Flag[] = [
  {
    name: 'wherry-controllers',
    type: 'strings',
    default: 'cleanup',
    section: 'Wherry',
    use: 'honour',
    repeatable: true,
    text: 'Which controllers run: cleanup for those that finish deletions, none, * for all, names, or -name.',
  },
];

/** A map flag whose keys may be given without a value. */
const bareNames = 'runtime-config';

/**
 * Flags that are passed on have an effect here. Their help text is that of their declaration, unless they have their
 * own.
 */
const declared = new Map(
  flagsOf(startOptions)
    .filter(({ isPassedOn }) => isPassedOn)
    .map(({ flag, text }) => [flag, text]),
);

function honoured(flag: Flag): Flag {
  const text = declared.get(flag.name);
  if (text === undefined || flag.use === 'honour') return flag;
  return { ...flag, use: 'honour', text: sentence(text) };
}

const sentence = (text: string): string => {
  const words = text.trim().replaceAll('\n', ' ');
  return `${words[0]!.toUpperCase()}${words.slice(1)}.`;
};

export const apiServerFlags: readonly Flag[] = [...file.flags.map(honoured), ...own];
const known = flagMap(apiServerFlags);

/** Parses arguments. Throws a `FlagError`. */
export function readApiServerFlags(args: readonly string[]): FlagValues {
  const values = new Map<string, string[]>();
  const rest: string[] = [];
  const take = (flag: Flag, shown: string, value: string): void => {
    const problem = flag.name === bareNames ? undefined : problemOf(flag.type, value);
    if (problem)
      throw new FlagError(`invalid argument ${JSON.stringify(value)} for ${shown} flag: ${problem}`);
    const list = values.get(flag.name);
    if (list) list.push(value);
    else values.set(flag.name, [value]);
  };
  for (let i = 0; i < args.length; i++) {
    const arg = args[i]!;
    if (arg === '--') {
      rest.push(...args.slice(i + 1));
      break;
    }
    if (!arg.startsWith('-') || arg === '-') {
      rest.push(arg);
      continue;
    }
    const [, name, given] = arg.startsWith('--') ? /^--([^=]*)(?:=(.*))?$/s.exec(arg)! : shorthand(arg);
    const flag = known.get(name!.replaceAll('_', '-'));
    if (!flag || !name) throw new FlagError(`unknown flag: --${name}`);
    const shown = flag.name === 'v' ? '"-v, --v"' : `"--${flag.name}"`;
    if (given !== undefined) take(flag, shown, given);
    else if (flag.type === 'bool' || flag.type.endsWith('[=true]')) take(flag, shown, 'true');
    else if (i + 1 < args.length) take(flag, shown, args[++i]!);
    else
      throw new FlagError(
        arg.startsWith('--')
          ? `flag needs an argument: --${flag.name}`
          : `flag needs an argument: 'v' in ${arg}`,
      );
  }
  const argument = rest.find((one) => one !== '');
  if (argument !== undefined)
    throw new FlagError(`"kube-apiserver" does not take any arguments, got ${goList(rest)}`);
  return values;
}

/** `-v 2`, `-v=2`, `-v2` and `-h`. */
function shorthand(arg: string): [string, string, string | undefined] {
  const letter = arg[1]!;
  if (letter === 'h') return [arg, 'help', undefined];
  if (letter !== 'v') throw new FlagError(`unknown shorthand flag: '${letter}' in ${arg}`);
  const value = arg.slice(2).replace(/^=/, '');
  return [arg, 'v', arg.length > 2 ? value : undefined];
}

const goList = (items: readonly string[]): string =>
  `[${items.map((item) => JSON.stringify(item)).join(' ')}]`;

/** Go's error message for a value that is not of the flag's type; undefined when it is. */
function problemOf(type: string, value: string): string | undefined {
  const quoted = JSON.stringify(value);
  switch (type) {
    case 'bool':
      return truthOf(value) === undefined
        ? `strconv.ParseBool: parsing ${quoted}: invalid syntax`
        : undefined;
    case 'int':
    case 'uint':
    case 'Level':
      return /^[+-]?\d+$/.test(value) ? undefined : `strconv.ParseInt: parsing ${quoted}: invalid syntax`;
    case 'float':
    case 'float32':
      return value.trim() === value && value !== '' && !Number.isNaN(Number(value))
        ? undefined
        : `strconv.ParseFloat: parsing ${quoted}: invalid syntax`;
    case 'duration':
      return durationProblem(value);
    case 'ip':
      return isIP(value) ? undefined : `failed to parse IP: ${quoted}`;
    case 'mapStringString':
    case 'colonSeparatedMultimapStringString':
      return value.split(',').every((pair) => pair === '' || pair.includes('='))
        ? undefined
        : 'malformed pair, expect string=string';
    case 'portRange':
      return /^\d{1,5}([-+]\d{1,5})?$/.test(value) ? undefined : `unable to parse port range: ${value}`;
    default:
      return undefined;
  }
}

function durationProblem(value: string): string | undefined {
  if (parseDurationMs(value) !== undefined) return undefined;
  const quoted = JSON.stringify(value);
  return /^[+-]?\d+(\.\d+)?$/.test(value)
    ? `time: missing unit in duration ${quoted}`
    : `time: invalid duration ${quoted}`;
}
