/**
 * Compiled code of the command, kept in the user's cache folder from one start to the next. V8 runs what it is given
 * without checking it, so code is taken only from a folder that belongs to this user and that nobody else can write to,
 * and only when its checksum is right. Where nothing can be kept, every start compiles anew.
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
import { homedir } from 'node:os';
import path from 'node:path';

/** Versions of Wherry and Node whose code is kept, 1.5 MB each; the oldest beyond that goes. */
const filesMax = 8;
const ending = '.code';
const digestBytes = 32;
/** Write permission of group and others. */
const foreignWriteBits = 0o022;

/** What decides about the cache: the part of `process` that tells how it was started. */
export type Started = Pick<NodeJS.Process, 'env' | 'execArgv' | 'platform' | 'version' | 'arch'>;

/**
 * @param source names the script the code is made from, and changes with its contents
 * @returns undefined with flags for V8 or Node, which may make other code; when optimisations are switched off; and for
 * a user without a folder
 */
export function openCodeCache(started: Started, source: string): CodeCache | undefined {
  const { env, execArgv, version, arch } = started;
  if (execArgv.length || env['NODE_OPTIONS'] || env['WHERRY_PLAIN'] === '1') return undefined;
  const folder = cacheFolder(started);
  return folder === undefined ? undefined : new CodeCache(folder, `${source}.${version}.${arch}`);
}

/** Where programs of a platform keep what they can make again. */
function cacheFolder({ env, platform }: Started): string | undefined {
  const { XDG_CACHE_HOME: chosen, LOCALAPPDATA: local } = env;
  if (chosen && path.isAbsolute(chosen)) return path.join(chosen, 'wherry');
  if (platform === 'win32' && local) return path.join(local, 'wherry', 'Cache');
  const home = homeFolder();
  if (home === undefined) return undefined;
  return path.join(home, platform === 'darwin' ? 'Library/Caches' : '.cache', 'wherry');
}

/** Node throws for a user that the system does not know. */
function homeFolder(): string | undefined {
  try {
    const home = homedir();
    return path.isAbsolute(home) ? home : undefined;
  } catch {
    return undefined;
  }
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

  /** Does nothing where it cannot: the folder may be read-only, or that of another user (`sudo` may keep HOME). */
  keep(code: Buffer): void {
    try {
      if (!isOwned(existing(this.folder))) return;
      mkdirSync(this.folder, { recursive: true, mode: 0o700 });
      if (!isOurs(this.folder)) return;
      this.#write(code);
      removeOldest(this.folder);
    } catch {
      // The next start compiles anew.
    }
  }

  /** Another start may be reading: it finds the old file or the new one, never half of one. */
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

/** The folder, or the nearest above it that is there. */
function existing(folder: string): string {
  return existsSync(folder) ? folder : existing(path.dirname(folder));
}

function digest(code: Buffer): Buffer {
  return createHash('sha256').update(code).digest();
}

/** Windows has no owners of this kind; its folders for applications are the user's own. */
function isOwned(folder: string): boolean {
  return process.getuid === undefined || statSync(folder).uid === process.getuid();
}

/** Whether nobody else can have put anything there. */
function isOurs(folder: string): boolean {
  if (process.getuid === undefined) return true;
  return isOwned(folder) && (statSync(folder).mode & foreignWriteBits) === 0;
}

/** Also removes what starts that were killed have left half written. */
function removeOldest(folder: string): void {
  const files = readdirSync(folder)
    .filter((name) => name.includes(ending))
    .map((name) => path.join(folder, name))
    .map((file) => ({ file, mtimeMs: statSync(file).mtimeMs }))
    .sort((a, b) => b.mtimeMs - a.mtimeMs);
  for (const { file } of files.slice(filesMax)) rmSync(file, { force: true });
}
