/**
 * Restore of a backup into etcd. The backup is checked from its first to its last byte before anything is written. A key
 * says that a restore is under way: no server starts on what an interrupted one has left, and the next one begins anew.
 *
 * Objects keep their uids and get new versions, because etcd gives them out. Its history is compacted afterwards, so
 * that versions up to there are too old and never refer to other changes.
 */
import { type BackupHead, readBackup } from '../backupfile.ts';
import type { Version } from '../engine.ts';
import { Renaming } from '../format.ts';
import type { RestoreOptions, RestoreSummary } from '../restore.ts';
import { SEPARATOR, type Store, StoreUnavailableError } from '../store.ts';
import { type EtcdStoreOptions, openEtcdStore } from './etcdstore.ts';
import { ETCD_VALUE_BYTES_MAX } from './etcdwriter.ts';
import { Keyspace } from './keyspace.ts';
import { Members } from './members.ts';
import {
  DELETE_RANGE,
  decodeRange,
  encodeDeleteRange,
  encodePut,
  encodeRange,
  PUT,
  RANGE,
} from './messages.ts';

const CALL_MS = 30_000;
/** Writes in flight: more only wait longer. */
const LANES = 64;

/** `name` is the backup's name in errors; `backup` reads it from its beginning. */
export async function restoreEtcd(
  options: EtcdStoreOptions,
  name: string,
  backup: () => AsyncIterable<Buffer>,
  { upgrade, taken }: RestoreOptions = {},
): Promise<RestoreSummary> {
  const { objects } = await readBackup(name, backup(), checkSizes, upgrade);
  const keyspace = new Keyspace(options.prefix);
  const { urls, tls, onWarning } = options;
  const members = new Members({ urls, tls, heartbeatKey: keyspace.heartbeat, onWarning });
  try {
    await prepare(members, keyspace, options.prefix);
    const store = await openEtcdStore({ ...options, restores: true });
    const renaming = upgrade && new Renaming(upgrade);
    const take = async (versions: readonly Version[], head: BackupHead): Promise<void> => {
      const former = head.format === upgrade?.from;
      await writeAll(
        store,
        former ? versions.map((one) => ({ ...one, key: renaming!.key(one.key) })) : versions,
      );
      taken?.(versions.length);
    };
    try {
      await readBackup(name, backup(), take, upgrade);
      const revision = await store.revision();
      await store.compact(revision);
      await members.call(DELETE_RANGE, encodeDeleteRange(keyspace.restoring), CALL_MS);
      return { objects, revision, unknown: renaming?.unknown };
    } finally {
      await store.close();
    }
  } finally {
    members.close();
  }
}

function checkSizes(versions: readonly Version[]): void {
  for (const { key, value } of versions)
    if (value && value.length > ETCD_VALUE_BYTES_MAX)
      throw new StoreUnavailableError(
        `${key.replaceAll(SEPARATOR, '/')} has ${value.length} bytes, and etcd takes ${ETCD_VALUE_BYTES_MAX}`,
      );
}

async function prepare(members: Members, keyspace: Keyspace, prefix: string): Promise<void> {
  const isThere = async (key: Buffer, end?: Buffer): Promise<boolean> => {
    const request = encodeRange({ key, end, limit: 1, keysOnly: true });
    return decodeRange(await members.call(RANGE, request, CALL_MS)).items.length > 0;
  };
  if (await isThere(keyspace.serversStart, keyspace.serversEnd))
    throw new StoreUnavailableError(
      `a server uses the etcd under ${prefix}, or was killed seconds ago; stop all of them, or restore under another --etcd-prefix`,
    );
  const interrupted = await isThere(keyspace.restoring);
  if (!interrupted && (await isThere(keyspace.start, keyspace.objectsEnd)))
    throw new StoreUnavailableError(
      `etcd holds objects under ${prefix} already; restore under another --etcd-prefix`,
    );
  await members.call(PUT, encodePut(keyspace.restoring, Buffer.alloc(0)), CALL_MS);
  if (interrupted)
    await members.call(DELETE_RANGE, encodeDeleteRange(keyspace.start, keyspace.objectsEnd), CALL_MS);
}

async function writeAll(store: Store, versions: readonly Version[]): Promise<void> {
  let next = 0;
  const lane = async (): Promise<void> => {
    while (next < versions.length) {
      const { key, value } = versions[next++]!;
      const { ok } = await store.write({ key, value, expected: 0 });
      if (!ok) throw new StoreUnavailableError('somebody else writes to the etcd that is restored');
    }
  };
  await Promise.all(Array.from({ length: LANES }, lane));
}
