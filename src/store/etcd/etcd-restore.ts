/**
 * Restore of a backup into etcd. The backup is checked from its first to its last byte before anything is written. A key
 * says that a restore is under way: no server starts on what an interrupted one has left, and the next one begins anew.
 *
 * Objects keep their uids and get new versions, because etcd gives them out: one transaction each, as no two may have the
 * same. History is compacted afterwards, so that versions up to there are too old and never refer to other changes.
 */
import { randomInt } from 'node:crypto';
import { wallClock } from '../../clock.ts';
import { CallError } from '../../grpc/call-error.ts';
import { type BackupHead, readBackup } from '../backup-file.ts';
import type { Version } from '../engine.ts';
import { Renaming } from '../format.ts';
import type { RestoreOptions, RestoreSummary } from '../restore.ts';
import { SEPARATOR, StoreUnavailableError } from '../store.ts';
import type { EtcdStoreOptions } from './etcd-store.ts';
import { ETCD_VALUE_BYTES_MAX } from './etcd-writer.ts';
import { ExpiryLeases } from './expiry-leases.ts';
import { Keyspace } from './keyspace.ts';
import { Members } from './members.ts';
import {
  COMPACT,
  DELETE_RANGE,
  decodeRange,
  decodeRevision,
  decodeTxn,
  encodeCompact,
  encodeDeleteRange,
  encodePut,
  encodeRange,
  encodeTxn,
  PUT,
  RANGE,
  TXN,
} from './messages.ts';
import { asUnavailable } from './registration.ts';
import { Marks, stamp } from './stamp.ts';

const CALL_MS = 60_000;
/** Transactions in flight: more only wait longer. */
const LANES = 64;

/** `name` is the backup's name in errors; `backup` reads it from its beginning. */
export async function restoreEtcd(
  options: EtcdStoreOptions,
  name: string,
  backup: () => AsyncIterable<Buffer>,
  restoring: RestoreOptions = {},
): Promise<RestoreSummary> {
  const { objects } = await readBackup(name, backup(), checkSizes, restoring.upgrade);
  const { urls, tls, onWarning, prefix } = options;
  const keyspace = new Keyspace(prefix);
  const members = new Members({ urls, tls, heartbeatKey: keyspace.heartbeat, onWarning });
  try {
    const marker = await prepare(members, keyspace, prefix);
    const leases = new ExpiryLeases(members);
    const marks = new Marks(randomInt(10 ** 8));
    const { now = wallClock, lifeMs } = options;
    /**
     * Writes a key, on condition that the mark of this restore is still there: so a repeated or late request does no
     * harm.
     */
    const put = async (key: string, value: Buffer): Promise<void> => {
      const life = lifeMs?.(key);
      const lease = life === undefined ? undefined : await leases.leaseFor(life);
      const message = encodeTxn({
        compare: [{ key: keyspace.restoring, revision: marker }],
        puts: [{ key: keyspace.encode(key), value: stamp(value, now(), marks.next()), lease }],
        otherwise: [],
      });
      if (!decodeTxn(await members.call(TXN, message, CALL_MS)).succeeded)
        throw new StoreUnavailableError('another restore into this etcd has begun');
    };
    const { upgrade, taken } = restoring;
    const renaming = upgrade && new Renaming(upgrade);
    const take = async (versions: readonly Version[], head: BackupHead): Promise<void> => {
      const former = head.format === upgrade?.from;
      let next = 0;
      const lane = async (): Promise<void> => {
        while (next < versions.length) {
          const { key, value } = versions[next++]!;
          await put(former ? renaming!.key(key) : key, value!);
        }
      };
      await Promise.all(Array.from({ length: LANES }, lane));
      taken?.(versions.length);
    };
    await readBackup(name, backup(), take, upgrade);
    const ended = await members.call(DELETE_RANGE, encodeDeleteRange(keyspace.restoring), CALL_MS);
    const revision = decodeRevision(ended);
    await members.call(COMPACT, encodeCompact(revision), CALL_MS);
    return { objects, revision, unknown: renaming?.unknown };
  } catch (error) {
    throw error instanceof CallError ? asUnavailable(error) : error;
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

/** Marks the etcd as being restored; the answer is the revision of the mark. */
async function prepare(members: Members, keyspace: Keyspace, prefix: string): Promise<number> {
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
  // Read again: an attempt without an answer may have written the mark, too.
  const [mark] = decodeRange(
    await members.call(RANGE, encodeRange({ key: keyspace.restoring }), CALL_MS),
  ).items;
  if (!mark) throw new StoreUnavailableError('another restore into this etcd has just ended');
  return mark.modRevision;
}
