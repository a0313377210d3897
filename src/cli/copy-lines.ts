/** The command lines that are about other clusters: dumps to open, and clusters to copy. */
import type { ImportOptions, StartOptions } from '../cluster/index.ts';
import { importFlags, openFlags } from '../cluster/options/commands.ts';
import { localDoorOptions } from '../cluster/options/doors.ts';
import { type FlagLine, readOptions } from './flag-reading.ts';
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

export function openLine(line: FlagLine, paths: readonly string[], log: LogForm): OpenLine {
  const options = readOptions({ ...localDoorOptions, ...openFlags }, line);
  if (paths.length === 0) line.refuse('open needs what to open: wherry open PATH…');
  if (options.port === 'off') line.refuse('open needs the port for plain HTTP');
  return { command: 'open', paths, options, log };
}

export function importLine(line: FlagLine): ImportLine {
  const { withSecrets, noSecrets, dataDir = '', ...read } = readOptions(importFlags, line);
  if (withSecrets && noSecrets) line.refuse('--with-secrets and --no-secrets exclude each other');
  const secrets = withSecrets ? 'values' : noSecrets ? 'none' : 'keys';
  return { command: 'import', options: { ...read, dataDir, secrets } };
}
