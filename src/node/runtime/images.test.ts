import { chmod, mkdtemp, rm, utimes, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { ImageTable, ImageTableError } from './images.ts';
import { ImageError } from './runtime.ts';

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'wherry-images-'));
});
afterEach(() => rm(folder, { recursive: true, force: true }));

async function table(text: string): Promise<ImageTable> {
  const file = join(folder, 'images.yaml');
  await writeFile(file, text);
  return ImageTable.open(file, () => folder);
}

describe('the table of images', () => {
  it('takes command lines, lists and maps, in YAML or JSON', async () => {
    // Proves every form of an entry, and shell-like splitting of a line.
    const images = await table(
      [
        `nginx: nginx -g "daemon off;" 'a b' c\\ d ""`,
        'api: [node, /srv/main.js]',
        'worker: {command: [node, w.js], args: [-v], env: {MODE: dev}, workingDir: /srv}',
      ].join('\n'),
    );
    expect(await images.resolve('nginx')).toEqual({
      entrypoint: ['nginx', '-g', 'daemon off;', 'a b', 'c d', ''],
      args: [],
    });
    expect(await images.resolve('api:3')).toEqual({ entrypoint: ['node', '/srv/main.js'], args: [] });
    expect(await images.resolve('worker@sha256:00')).toEqual({
      entrypoint: ['node', 'w.js'],
      args: ['-v'],
      env: { MODE: 'dev' },
      workingDir: '/srv',
    });
    const json = await table('{"a": "b c"}');
    expect((await json.resolve('a')).entrypoint).toEqual(['b', 'c']);
  });

  it('knows images without an entry point', async () => {
    // Proves images with default arguments only, or with nothing at all.
    const images = await table('busybox: {args: [sh]}\nscratch: {}\nempty: {command: [], env: {A: b}}');
    expect(await images.resolve('busybox')).toMatchObject({ entrypoint: [], args: ['sh'] });
    expect(await images.resolve('scratch')).toMatchObject({ entrypoint: [], args: [] });
    expect(await images.resolve('empty')).toMatchObject({ entrypoint: [], args: [], env: { A: 'b' } });
  });

  it('lets the longest name win, with or without a tag', async () => {
    // Proves which entry an image matches, and that a name never matches as a prefix of another.
    const images = await table('web: any\nweb:2: two\nregistry.io:5000/web: far\nnginx: en');
    const command = async (image: string): Promise<string> => (await images.resolve(image)).entrypoint[0]!;
    expect(await command('web')).toBe('any');
    expect(await command('web:1')).toBe('any');
    expect(await command('web:2')).toBe('two');
    expect(await command('web:2@sha256:ab')).toBe('two');
    expect(await command('registry.io:5000/web:2')).toBe('far');
    expect(await command('docker.io/library/nginx:1.27')).toBe('en');
    await expect(command('website')).rejects.toBeInstanceOf(ImageError);
  });

  it('says as whom an image runs, and where its files are', async () => {
    const images = await table(
      'a: { user: 1000, paths: { /ko-app/tool: ./bin/tool, /etc/a: /srv/a } }\nb: { user: "web:staff" }',
    );
    expect(await images.resolve('a')).toMatchObject({
      entrypoint: [],
      user: '1000',
      paths: { '/ko-app/tool': join(folder, 'bin/tool'), '/etc/a': '/srv/a' },
    });
    expect(await images.resolve('b')).toMatchObject({ user: 'web:staff' });
  });

  it('refuses tables nobody could mean', async () => {
    // Proves that errors in the file are reported with the entry's name.
    for (const [text, message] of [
      ['[a, b]', 'it must be a map'],
      ['a: 3', '"a": give a command line'],
      ['a: ""', '"a": the command is empty'],
      ['a: {command: ""}', '"a": the command is empty'],
      ['a: {command: [""]}', '"a": the command is empty'],
      ['a: {command: [x], arg: [y]}', '"a": unknown field "arg"'],
      ['a: {command: [x], env: {A: 1}}', '"a": env is a map of texts'],
      ['a: {user: "a b"}', '"a": user is a number or a name'],
      ['a: {paths: [x]}', '"a": paths is a map from absolute paths'],
      ['a: {paths: {x: ./y}}', '"a": paths is a map from absolute paths'],
      ['a: {paths: {/x/: ./y}}', '"a": paths is a map from absolute paths'],
      ['a: {paths: {/x: 3}}', '"a": paths is a map from absolute paths'],
      [`a: sh -c 'open`, 'quote is not closed'],
      ['a: [', 'image table'],
    ] as const) {
      const opened = table(text);
      await expect(opened).rejects.toBeInstanceOf(ImageTableError);
      await expect(opened).rejects.toThrow(message);
    }
  });

  it('is read again when it has changed', async () => {
    // Proves that a waiting pod gets its command without a restart of the agent.
    const images = await table('a: one');
    await expect(images.resolve('late')).rejects.toThrow('add an entry for it to');
    await writeFile(join(folder, 'images.yaml'), 'late: now it is here');
    await utimes(join(folder, 'images.yaml'), 1, 1);
    expect((await images.resolve('late')).entrypoint).toEqual(['now', 'it', 'is', 'here']);
    await writeFile(join(folder, 'images.yaml'), 'late: 7');
    await expect(images.resolve('late')).rejects.toBeInstanceOf(ImageError);
  });
});

describe('images without an entry', () => {
  it('are programs of this machine by the last part of their name', async () => {
    // Proves the lookup in PATH, and that only executable files count.
    await writeFile(join(folder, 'tool'), '#!/bin/sh\n');
    await writeFile(join(folder, 'text'), '');
    await chmod(join(folder, 'tool'), 0o755);
    const images = await ImageTable.open(undefined, () => folder);
    expect(await images.resolve('quay.io/team/tool:1.2')).toEqual({
      entrypoint: [join(folder, 'tool')],
      args: [],
    });
    await expect(images.resolve('text')).rejects.toBeInstanceOf(ImageError);
    await expect(images.resolve('..')).rejects.toBeInstanceOf(ImageError);
    await expect(images.resolve('')).rejects.toBeInstanceOf(ImageError);
  });

  it('say what to do', async () => {
    // Proves that the message of ErrImagePull names the possible remedies.
    const images = await ImageTable.open(undefined, () => folder);
    const failed = images.resolve('acme/shop:7');
    for (const part of [
      '"acme/shop:7"',
      "Set the container's command",
      '--images FILE',
      'program named "shop"',
    ])
      await expect(failed).rejects.toThrow(part);
    await expect(images.resolve('host')).rejects.toThrow('this machine');
  });
});
