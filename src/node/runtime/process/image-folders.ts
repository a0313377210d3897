/**
 * Files of images, for volumes of the type `image`. The image table says where they are on this machine: a folder with
 * the files, a tar archive of them, or an OCI image as a folder or an archive. Archives and images are unpacked once,
 * and again when they have changed.
 */
import { createHash } from 'node:crypto';
import { mkdir, rename, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { removeFolder } from '../../machine/folder-care.ts';
import type { Spawner } from '../../process/spawner.ts';
import type { ImageTable } from '../images.ts';
import { ImageError } from '../runtime.ts';
import { applyLayer } from './image-layers.ts';
import { layersOf } from './oci-image.ts';

/** Unpacking a layer may take this long. */
const unpackMs = 600_000;

export class ImageFolders {
  readonly #underWay = new Map<string, Promise<string>>();

  constructor(
    private readonly images: ImageTable,
    /** The folder into which images are unpacked. */
    private readonly folder: string,
    private readonly spawner: Spawner,
  ) {}

  /** The folder with the files of an image. Throws `ImageError`. */
  async folderOf(image: string): Promise<string> {
    const files = await this.images.files(image);
    try {
      const isFolder = (await stat(files)).isDirectory();
      const layers = isFolder ? await layersOf(files) : undefined;
      if (isFolder && !layers) return files;
      const versions = await Promise.all((layers ?? [files]).map(versionOf));
      const version = createHash('sha256').update(versions.join('\n')).digest('hex');
      return await this.#once(version, () => this.#unpack(files, isFolder, version));
    } catch (error) {
      throw new ImageError(
        `the files of image ${JSON.stringify(image)} at ${files}: ${(error as Error).message}`,
      );
    }
  }

  /** Removes unpacked images; only when no container runs. */
  async clear(): Promise<void> {
    await removeFolder(this.folder);
  }

  async #once(version: string, work: () => Promise<string>): Promise<string> {
    const known = this.#underWay.get(version);
    if (known) return known;
    const working = work().finally(() => this.#underWay.delete(version));
    this.#underWay.set(version, working);
    return working;
  }

  async #unpack(files: string, isFolder: boolean, version: string): Promise<string> {
    const done = join(this.folder, version);
    if (await stat(done).catch(() => undefined)) return done;
    const scratch = join(this.folder, `${version}.new`);
    await removeFolder(scratch);
    await mkdir(join(scratch, 'image'), { recursive: true });
    let source = files;
    if (!isFolder) {
      source = join(scratch, 'archive');
      await this.#tar(files, source);
    }
    const layers = await layersOf(source);
    if (!layers) await applyLayer(source, join(scratch, 'image'));
    for (const [i, layer] of (layers ?? []).entries()) {
      const unpacked = join(scratch, `layer-${i}`);
      await this.#tar(layer, unpacked);
      await applyLayer(unpacked, join(scratch, 'image'));
      await removeFolder(unpacked);
    }
    // Renamed when it is complete, so that an interruption leaves nothing that looks like an image.
    await rename(join(scratch, 'image'), done);
    await removeFolder(scratch);
    return done;
  }

  async #tar(archive: string, folder: string): Promise<void> {
    await mkdir(folder);
    const tar = this.spawner.tool('tar');
    if (!tar) throw new Error('there is no program "tar" on this machine');
    // Unpacked into an empty folder: tar itself ensures that no link in the archive leads out of it.
    const { code, stderr } = await this.spawner.run([tar, '-xf', archive, '-C', folder], unpackMs);
    if (code) throw new Error(stderr.trim().replaceAll('\n', '; ') || 'tar has failed');
  }
}

async function versionOf(path: string): Promise<string> {
  const { mtimeMs, size, ino } = await stat(path);
  return `${path} ${mtimeMs} ${size} ${ino}`;
}
