/** Copies a live cluster into a data folder: what `wherry import` does. */
import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { writePrivately } from '../pki/pki-folder.ts';
import { ClusterCopy, type CopyProgress, type KindResult } from '../recorder/source/cluster-copy.ts';
import { KubeconfigError, readKubeconfig, type SourceAccess } from '../recorder/source/kubeconfig.ts';
import type { SecretMode } from '../recorder/source/secret-values.ts';
import { SourceClient } from '../recorder/source/source-client.ts';
import type { CopiedObject } from '../recorder/source/source-objects.ts';
import type { Store } from '../store/store.ts';
import { StartError } from './shared/start-error.ts';

/** Says what an import has done so far, in the data folder. */
const stateFile = 'import.json';
const defaultPerSecond = 10;

/** What is copied, from where and to where. */
export interface ImportOptions {
  /** Folder to copy into. It must be new, or hold an import of the same cluster that did not end. */
  readonly dataDir: string;
  /** Default: those of `KUBECONFIG`, or `~/.kube/config`. */
  readonly kubeconfig?: string | undefined;
  /** Default: the current one. */
  readonly context?: string | undefined;
  /** Copy only what is in these namespaces. Default: everything. */
  readonly namespaces?: readonly string[] | undefined;
  /** Copy only these resources, such as `pods` or `deployments.apps`. Default: all that can be listed. */
  readonly kinds?: readonly string[] | undefined;
  /** Copy only objects with these labels. */
  readonly selector?: string | undefined;
  /** What is kept of secrets: names and keys with other values (`keys`), nothing (`none`), or all (`values`). Default `keys`. */
  readonly secrets?: SecretMode | undefined;
  /** Requests a second. Default 10. */
  readonly requestsPerSecond?: number | undefined;
  /**
   * Leave out what belongs to the real nodes: nodes, pods that a controller owns, endpoints, events. A cluster with
   * simulated nodes then makes it anew. Default false.
   */
  readonly alive?: boolean | undefined;
  readonly progress?: ((progress: CopyProgress) => void) | undefined;
  /** Ends the import, which a later one continues: an `AbortSignal`. */
  readonly signal?: EndSignal | undefined;
}

/** The part of an `AbortSignal` that programs without types of Node or a browser can name, too. */
interface EndSignal {
  readonly aborted: boolean;
  addEventListener(type: 'abort', listener: () => void): void;
}

/** What an import has copied. */
export interface ImportSummary {
  /** The server that was copied. */
  readonly source: string;
  readonly objects: number;
  readonly requests: number;
  /** What became of each kind. */
  readonly kinds: readonly KindResult[];
}

interface ImportState {
  readonly source: string;
  readonly isComplete: boolean;
  readonly kinds: readonly KindResult[];
}

/**
 * Copies a live cluster, or a part of it, into a data folder, with GET requests alone. Objects keep uids, times and status.
 * What may not be read is in the summary; an import that was ended goes on where it was. Rejects with a `StartError`.
 */
export async function importCluster(options: ImportOptions): Promise<ImportSummary> {
  const { dataDir, secrets = 'keys', alive = false, requestsPerSecond = defaultPerSecond } = options;
  const access = accessOf(options);
  const done = unfinished(dataDir, access.url);
  const client = new SourceClient(access, requestsPerSecond, options.signal as AbortSignal | undefined);
  const { openLmdbStore } = await import('../store/lmdb.ts');
  const store = await openLmdbStore({ dataDir });
  const finished: KindResult[] = [...done.values()];
  const write = (isComplete: boolean): void => {
    const state: ImportState = { source: access.url, isComplete, kinds: finished };
    writePrivately(path.join(dataDir, stateFile), `${JSON.stringify(state, null, 2)}\n`);
  };
  try {
    write(false);
    const kinds = await new ClusterCopy({
      client,
      selection: { ...options, secrets, alive },
      done,
      take: (objects) => put(store, objects),
      finished: (result) => {
        finished.push(result);
        write(false);
      },
      show: options.progress ?? (() => undefined),
    }).run();
    write(true);
    const objects = kinds.reduce((sum, { objects: some }) => sum + some, 0);
    return { source: access.url, objects, requests: client.requests, kinds };
  } catch (error) {
    if (error instanceof StartError || options.signal?.aborted) throw error;
    throw new StartError(`${access.url} cannot be copied: ${(error as Error).message}`, { cause: error });
  } finally {
    await store.close();
  }
}

function accessOf({ kubeconfig, context }: ImportOptions): SourceAccess {
  try {
    return readKubeconfig(kubeconfig, context);
  } catch (error) {
    if (error instanceof KubeconfigError) throw new StartError(error.message);
    throw error;
  }
}

/** What an import that did not end has copied. */
function unfinished(dataDir: string, source: string): Map<string, KindResult> {
  const file = path.join(dataDir, stateFile);
  if (!existsSync(file)) {
    if (existsSync(path.join(dataDir, 'data.mdb')))
      throw new StartError(`${dataDir} holds objects already; import into another folder`);
    return new Map();
  }
  const state = JSON.parse(readFileSync(file, 'utf8')) as ImportState;
  if (state.isComplete || state.source !== source)
    throw new StartError(`${dataDir} holds a copy of ${state.source} already; import into another folder`);
  return new Map(state.kinds.map((result) => [result.resource, result]));
}

/** Writes objects that are not there in the same form. */
async function put(store: Store, objects: readonly CopiedObject[]): Promise<void> {
  const current = await Promise.all(objects.map(({ key }) => store.get(key)));
  await Promise.all(
    objects.map(({ key, value }, i) =>
      current[i]?.value.equals(value)
        ? undefined
        : store.write({ key, value, expected: current[i]?.revision ?? 0 }),
    ),
  );
}
