/**
 * Snapshots over HTTP: `GET /wherry/snapshots`, `PUT` and `DELETE /wherry/snapshots/NAME`, and
 * `POST /wherry/snapshots/NAME/load`. Who may use them is decided as for a resource, `snapshots.wherry.dev`.
 */
import { methodNotAllowed, StatusError, unavailable } from '../../api/errors/errors.ts';
import { formatTime } from '../../api/values/time.ts';
import type { Registry } from '../../registry/registry.ts';
import { answerText } from '../../server/http/answer.ts';
import type { RequestContext } from '../../server/http/context.ts';
import { snapshotsPath } from '../../server/http/request-info.ts';
import { StoreUnavailableError } from '../../store/store.ts';
import type { StartOptions } from '../options/start-options.ts';
import { type KeptSnapshot, SnapshotFolder, SnapshotMemory } from './snapshot-shelf.ts';
import { Snapshots } from './snapshots.ts';

type Options = Pick<StartOptions, 'store' | 'dataDir' | 'encryptionConfigFile'>;

/** Answers requests for paths of snapshots; false for other paths. */
export function snapshotPages(
  registry: Registry,
  { store, dataDir, encryptionConfigFile }: Options,
): (context: RequestContext) => Promise<boolean> {
  const isInMemory = dataDir === undefined || store === 'memory';
  const shelf = isInMemory
    ? new SnapshotMemory(() => registry.sources.nowMs())
    : new SnapshotFolder(`${dataDir}/snapshots`);
  const snapshots = new Snapshots(registry, shelf);
  const refusal =
    store === 'etcd'
      ? 'a cluster on etcd has no snapshots, because other servers may share it; wherry backup saves it'
      : encryptionConfigFile !== undefined
        ? 'a cluster with an encryption configuration has no snapshots; wherry backup saves it'
        : undefined;
  return async (context) => {
    const [name, action, ...rest] = context.info.path.slice(snapshotsPath.length).split('/').slice(1);
    if (rest.length || (action !== undefined && action !== 'load')) return false;
    if (refusal !== undefined) throw unavailable(refusal);
    const answer = await answered(() => run(snapshots, context, name, action));
    answerText(context, 200, `${JSON.stringify(answer, null, 2)}\n`, 'application/json');
    return true;
  };
}

async function run(
  snapshots: Snapshots,
  { info: { method }, query }: RequestContext,
  name: string | undefined,
  action: string | undefined,
): Promise<object> {
  if (name === undefined || name === '') {
    if (method !== 'GET') throw methodNotAllowed();
    const items = (await snapshots.list()).map(described);
    return { kind: 'SnapshotList', apiVersion: 'wherry.dev/v1', items };
  }
  if (action === 'load') {
    if (method !== 'POST') throw methodNotAllowed();
    const { changed, ...kept } = await snapshots.load(name);
    return { ...typed(kept), changed };
  }
  if (method === 'PUT') return typed(await snapshots.save(name, query.get('replace') === 'true'));
  if (method === 'DELETE') return typed(await snapshots.delete(name));
  throw methodNotAllowed();
}

const typed = (kept: KeptSnapshot): object => ({
  kind: 'Snapshot',
  apiVersion: 'wherry.dev/v1',
  ...described(kept),
});

const described = ({ name, savedMs, bytes, objects }: KeptSnapshot): object => ({
  name,
  savedAt: formatTime(savedMs),
  objects,
  bytes,
});

/** A disk that is full, or a file that is damaged, is no fault of the server. */
async function answered<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    if (error instanceof StatusError) throw error;
    if (error instanceof StoreUnavailableError || code !== undefined) throw unavailable(message);
    throw error;
  }
}
