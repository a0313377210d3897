/** Copies a live cluster into a data folder or a running cluster: what `wherry import` does. */
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, rmSync } from 'node:fs';
import path from 'node:path';
import { writePrivately } from '../pki/pki-folder.ts';
import { ClusterCopy, type CopyProgress, type KindResult } from '../recorder/source/cluster-copy.ts';
import { KubeconfigError, readKubeconfig, type SourceAccess } from '../recorder/source/kubeconfig.ts';
import type { SecretMode } from '../recorder/source/secret-values.ts';
import { SourceClient } from '../recorder/source/source-client.ts';
import type { CopiedObject } from '../recorder/source/source-objects.ts';
import { livingOwner } from '../store/owner.ts';
import type { Store } from '../store/store.ts';
import { chooseCluster } from './named/cluster-choice.ts';
import { runningProcess } from './named/cluster-state.ts';
import { dataHome } from './named/data-home.ts';
import type { ServerChoice } from './past/asked-server.ts';
import { StartError } from './shared/start-error.ts';

/** Says what an import has done so far, in the data folder. */
const stateFile = 'import.json';
const defaultPerSecond = 10;

/** What is copied, from where and to where. */
export interface ImportOptions {
  /**
   * Folder to copy into. It must be new, or hold an import of the same cluster that did not end, or be that of a running
   * cluster of this user.
   */
  readonly dataDir?: string | undefined;
  /** Running cluster to copy into, instead of a folder; it needs the right to `imports` of the group `wherry.dev`. */
  readonly into?: ServerChoice | undefined;
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
   * simulated nodes then makes it anew. Default: whether a running cluster that is copied into has controllers.
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
  /** The folder, or the running server, that it was copied into. */
  readonly target: string;
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
 * Copies a live cluster, or a part of it, into a data folder or a running cluster; of the source it reads alone. Objects keep
 * uids, times and status. What may not be read is in the summary; an import that was ended goes on where it was. Rejects
 * with a `StartError`.
 */
export async function importCluster(options: ImportOptions): Promise<ImportSummary> {
  const { dataDir } = options;
  if ((dataDir === undefined) === (options.into === undefined))
    throw new StartError('an import needs a folder or a running cluster to copy into, and not both');
  const into = options.into ?? (await usedBy(dataDir!));
  const access = accessOf(options);
  if (into) return importInto(into, options, access);
  const { kinds, requests } = await copied(dataDir!, options, access, unfinished(dataDir!, access.url));
  return { source: access.url, target: dataDir!, objects: sum(kinds), requests, kinds };
}

const sum = (kinds: readonly KindResult[]): number => kinds.reduce((all, { objects }) => all + objects, 0);

/** The running cluster whose data folder this is; undefined: nobody uses it. */
async function usedBy(dataDir: string): Promise<ServerChoice | undefined> {
  const owner = livingOwner(dataDir);
  if (!owner) return undefined;
  const { record } = chooseCluster({ name: undefined, dataDir });
  if (record && runningProcess(record) !== undefined) return { name: record.name };
  throw new StartError(`${dataDir} is in use by process ${owner.pid}: name its address by --into`);
}

/** Copies into a folder of its own first, so that nothing arrives that is not whole, and owners can go first. */
async function importInto(
  into: ServerChoice,
  options: ImportOptions,
  access: SourceAccess,
): Promise<ImportSummary> {
  const { AskedServer } = await import('./past/asked-server.ts');
  const { importTarget, loadCopy } = await import('./import-load.ts');
  const server = new AskedServer(into);
  const target = await importTarget(server);
  const chosen = { ...options, alive: options.alive ?? target.controllers };
  const dataDir = stagingFolder(access.url, target.cluster || server.url, chosen);
  const { kinds, requests } = await copied(dataDir, chosen, access, stagedBefore(dataDir));
  const { openLmdbStore } = await import('../store/lmdb.ts');
  const store = await openLmdbStore({ dataDir });
  let loaded: KindResult[];
  try {
    const { signal, progress } = options;
    const show = (objects: number, objectsTotal: number): void =>
      progress?.({ objects, objectsTotal, kinds: kinds.length, kindsTotal: kinds.length });
    loaded = await loadCopy(store, { server, target, kinds: options.kinds, signal, show });
  } finally {
    await store.close();
  }
  rmSync(dataDir, { recursive: true, force: true });
  const missing = new Map(kinds.flatMap(({ resource, why }) => (why ? [[resource, why] as const] : [])));
  const results = loaded.map(({ resource, objects, why }) => {
    const both = [missing.get(resource), why].filter(Boolean).join('; ');
    missing.delete(resource);
    return { resource, objects, ...(both && { why: both }) };
  });
  const none = [...missing].map(([resource, why]) => ({ resource, objects: 0, why }));
  const all = [...results, ...none];
  return { source: access.url, target: server.url, objects: sum(all), requests, kinds: all };
}

/** Where objects wait until all are there: the same for the same question, so that it can be gone on with. */
function stagingFolder(source: string, target: string, options: ImportOptions): string {
  const { namespaces, kinds, selector, secrets, alive } = options;
  const asked = JSON.stringify([source, target, namespaces, kinds, selector, secrets, alive]);
  const name = createHash('sha256').update(asked).digest('hex').slice(0, 32);
  const folder = path.join(dataHome(), '.imports', name);
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  return folder;
}

function stagedBefore(dataDir: string): Map<string, KindResult> {
  const file = path.join(dataDir, stateFile);
  const kinds = existsSync(file) ? (JSON.parse(readFileSync(file, 'utf8')) as ImportState).kinds : [];
  return new Map(kinds.map((result) => [result.resource, result]));
}

/** Copies what is not in the folder yet. */
async function copied(
  dataDir: string,
  options: ImportOptions,
  access: SourceAccess,
  done: ReadonlyMap<string, KindResult>,
): Promise<{ readonly kinds: readonly KindResult[]; readonly requests: number }> {
  const { secrets = 'keys', alive = false, requestsPerSecond = defaultPerSecond } = options;
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
    return { kinds, requests: client.requests };
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
