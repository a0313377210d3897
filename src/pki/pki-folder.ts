/**
 * The folder of keys and certificates: readable only for the user who runs the server, with files that are always
 * complete.
 */
import {
  chmodSync,
  closeSync,
  fsyncSync,
  mkdirSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import path from 'node:path';
import type { Certified } from './authority.ts';

const folderMode = 0o700;
const fileMode = 0o600;
/** Maximum size of a file; a certificate and a key are far smaller. */
const fileBytesMax = 1024 * 1024;

export class PkiFolder {
  constructor(
    readonly folder: string,
    /** Whether writes wait until files are on the disk. */
    private readonly synced = true,
  ) {
    mkdirSync(folder, { recursive: true, mode: folderMode });
    chmodSync(folder, folderMode);
  }

  /** The pair of this name; undefined when a part is missing. */
  read(name: string): Certified | undefined {
    return readPair(this.folder, name);
  }

  /** The private key of this name, which may exist without its certificate. */
  readKey(name: string): string | undefined {
    return textOf(path.join(this.folder, `${name}.key`));
  }

  /** Writes the key first: a certificate without its key would be useless, and look like a stolen one. */
  write(name: string, { cert, key }: Certified): void {
    if (this.readKey(name) !== key) writePrivately(path.join(this.folder, `${name}.key`), key, this.synced);
    writePrivately(path.join(this.folder, `${name}.crt`), cert, this.synced);
  }
}

/** A certificate and its key in a folder; undefined when a part is missing. */
export function readPair(folder: string, name: string): Certified | undefined {
  const cert = textOf(path.join(folder, `${name}.crt`));
  const key = textOf(path.join(folder, `${name}.key`));
  return cert === undefined || key === undefined ? undefined : { cert, key };
}

function textOf(file: string): string | undefined {
  try {
    if (statSync(file).size > fileBytesMax) throw new Error(`${file} is too large for what it should hold`);
    return readFileSync(file, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
}

/** Writes a file unless it has this text already: usually it has, and waiting for the disk takes time. */
export function keepPrivately(file: string, text: string): void {
  if (textOf(file) !== text) writePrivately(file, text);
  else chmodSync(file, fileMode);
}

/** Writes a file that only its owner may read; it appears completely or not at all. */
export function writePrivately(file: string, text: string, synced = true): void {
  const fresh = `${file}.${process.pid}.new`;
  try {
    writeWhole(fresh, text, synced);
    chmodSync(fresh, fileMode);
    renameSync(fresh, file);
  } catch (error) {
    rmSync(fresh, { force: true });
    throw error;
  }
}

function writeWhole(file: string, text: string, synced: boolean): void {
  const opened = openSync(file, 'w', fileMode);
  try {
    // Not `writeSync`, which writes a part of the text to a disk that is nearly full, and says nothing.
    writeFileSync(opened, text);
    if (synced) fsyncSync(opened);
  } finally {
    closeSync(opened);
  }
}
