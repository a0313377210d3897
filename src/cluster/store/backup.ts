/** Backup of a running server to a file, and restore of a file into a data folder or into etcd. */
import { randomBytes } from 'node:crypto';
import { createReadStream, fstatSync, openSync } from 'node:fs';
import { type FileHandle, open, rename, rm } from 'node:fs/promises';
import { get, type IncomingMessage } from 'node:http';
import { get as getSecurely } from 'node:https';
import { dirname } from 'node:path';
import { formerKeys } from '../../registry/former-keys.ts';
import { type BackupSummary, readBackup } from '../../store/backup-file.ts';
import { unknownSentence } from '../../store/format.ts';
import type { RestoreOptions, RestoreSummary } from '../../store/restore.ts';
import { StoreUnavailableError } from '../../store/store.ts';
import type { EtcdOptions } from '../options/store.ts';
import { StartError } from '../shared/start-error.ts';
import { etcdStoreOptions } from './store-choice.ts';

/** Idle timeout for the server's answer. */
const silenceMaxMs = 60_000;
/** Maximum bytes read of an error answer. */
const refusalBytesMax = 64 * 1024;

/** Progress of a backup or a restore. */
export interface Progress {
  readonly objects: number;
  readonly bytes: number;
  /** The total, if it is known from the start. */
  readonly bytesTotal?: number;
}

/** Called for every piece of a file, so it must be cheap. */
export type OnProgress = (progress: Progress) => void;

/**
 * Takes a backup of a running server. The file appears when it is complete, verified and synced; an existing
 * file stays until then.
 */
export async function backup(
  server: string,
  file: string,
  onProgress: OnProgress = () => undefined,
): Promise<BackupSummary> {
  const partial = `${file}.${process.pid}-${randomBytes(6).toString('hex')}.partial`;
  let target: FileHandle | undefined;
  try {
    const answer = await request(new URL('/wherry/backup', server), server);
    // Private, because it contains secrets.
    target = await open(partial, 'w', 0o600);
    let objects = 0;
    const copied = tee(answer, target, (bytes) => onProgress({ objects, bytes }));
    const count = (versions: readonly unknown[]): void => {
      objects += versions.length;
    };
    const summary = await readBackup(`from ${server}`, copied, count, formerKeys);
    await target.sync();
    await target.close();
    target = undefined;
    await rename(partial, file);
    await syncFolder(dirname(file));
    return summary;
  } catch (error) {
    await target?.close().catch(() => undefined);
    await rm(partial, { force: true }).catch(() => undefined);
    throw sentence(error, file);
  }
}

export interface Restored extends BackupSummary {
  /** A hint for the user who restores. */
  readonly warning: string | undefined;
}

/** Where a backup is restored: a data folder, or an etcd. Neither may contain objects yet. */
export type RestoreTarget = { readonly dataDir: string } | { readonly etcd: EtcdOptions };

/** Takes a backup of this format or the former one. */
export async function restore(
  file: string,
  target: RestoreTarget,
  onProgress: OnProgress = () => undefined,
): Promise<Restored> {
  let taken = 0;
  const options = {
    upgrade: formerKeys,
    taken: (more: number) => {
      taken += more;
    },
  };
  const source = (): AsyncIterable<Buffer> =>
    pieces(file, (bytes, bytesTotal) => onProgress({ objects: taken, bytes, bytesTotal }));
  const { objects, revision, unknown } = await restoreInto(target, file, source, options);
  return { objects, revision, warning: unknown?.length ? unknownSentence(unknown) : undefined };
}

async function restoreInto(
  target: RestoreTarget,
  file: string,
  source: () => AsyncIterable<Buffer>,
  options: RestoreOptions,
): Promise<RestoreSummary> {
  if ('dataDir' in target) {
    const { restoreStore } = await import('../../store/restore.ts');
    return restoreStore(target.dataDir, file, source(), options);
  }
  const { restoreEtcd } = await import('../../store/etcd/etcd-restore.ts');
  return restoreEtcd(await etcdStoreOptions(target), file, source, options);
}

/** The pieces of a file; `read` is called with the progress. Throws when the file cannot be opened. */
function pieces(file: string, read: (bytes: number, bytesTotal: number) => void): AsyncGenerator<Buffer> {
  try {
    const fd = openSync(file, 'r');
    const bytesTotal = fstatSync(fd).size;
    const source = createReadStream(file, { fd, highWaterMark: 1024 * 1024 });
    return counting(source, (bytes) => read(bytes, bytesTotal));
  } catch (error) {
    throw sentence(error, file);
  }
}

async function* tee(
  source: AsyncIterable<Buffer>,
  target: FileHandle,
  read: (bytes: number) => void,
): AsyncGenerator<Buffer> {
  for await (const chunk of counting(source, read)) {
    await target.writeFile(chunk);
    yield chunk;
  }
}

/** Reports how many bytes have passed so far. */
async function* counting(
  source: AsyncIterable<Buffer>,
  read: (bytes: number) => void,
): AsyncGenerator<Buffer> {
  let bytes = 0;
  for await (const chunk of source) {
    bytes += chunk.length;
    read(bytes);
    yield chunk;
  }
}

function request(url: URL, server: string): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    const failed = (error: Error) =>
      reject(new StartError(`${server} cannot be reached: ${error.message}`, { cause: error }));
    const sent = (url.protocol === 'https:' ? getSecurely : get)(url, { agent: false }, (answer) => {
      if (answer.statusCode === 200) resolve(answer);
      else void refusal(answer).then((why) => reject(new StartError(`${server} gave no backup: ${why}`)));
    });
    sent.on('error', failed);
    sent.setTimeout(silenceMaxMs, () => sent.destroy(new Error(`nothing came for ${silenceMaxMs} ms`)));
  });
}

/** The server's error in one line. */
async function refusal(answer: IncomingMessage): Promise<string> {
  let text = '';
  try {
    for await (const chunk of answer.setEncoding('utf8')) {
      text += chunk;
      if (text.length > refusalBytesMax) break;
    }
    const { message } = JSON.parse(text) as { message?: unknown };
    if (typeof message === 'string') return message;
  } catch {
    // No body: the status code must do.
  }
  return `it answered ${answer.statusCode}`;
}

/** Syncs the folder: without it a rename may be lost in a power failure. Not supported on every system. */
async function syncFolder(path: string): Promise<void> {
  try {
    const folder = await open(path, 'r');
    await folder.sync().finally(() => folder.close());
  } catch {}
}

function sentence(error: unknown, file: string): Error {
  if (error instanceof StoreUnavailableError || error instanceof StartError) return error;
  const { code, message } = error as NodeJS.ErrnoException;
  if (code === 'ECONNRESET') return new StartError('the server broke off the backup', { cause: error });
  return new StartError(`${file} cannot be used: ${message}`, { cause: error });
}
