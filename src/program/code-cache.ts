/**
 * Caches the command's compiled code in the user's cache folder between starts. V8 runs cached code without
 * checking it, so it is used only from a folder that belongs to this user and is not writable for others, and
 * only with a valid checksum. Without a cache, every start compiles.
 */
import { createHash } from 'node:crypto';
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import path from 'node:path';
import { homeFolder } from '../platform.ts';

/** Maximum number of cached versions (of Wherry and Node), 1.5 MB each; the oldest are deleted. */
const filesMax = 8;
const ending = '.code';
const digestBytes = 32;
/** Write permission of group and others. */
const foreignWriteBits = 0o022;

/** The parts of `process` that decide about the cache. */
export type Started = Pick<NodeJS.Process, 'env' | 'execArgv' | 'platform' | 'version' | 'arch'>;

/**
 * @param source identifies the script's contents
 * @returns undefined if V8 or Node run with flags, which may change the compiled code; if optimisations are
 * switched off; or without a home folder
 */
export function openCodeCache(started: Started, source: string): CodeCache | undefined {
  const { env, execArgv, version, arch } = started;
  if (execArgv.length || env['NODE_OPTIONS'] || env['WHERRY_PLAIN'] === '1') return undefined;
  const folder = cacheFolder(started);
  return folder === undefined ? undefined : new CodeCache(folder, `${source}.${version}.${arch}`);
}

/** The platform's folder for caches. */
export function cacheFolder({ env, platform }: Pick<Started, 'env' | 'platform'>): string | undefined {
  const { XDG_CACHE_HOME: chosen, LOCALAPPDATA: local } = env;
  if (chosen && path.isAbsolute(chosen)) return path.join(chosen, 'wherry');
  if (platform === 'win32' && local) return path.join(local, 'wherry', 'Cache');
  const home = homeFolder();
  if (home === undefined) return undefined;
  return path.join(home, platform === 'darwin' ? 'Library/Caches' : '.cache', 'wherry');
}

export class CodeCache {
  readonly #file: string;

  constructor(
    readonly folder: string,
    name: string,
  ) {
    this.#file = path.join(folder, name + ending);
  }

  read(): Buffer | undefined {
    try {
      if (!isOurs(this.folder)) return undefined;
      const bytes = readFileSync(this.#file);
      const code = bytes.subarray(digestBytes);
      return digest(code).equals(bytes.subarray(0, digestBytes)) ? code : undefined;
    } catch {
      return undefined;
    }
  }

  /** Errors are ignored: the folder may be read-only, or another user's (`sudo` may keep HOME). */
  keep(code: Buffer): void {
    try {
      if (!isOwned(existing(this.folder))) return;
      mkdirSync(this.folder, { recursive: true, mode: 0o700 });
      if (!isOurs(this.folder)) return;
      this.#write(code);
      removeOldest(this.folder);
    } catch {
      // Ignored: the next start compiles again.
    }
  }

  /** Writes a temporary file and renames it, so that a concurrent start never reads half a file. */
  #write(code: Buffer): void {
    const unfinished = `${this.#file}.${process.pid}`;
    try {
      writeFileSync(unfinished, Buffer.concat([digest(code), code]), { mode: 0o600 });
      renameSync(unfinished, this.#file);
    } catch (error) {
      rmSync(unfinished, { force: true });
      throw error;
    }
  }
}

/** The folder, or its nearest existing parent. */
function existing(folder: string): string {
  return existsSync(folder) ? folder : existing(path.dirname(folder));
}

function digest(code: Buffer): Buffer {
  return createHash('sha256').update(code).digest();
}

/** Whether the folder belongs to this user. Windows has no such owners; its application folders belong to the user. */
function isOwned(folder: string): boolean {
  return process.getuid === undefined || statSync(folder).uid === process.getuid();
}

/** Whether only this user can have written there. */
function isOurs(folder: string): boolean {
  if (process.getuid === undefined) return true;
  return isOwned(folder) && (statSync(folder).mode & foreignWriteBits) === 0;
}

/** Removes the oldest files, and temporary files of killed starts. */
function removeOldest(folder: string): void {
  const files = readdirSync(folder)
    .filter((name) => name.includes(ending))
    .map((name) => path.join(folder, name))
    .map((file) => ({ file, mtimeMs: statSync(file).mtimeMs }))
    .sort((a, b) => b.mtimeMs - a.mtimeMs);
  for (const { file } of files.slice(filesMax)) rmSync(file, { force: true });
}
