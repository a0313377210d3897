/** Where snapshots are kept: files in the data folder, or memory in a cluster that keeps its objects there. */
import { createReadStream } from 'node:fs';
import { mkdir, open, readdir, rename, rm, rmdir, stat } from 'node:fs/promises';
import path from 'node:path';
import { StatusError } from '../../api/errors/errors.ts';
import { unavailable } from '../../store/folder-failure.ts';
import { readUint48 } from '../../store/record.ts';

/** The end of a backup file: how many objects it has, and a digest. */
const endBytes = 38;
const ending = '.snapshot';

export interface KeptSnapshot {
  readonly name: string;
  readonly savedMs: number;
  readonly bytes: number;
  readonly objects: number;
}

export interface SnapshotShelf {
  list(): Promise<KeptSnapshot[]>;
  /** The bytes of a backup file appear under the name when all are there. */
  put(name: string, bytes: AsyncIterable<Buffer>): Promise<void>;
  /** For names that are on the list. */
  get(name: string): AsyncIterable<Buffer>;
  remove(name: string): Promise<void>;
}

export class SnapshotFolder implements SnapshotShelf {
  constructor(private readonly folder: string) {}

  async list(): Promise<KeptSnapshot[]> {
    const files = await readdir(this.folder).catch(() => []);
    const names = files.filter((file) => file.endsWith(ending)).map((file) => file.slice(0, -ending.length));
    return Promise.all(names.sort().map((name) => this.#described(name)));
  }

  async #described(name: string): Promise<KeptSnapshot> {
    const { size: bytes, mtimeMs: savedMs } = await stat(this.#file(name));
    const file = await open(this.#file(name));
    try {
      const end = Buffer.alloc(endBytes);
      await file.read(end, 0, endBytes, Math.max(0, bytes - endBytes));
      return { name, savedMs, bytes, objects: readUint48(end, 0) };
    } finally {
      await file.close();
    }
  }

  async put(name: string, bytes: AsyncIterable<Buffer>): Promise<void> {
    await mkdir(this.folder, { recursive: true, mode: 0o700 });
    const partial = `${this.#file(name)}.${process.pid}.partial`;
    try {
      // Private, because it contains secrets.
      const file = await open(partial, 'w', 0o600);
      try {
        for await (const chunk of bytes) await file.writeFile(chunk);
        await file.sync();
      } finally {
        await file.close();
      }
      await rename(partial, this.#file(name));
    } catch (error) {
      await rm(partial, { force: true });
      throw error instanceof StatusError ? error : unavailable(this.folder, error);
    }
  }

  get(name: string): AsyncIterable<Buffer> {
    return createReadStream(this.#file(name));
  }

  async remove(name: string): Promise<void> {
    await rm(this.#file(name));
    await rmdir(this.folder).catch(() => undefined);
  }

  #file(name: string): string {
    return path.join(this.folder, name + ending);
  }
}

export class SnapshotMemory implements SnapshotShelf {
  readonly #kept = new Map<string, { readonly savedMs: number; readonly chunks: readonly Buffer[] }>();

  constructor(private readonly now: () => number) {}

  async list(): Promise<KeptSnapshot[]> {
    return [...this.#kept].sort().map(([name, { savedMs, chunks }]) => {
      const bytes = chunks.reduce((sum, { length }) => sum + length, 0);
      return { name, savedMs, bytes, objects: readUint48(chunks.at(-1)!.subarray(-endBytes), 0) };
    });
  }

  async put(name: string, bytes: AsyncIterable<Buffer>): Promise<void> {
    const chunks: Buffer[] = [];
    // A copy: the bytes of a store may be used again.
    for await (const chunk of bytes) chunks.push(Buffer.from(chunk));
    this.#kept.set(name, { savedMs: this.now(), chunks });
  }

  async *get(name: string): AsyncIterable<Buffer> {
    yield* this.#kept.get(name)!.chunks;
  }

  async remove(name: string): Promise<void> {
    this.#kept.delete(name);
  }
}
