/**
 * What tests need to run container engines: started in temporary folders on their own sockets, and ended with everything
 * they have made. The image is made on the spot from a static busybox.
 */
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { copyFile, mkdir, rm, symlink, writeFile } from 'node:fs/promises';
import { delimiter, join } from 'node:path';
import { mountsBelow } from '../../machine/folder-care.ts';
import { goArch } from '../../machine/machine.ts';
import type { EngineCalls } from './container-engine.ts';
import type { ImageStore } from './engine-images.ts';

/** An engine that a test has started. */
export interface TestEngine {
  readonly socket: string;
  readonly calls: EngineCalls;
  readonly store: ImageStore;
  /** Ids of all containers and sandboxes. */
  containers(): Promise<string[]>;
  killSandbox(uid: string): Promise<void>;
  /** Makes a container of another program; returns the ids of what it consists of. */
  makeStranger(image?: string): Promise<string[]>;
  close(): Promise<void>;
}

/** `WHERRY_ENGINE_PATH` names folders with other versions of engines, to run the tests with them. */
const otherFolders = (process.env.WHERRY_ENGINE_PATH ?? '').split(delimiter).filter(Boolean);
const folders = [
  ...otherFolders,
  ...['/usr/sbin', '/usr/bin', '/sbin', '/bin'],
  ...(process.env.PATH ?? '').split(delimiter),
];
/** Engines find their helpers by it. */
export const enginePath = folders.join(delimiter);

export const programOf = (name: string): string | undefined =>
  folders.map((folder) => join(folder, name)).find((path) => existsSync(path));

/** A busybox that needs no libraries. */
const busybox = (): string | undefined =>
  folders.map((folder) => join(folder, 'busybox')).find((path) => existsSync(path) && isStatic(path));

/** An executable without an interpreter: its program headers have none of that type (3). */
function isStatic(path: string): boolean {
  const file = readFileSync(path);
  const [offset, size, count] = [
    Number(file.readBigUInt64LE(32)),
    file.readUInt16LE(54),
    file.readUInt16LE(56),
  ];
  return Array.from({ length: count }, (_, i) => file.readUInt32LE(offset + i * size)).every(
    (type) => type !== 3,
  );
}

/** Where Debian has the network plugins. */
export const pluginFolder = '/usr/lib/cni';

const needs = {
  docker: ['dockerd', 'containerd', 'runc', 'tar'],
  containerd: ['containerd', 'ctr', 'runc', 'tar'],
} as const;

function missing(engine: keyof typeof needs): string | undefined {
  if (process.platform !== 'linux') return 'it needs Linux';
  if (process.getuid?.() !== 0) return 'it takes the rights of root';
  for (const name of needs[engine]) if (!programOf(name)) return `there is no program called ${name}`;
  if (engine === 'containerd')
    for (const name of ['bridge', 'host-local', 'loopback'])
      if (!existsSync(join(pluginFolder, name))) return `there is no network plugin called ${name}`;
  return busybox() ? undefined : 'there is no static busybox';
}

/** An engine, or why tests with it are left out. */
export interface Tried<T> {
  readonly engine?: T;
  readonly problem?: string;
  /** For names of tests. */
  readonly note: string;
}

/**
 * Starts an engine and runs a container in it. Many machines have engines and cannot run them, in a container for
 * example: then its tests are left out, unless `WHERRY_ENGINES=required`.
 */
export async function tryEngine<T extends TestEngine>(
  name: keyof typeof needs,
  start: () => Promise<T>,
  before?: string,
): Promise<Tried<T>> {
  let problem = before ?? missing(name);
  if (!problem) {
    try {
      return { engine: await start(), note: '' };
    } catch (error) {
      problem = `it cannot run here: ${(error as Error).message.slice(-500)}`;
    }
  }
  if (process.env.WHERRY_ENGINES === 'required')
    throw new Error(`tests with engines are required, and ${name} is left out: ${problem}`);
  process.stderr.write(`Tests with ${name} are SKIPPED: ${problem}\n`);
  return { problem, note: ` (left out: ${problem})` };
}

/** Removes the folder of an engine that has ended, with mounts that it has left. */
export async function removeEngine(folder: string): Promise<void> {
  for (const { point } of await mountsBelow(folder)) execFileSync('umount', ['-l', point]);
  await rm(folder, { recursive: true, force: true });
}

export const testImage = 'localhost/busybox:1';

export const testImageConfig = {
  Cmd: ['sh', '-c', 'echo from the image; sleep 3600'],
  Env: ['PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin', 'FROM_IMAGE=yes'],
  WorkingDir: '/www',
};

const digestOf = (content: Buffer): string => `sha256:${createHash('sha256').update(content).digest('hex')}`;

/** The parts of an image with one layer, as registries and archives have them. */
export function imageParts(layer: Buffer, config: object) {
  const content = Buffer.from(
    JSON.stringify({
      architecture: goArch(),
      os: 'linux',
      config,
      rootfs: { type: 'layers', diff_ids: [digestOf(layer)] },
    }),
  );
  const part = (mediaType: string, bytes: Buffer) => ({
    mediaType,
    size: bytes.length,
    digest: digestOf(bytes),
  });
  const manifest = Buffer.from(
    JSON.stringify({
      schemaVersion: 2,
      mediaType: 'application/vnd.docker.distribution.manifest.v2+json',
      config: part('application/vnd.docker.container.image.v1+json', content),
      layers: [part('application/vnd.docker.image.rootfs.diff.tar', layer)],
    }),
  );
  return { layer, config: content, manifest, digestOf };
}

/** Writes an image into a tar archive, as `docker save` does. */
export async function writeImageArchive(
  folder: string,
  name: string,
  layer: Buffer,
  config: object,
): Promise<string> {
  await mkdir(folder, { recursive: true });
  const parts = imageParts(layer, config);
  await writeFile(join(folder, 'layer.tar'), layer);
  await writeFile(join(folder, 'config.json'), parts.config);
  await writeFile(
    join(folder, 'manifest.json'),
    JSON.stringify([{ Config: 'config.json', RepoTags: [name], Layers: ['layer.tar'] }]),
  );
  const names = ['manifest.json', 'config.json', 'layer.tar'];
  execFileSync(programOf('tar')!, ['-C', folder, '-cf', `${folder}.tar`, ...names]);
  return `${folder}.tar`;
}

/** The root of an image with busybox and a few users, as a tar archive. */
export async function busyboxRoot(folder: string): Promise<Buffer> {
  const root = join(folder, 'root');
  const program = busybox()!;
  for (const name of ['bin', 'etc', 'tmp', 'home', 'www']) await mkdir(join(root, name), { recursive: true });
  await copyFile(program, join(root, 'bin/busybox'));
  const names = execFileSync(program, ['--list'], { encoding: 'utf8' }).split('\n');
  for (const name of names) if (name && name !== 'busybox') await symlink('busybox', join(root, 'bin', name));
  await writeFile(join(root, 'etc/passwd'), 'root:x:0:0::/:/bin/sh\nweb:x:1000:1000::/home:/bin/sh\n');
  await writeFile(join(root, 'etc/group'), 'root:x:0:\nweb:x:1000:\n');
  await writeFile(join(root, 'www/index.html'), 'hello from the image\n');
  return execFileSync(programOf('tar')!, ['-C', root, '-cf', '-', '.'], { maxBuffer: 64 * 1024 * 1024 });
}
