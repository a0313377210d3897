/** Opens dumps of clusters: what `wherry open` does. */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import {
  type Dump,
  type DumpProgress,
  type DumpSummary,
  readDump,
  resourceName,
} from '../recorder/dump/dump.ts';
import type { Recording } from '../recorder/following/recording.ts';
import { MemoryEngine } from '../store/memory.ts';
import { VersionedStore } from '../store/versioned.ts';
import type { Cluster, StartOptions } from './cluster.ts';
import type { Copy } from './shared/copy.ts';
import { readRecordingFile } from './shared/recording-file.ts';
import { StartError } from './shared/start-error.ts';
import { startWith } from './start.ts';
import { longHistory } from './store/long-history.ts';

/** How a dump is opened. */
export interface OpenDumpOptions
  extends Pick<StartOptions, 'port' | 'host' | 'ui' | 'onError' | 'onWarning' | 'log'> {
  /** Let objects be changed, in memory. Default false: writes are refused. */
  readonly writable?: boolean;
  /** Called while the dump is read. */
  readonly progress?: (progress: DumpProgress) => void;
}

/** A dump that is open: a cluster in memory whose objects are those of the dump. */
export interface OpenedDump extends Cluster {
  /** What was read, and what could not be read. */
  readonly summary: DumpSummary;
}

/** Admission that would call servers of the other cluster. */
const hooks = ['MutatingAdmissionWebhook', 'ValidatingAdmissionWebhook'];

/**
 * Opens folders, archives (`.tar`, `.tar.gz`, `.zip`) and files of dumped objects as one cluster: output of `kubectl get -o
 * yaml` or `json` and of `kubectl cluster-info dump`, must-gather, support bundles, backups with a file per object. Objects
 * are shown as they were, nothing runs, and nothing changes by itself.
 */
export async function openDump(
  paths: string | readonly string[],
  options: OpenDumpOptions = {},
): Promise<OpenedDump> {
  const named = typeof paths === 'string' ? [paths] : paths;
  const { writable = false, progress, ...listening } = options;
  if (named.length === 1 && existsSync(join(named[0]!, 'data.mdb')))
    return openFolder(named[0]!, writable, listening);
  const dump = await read(named, progress);
  const copy: Copy = {
    about: `the dump ${named.join(', ')}`,
    isWritable: writable,
    openStore: (storeOptions) => new VersionedStore(new MemoryEngine(dump.state), storeOptions),
    kinds: dump.kinds,
    logs: dump.logs,
  };
  const { cluster } = await startWith({ ...copyOptions, ...listening }, undefined, copy);
  return Object.assign(cluster, { summary: dump.summary });
}

/** A data folder, such as an import makes. */
async function openFolder(
  dataDir: string,
  isWritable: boolean,
  listening: StartOptions,
): Promise<OpenedDump> {
  const kept = longHistory(dataDir);
  const { openStore, past } = kept;
  const recorded = readRecordingFile(dataDir);
  const about = recorded ? `the recording ${dataDir} of ${recorded.source}` : `the data folder ${dataDir}`;
  let recording: Recording | undefined;
  const gaps = () => recording?.gaps() ?? [];
  const copy: Copy = { about, isWritable, kinds: [], openStore, past, gaps };
  const options = { ...copyOptions, ...listening, history: endless };
  const { cluster, parts } = await startWith(options, undefined, copy);
  if (recorded) {
    const { Recording: Recorded } = await import('../recorder/following/recording.ts');
    recording = await Recorded.open(kept.store);
    const { first } = recorded;
    if (first) parts.registry.view.beginsWith(first.version, first.timeMs);
  }
  const kinds: Record<string, number> = {};
  let objects = 0;
  for (const kind of parts.registry.kinds.stored()) {
    const { size } = parts.registry.view.findCollection(kind.id) ?? { size: 0 };
    if (size > 0) kinds[resourceName(kind)] = size;
    objects += size;
  }
  const nothing = { logs: 0, duplicates: 0, inferred: [], problems: [], problemCount: 0 };
  return Object.assign(cluster, { summary: { ...nothing, files: 1, bytes: 0, objects, kinds } });
}

/** What was recorded or copied stays. */
const endless = { ageMaxMs: Number.POSITIVE_INFINITY, changesMax: Number.POSITIVE_INFINITY };

/** Copies answer as a current API server does, serve every version that there is, and run nothing. */
export const copyOptions: StartOptions = {
  like: 'kubernetes',
  controllers: false,
  runtimeConfig: { 'api/all': true },
  admission: { disabled: hooks },
};

async function read(paths: readonly string[], progress: OpenDumpOptions['progress']): Promise<Dump> {
  if (paths.length === 0)
    throw new StartError('there is no dump to open: name a folder, an archive or a file');
  try {
    return await readDump(paths, progress);
  } catch (error) {
    const { code, path = paths[0], message } = error as NodeJS.ErrnoException;
    if (code === undefined) throw error;
    throw new StartError(
      `${path} cannot be opened (${code === 'ENOENT' ? 'there is no such file' : message})`,
      {
        cause: error,
      },
    );
  }
}
