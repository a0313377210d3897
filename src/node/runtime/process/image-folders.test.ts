/** Proves that volumes get the files of an image from a folder, an archive or an OCI image, and nothing from elsewhere. */
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdir, mkdtemp, readdir, readFile, readlink, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { goArch, goOs } from '../../machine/machine.ts';
import { Spawner } from '../../process/spawner.ts';
import { ImageTable } from '../images.ts';
import { ImageFolders } from './image-folders.ts';

let folder: string;
let spawner: Spawner;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'wherry-images-'));
  spawner = new Spawner();
});

afterEach(async () => {
  spawner.close();
  await rm(folder, { recursive: true, force: true });
});

/** Files by path: text, or a link to a path. */
type Tree = Record<string, string | { readonly to: string }>;

async function make(name: string, tree: Tree): Promise<string> {
  const root = join(folder, name);
  for (const [path, content] of Object.entries(tree)) {
    const whole = join(root, path);
    await mkdir(join(whole, '..'), { recursive: true });
    if (typeof content === 'string') await writeFile(whole, content);
    else await symlink(content.to, whole);
  }
  return root;
}

function packed(root: string, ...options: string[]): string {
  execFileSync('tar', ['-cf', `${root}.tar`, ...options, '-C', root, '.']);
  return `${root}.tar`;
}

/** An OCI image layout of layers, in an index with other platforms. */
async function layout(name: string, layers: readonly string[]): Promise<string> {
  const root = join(folder, name);
  const blobs = join(root, 'blobs/sha256');
  await mkdir(blobs, { recursive: true });
  const add = async (mediaType: string, bytes: Buffer | string): Promise<object> => {
    const hex = createHash('sha256').update(bytes).digest('hex');
    await writeFile(join(blobs, hex), bytes);
    return { mediaType, digest: `sha256:${hex}`, size: bytes.length };
  };
  const found = [];
  for (const layer of layers)
    found.push(await add('application/vnd.oci.image.layer.v1.tar+gzip', await readFile(layer)));
  const manifest = await add('application/vnd.oci.image.manifest.v1+json', JSON.stringify({ layers: found }));
  const foreign = { digest: `sha256:${'0'.repeat(64)}`, platform: { os: 'plan9', architecture: 'mips' } };
  const own = { ...manifest, platform: { os: goOs(), architecture: goArch() } };
  await writeFile(join(root, 'oci-layout'), '{"imageLayoutVersion":"1.0.0"}');
  await writeFile(join(root, 'index.json'), JSON.stringify({ manifests: [foreign, own] }));
  return root;
}

async function folders(table: string): Promise<ImageFolders> {
  const file = join(folder, 'images.yaml');
  await writeFile(file, table);
  return new ImageFolders(await ImageTable.open(file), join(folder, 'unpacked'), spawner);
}

test('a folder is used where it is', async () => {
  const root = await make('files', { 'a/b': 'text' });
  const images = await folders('example.com/data: { files: files }');
  expect(await images.folderOf('example.com/data:1')).toBe(root);
  await expect(images.folderOf('example.com/other')).rejects.toThrow(
    'image "example.com/other" cannot be pulled: add an entry with "files"',
  );
  await rm(root, { recursive: true });
  await expect(images.folderOf('example.com/data')).rejects.toThrow('ENOENT');
});

test('an archive is unpacked once, and again when it has changed', async () => {
  const archive = packed(await make('files', { 'a/b': 'first' }), '-z');
  const images = await folders(`data: { files: ${archive} }`);
  const [one, other] = await Promise.all([images.folderOf('data'), images.folderOf('data')]);
  expect(one).toBe(other);
  expect(await readFile(join(one!, 'a/b'), 'utf8')).toBe('first');
  packed(await make('files', { 'a/b': 'second, which is longer' }));
  const next = await images.folderOf('data');
  expect(next).not.toBe(one);
  expect(await readFile(join(next, 'a/b'), 'utf8')).toBe('second, which is longer');
  await images.clear();
  expect(await readFile(join(await images.folderOf('data'), 'a/b'), 'utf8')).toBe('second, which is longer');
});

test('layers of an OCI image cover each other', async () => {
  const low = packed(
    await make('low', {
      keep: '1',
      change: '1',
      gone: '1',
      'd/old': '1',
      'e/x': '1',
      l: { to: 'keep' },
      f: '1',
    }),
    '-z',
  );
  const high = packed(
    await make('high', {
      change: '2',
      '.wh.gone': '',
      'd/.wh..wh..opq': '',
      'd/new': '2',
      'e/y': '2',
      'f/g': '2',
    }),
    '-z',
  );
  await layout('image', [low, high]);
  packed(join(folder, 'image'));
  const images = await folders('folder: { files: image }\narchive: { files: image.tar }');
  for (const image of ['folder', 'archive']) {
    const root = await images.folderOf(image);
    expect((await readdir(root)).sort()).toEqual(['change', 'd', 'e', 'f', 'keep', 'l']);
    expect(await readFile(join(root, 'change'), 'utf8')).toBe('2');
    expect(await readdir(join(root, 'd'))).toEqual(['new']);
    expect((await readdir(join(root, 'e'))).sort()).toEqual(['x', 'y']);
    expect(await readdir(join(root, 'f'))).toEqual(['g']);
    expect(await readlink(join(root, 'l'))).toBe('keep');
  }
});

test('a layer cannot write or remove through a link of a lower one', async () => {
  const outside = await make('outside', { kept: 'safe' });
  const low = packed(await make('low', { door: { to: outside } }));
  const high = packed(await make('high', { 'door/kept': 'taken', 'door/.wh.kept': '', 'door/new': 'x' }));
  await layout('image', [low, high]);
  const root = await (await folders('image: { files: image }')).folderOf('image');
  expect(await readFile(join(outside, 'kept'), 'utf8')).toBe('safe');
  expect(await readdir(outside)).toEqual(['kept']);
  expect((await readdir(join(root, 'door'))).sort()).toEqual(['kept', 'new']);
});

test('what is no image says so', async () => {
  await writeFile(join(folder, 'text'), 'no archive');
  await make('broken', { 'oci-layout': '{}', 'index.json': '{"manifests":[{"digest":"sha256:../../etc"}]}' });
  const up = packed(await make('up', { '.wh...': '' }));
  await layout('upwards', [up]);
  const images = await folders('text: { files: text }\nbroken: { files: broken }\nup: { files: upwards }');
  await expect(images.folderOf('text')).rejects.toThrow('tar');
  await expect(images.folderOf('broken')).rejects.toThrow('is not a digest');
  await expect(images.folderOf('up')).rejects.toThrow('a layer has a file called .wh...');
});
