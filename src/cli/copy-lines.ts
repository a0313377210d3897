/** The command lines that are about other clusters: dumps to open, and clusters to copy. */
import type { ImportOptions, RecordOptions, StartOptions } from '../cluster/index.ts';
import { importFlags, openFlags } from '../cluster/options/commands.ts';
import { localDoorOptions } from '../cluster/options/doors.ts';
import { recordFlags } from '../cluster/options/recording.ts';
import { type FlagLine, readOptions } from '../program/flag-reading.ts';
import type { LogForm } from './options.ts';

/** Dumps to open. */
export interface OpenLine {
  readonly command: 'open';
  readonly paths: readonly string[];
  readonly options: Pick<StartOptions, 'port' | 'host'> & { readonly writable?: boolean };
  readonly log: LogForm;
}

/** A cluster to copy. */
export interface ImportLine {
  readonly command: 'import';
  readonly options: ImportOptions;
}

/** A cluster to record. */
export interface RecordLine {
  readonly command: 'record';
  readonly options: RecordOptions;
  readonly log: LogForm;
}

export function recordLine(line: FlagLine, log: LogForm): RecordLine {
  const read = readOptions({ ...localDoorOptions, ...recordFlags }, line);
  const { withSecrets, noSecrets, dataDir = '', ...options } = read;
  if (options.port === 'off') line.refuse('record needs the port for plain HTTP');
  if (withSecrets && noSecrets) line.refuse('--with-secrets and --no-secrets exclude each other');
  const secrets = withSecrets ? 'values' : noSecrets ? 'none' : 'keys';
  return { command: 'record', options: { ...options, dataDir, secrets }, log };
}

export function openLine(line: FlagLine, paths: readonly string[], log: LogForm): OpenLine {
  const options = readOptions({ ...localDoorOptions, ...openFlags }, line);
  if (paths.length === 0) line.refuse('open needs what to open: wherry open PATH…');
  if (options.port === 'off') line.refuse('open needs the port for plain HTTP');
  return { command: 'open', paths, options, log };
}

export function importLine(line: FlagLine): ImportLine {
  const options = readOptions(importFlags, line);
  const { withSecrets, noSecrets, into, name, intoKubeconfig, intoContext, dataDir = '', ...read } = options;
  const isFolder = line.flags.has('data-dir');
  const isConfig = intoKubeconfig !== undefined || intoContext !== undefined;
  if ([isFolder, into !== undefined, name !== undefined, isConfig].filter(Boolean).length > 1)
    line.refuse('--data-dir, --into, --into-kubeconfig or --into-context, and --name exclude each other');
  if (withSecrets && noSecrets) line.refuse('--with-secrets and --no-secrets exclude each other');
  const secrets = withSecrets ? 'values' : noSecrets ? 'none' : 'keys';
  // Both clusters may be contexts of one kubeconfig.
  const config = isConfig && { kubeconfig: intoKubeconfig ?? read.kubeconfig, context: intoContext };
  const server = into === undefined ? name !== undefined && { name } : { server: into };
  const chosen = config || server;
  const target = chosen ? { into: chosen } : { dataDir };
  return { command: 'import', options: { ...read, ...target, secrets } };
}
