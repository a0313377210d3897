/**
 * Combines the layers of an image. Each is unpacked into a folder of its own and then moved into place piece by piece,
 * so that a link in a lower layer cannot lead a file of a higher one out of the image. Devices, sockets and pipes are
 * left out.
 */
import { chmod, lchown, lstat, mkdir, readdir, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';

/** A file with this prefix in a layer removes the file with the rest of its name from the layers below. */
const whiteout = '.wh.';
/** A file of this name removes everything that the layers below have in its folder. */
const opaque = '.wh..wh..opq';

/** Moves the files of an unpacked layer into the folder of the image. */
export async function applyLayer(layer: string, image: string): Promise<void> {
  const names = await readdir(layer);
  if (names.includes(opaque))
    for (const name of await readdir(image)) await rm(join(image, name), { recursive: true, force: true });
  for (const name of names.filter((one) => one.startsWith(whiteout) && one !== opaque)) {
    const removed = name.slice(whiteout.length);
    if (['', '.', '..'].includes(removed)) throw new Error(`a layer has a file called ${name}`);
    await rm(join(image, removed), { recursive: true, force: true });
  }
  for (const name of names.filter((one) => !one.startsWith(whiteout)))
    await place(join(layer, name), join(image, name));
}

async function place(from: string, to: string): Promise<void> {
  const stats = await lstat(from);
  if (stats.isDirectory()) {
    const there = await lstat(to).catch(() => undefined);
    if (there && !there.isDirectory()) await rm(to);
    if (!there?.isDirectory()) await mkdir(to);
    // Writable until its files are moved into it.
    await chmod(to, 0o700);
    await applyLayer(from, to);
    if (process.getuid?.() === 0) await lchown(to, stats.uid, stats.gid);
    await chmod(to, stats.mode & 0o7777);
  } else if (stats.isFile() || stats.isSymbolicLink()) {
    await rm(to, { recursive: true, force: true });
    await rename(from, to);
  }
}
