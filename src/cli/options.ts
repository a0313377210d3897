/** The options of the command: their names, their defaults, and how wrong ones are refused. */
import { parseArgs } from 'node:util';
import type { StartOptions } from '../cluster/index.ts';

export type LogLevel = 'silent' | 'error' | 'warn' | 'info' | 'debug';
const logLevels: readonly string[] = ['silent', 'error', 'warn', 'info', 'debug'];

export interface CommandLine {
  readonly command: 'up' | 'serve' | 'help' | 'version';
  readonly start: StartOptions;
  readonly logLevel: LogLevel;
}

/** The command line is wrong; the message says how. */
export class UsageError extends Error {}

export const help = `Usage: wherry <command> [options]

Commands
  up       run the cluster: everything there is
  serve    run the API server alone

Options
  --port PORT           port to listen on; 0 takes any free one (default 8080)
  --host HOST           loopback address to listen on (default 127.0.0.1)
  --data-dir FOLDER     where objects are kept (default .wherry)
  --in-memory           keep objects in memory only
  --history AGE,COUNT   how long and how many changes are kept for watches (default 10m,50000)
  --watch-start WHERE   where a watch without a version begins: history or state (default history)
  --create-status CODE  HTTP code of a create: 200 or 201 (default 200)
  --service-cluster-ip-range RANGE
                        addresses that services get (default 10.0.0.0/24)
  --service-node-port-range FIRST-LAST
                        ports that services get on every node (default 30000-32767)
  --log-level LEVEL     silent, error, warn, info or debug (default warn)
  --version             print the version
  --help                print this text
`;

export function readCommandLine(args: readonly string[]): CommandLine {
  const { values, positionals } = parse(args);
  const start: StartOptions = {
    host: values.host,
    port: portOf(values.port),
    ...(values['in-memory']
      ? { store: 'memory' as const }
      : { store: 'lmdb' as const, dataDir: values['data-dir'] ?? '.wherry' }),
    history: historyOf(values.history),
    watchStart: oneOf('--watch-start', values['watch-start'], ['history', 'state']),
    createStatus: Number(oneOf('--create-status', values['create-status'], ['200', '201'])) as 200 | 201,
    serviceClusterIPRange: values['service-cluster-ip-range'],
    serviceNodePortRange: values['service-node-port-range'],
  };
  if (values['in-memory'] && values['data-dir'] !== undefined)
    throw new UsageError('--in-memory and --data-dir exclude each other');
  const logLevel = oneOf('--log-level', values['log-level'], logLevels) as LogLevel;
  if (values.help) return { command: 'help', start, logLevel };
  if (values.version) return { command: 'version', start, logLevel };
  const [command, ...rest] = positionals;
  if (command === undefined) return { command: 'help', start, logLevel };
  if (command !== 'up' && command !== 'serve')
    throw new UsageError(`there is no command ${JSON.stringify(command)}; the commands are up and serve`);
  if (rest.length) throw new UsageError(`${command} takes options only, not ${JSON.stringify(rest[0])}`);
  return { command, start, logLevel };
}

function parse(args: readonly string[]) {
  try {
    return parseArgs({
      args: [...args],
      allowPositionals: true,
      options: {
        port: { type: 'string', default: '8080' },
        host: { type: 'string', default: '127.0.0.1' },
        'data-dir': { type: 'string' },
        'in-memory': { type: 'boolean', default: false },
        history: { type: 'string', default: '10m,50000' },
        'watch-start': { type: 'string', default: 'history' },
        'create-status': { type: 'string', default: '200' },
        'service-cluster-ip-range': { type: 'string' },
        'service-node-port-range': { type: 'string' },
        'log-level': { type: 'string', default: 'warn' },
        version: { type: 'boolean', default: false },
        help: { type: 'boolean', default: false },
      },
    });
  } catch (error) {
    // What follows the first sentence is advice, over several lines.
    throw new UsageError((error as Error).message.split(/\.\s/)[0]!);
  }
}

function portOf(text: string): number {
  if (/^\d{1,5}$/.test(text) && Number(text) <= 65535) return Number(text);
  throw new UsageError(`--port must be a number from 0 to 65535, not ${JSON.stringify(text)}`);
}

function oneOf<const T extends string>(option: string, value: string, allowed: readonly T[]): T {
  if (allowed.includes(value as T)) return value as T;
  throw new UsageError(`${option} must be one of ${allowed.join(', ')}, not ${JSON.stringify(value)}`);
}

const unitsMs: Record<string, number> = { s: 1000, m: 60_000, h: 3_600_000 };

/** `10m,50000`: changes are kept for ten minutes, but never more than fifty thousand of them. */
function historyOf(text: string) {
  const match = /^(\d{1,6})([smh]),(\d{1,9})$/.exec(text);
  if (!match)
    throw new UsageError(
      `--history must be an age and a count such as 10m,50000, not ${JSON.stringify(text)}`,
    );
  return { ageMaxMs: Number(match[1]) * unitsMs[match[2]!]!, changesMax: Number(match[3]) };
}
