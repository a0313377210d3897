/**
 * Proves that a full or read-only disk, a damaged data file, and a lack of file descriptors lead to a clear
 * message: acknowledged writes stay, impossible ones are refused, and no answer is wrong.
 */
import { spawnSync } from 'node:child_process';
import { chmod, readdir, readFile, truncate, writeFile } from 'node:fs/promises';
import { connect, type Socket } from 'node:net';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { Child, useChildren } from '../support/child.ts';
import { Client } from '../support/http.ts';

const children = useChildren();
const collection = '/api/v1/namespaces/default/configmaps';
const isRoot = process.getuid?.() === 0;
const mebibyte = 1024 * 1024;

const mounts: string[] = [];
afterAll(() => {
  for (const path of mounts) spawnSync('umount', ['-l', path]);
});

/** A small file system for the test; undefined where this user may not mount one. */
async function smallDisk(bytes: number): Promise<string | undefined> {
  if (!isRoot) return undefined;
  const path = await children.folder();
  if (spawnSync('mount', ['-t', 'tmpfs', '-o', `size=${bytes}`, 'tmpfs', path]).status !== 0)
    return undefined;
  mounts.push(path);
  return path;
}

const remount = (path: string, options: string): void =>
  expect(spawnSync('mount', ['-o', `remount,${options}`, path], { encoding: 'utf8' }).stderr).toBe('');

const serveArgs = (folder: string): string[] => [
  'serve',
  '--port',
  '0',
  '--secure-port',
  'off',
  '--data-dir',
  folder,
];

async function serve(
  folder: string,
  limits?: string,
): Promise<{ child: Child; url: string; client: Client }> {
  const child = new Child(serveArgs(folder), undefined, limits);
  const url = await child.ready();
  return { child, url, client: new Client(url) };
}

async function stop(child: Child): Promise<void> {
  child.signal('SIGTERM');
  expect(await child.exited, child.stderr).toEqual({ code: 0, signal: null });
}

/** The sentence with which a server refuses to start. */
async function refusal(folder: string): Promise<string> {
  const child = new Child(serveArgs(folder));
  const exit = await child.exited;
  expect({ ...exit, stdout: child.stdout }, child.stderr).toEqual({ code: 1, signal: null, stdout: '' });
  // LMDB may print its own message before it.
  expect(child.stderr).toMatch(/wherry: [^\n]+\n$/);
  return child.stderr.slice(child.stderr.lastIndexOf('wherry: ') + 8, -1);
}

const create = (client: Client, name: string, bytes: number) =>
  client.post(collection, { metadata: { name }, data: { ballast: 'x'.repeat(bytes) } });

const namesOf = async (client: Client): Promise<string[]> =>
  (await client.get(collection)).body.items.map(
    ({ metadata }: { metadata: { name: string } }) => metadata.name,
  );

describe('a full disk', () => {
  it('refuses writes with a sentence, keeps what was acknowledged, and is over when there is room', async (context) => {
    const disk = await smallDisk(3 * mebibyte);
    if (!disk) return context.skip('this user may not mount a disk');
    const folder = join(disk, 'data');
    const { child, client } = await serve(folder);
    const acknowledged: string[] = [];
    const refused = new Set<string>();
    for (let i = 0; i < 60; i++) {
      const name = `c${String(i).padStart(2, '0')}`;
      const reply = await create(client, name, 100_000);
      if (reply.status === 200) acknowledged.push(name);
      else refused.add(`${reply.status} ${reply.body.message}`);
    }
    expect([...refused]).toEqual([`503 the disk of the data folder ${folder} is full`]);
    expect(acknowledged.length).toBeGreaterThan(10);
    expect(await namesOf(client)).toEqual(acknowledged);
    remount(disk, `size=${16 * mebibyte}`);
    expect((await create(client, 'later', 100_000)).status).toBe(200);
    await child.kill();
    const again = await serve(folder);
    expect(await namesOf(again.client)).toEqual([...acknowledged, 'later']);
    await stop(again.child);
  });

  it('is told when a server is to start on it, however little room there is, and leaves nothing behind', async (context) => {
    const size = 400 * 1024;
    const disk = await smallDisk(size);
    if (!disk) return context.skip('this user may not mount a disk');
    const folder = join(disk, 'data');
    for (const free of [0, 20 * 1024, 24 * 1024, 120 * 1024]) {
      await writeFile(join(disk, 'filler'), '');
      await writeFile(join(disk, 'filler'), Buffer.alloc(size - free));
      expect(await refusal(folder), `${free} bytes`).toBe(`the disk of the data folder ${folder} is full`);
      expect((await readdir(folder)).filter((name) => name !== 'owner')).toEqual([]);
    }
    await writeFile(join(disk, 'filler'), '');
    const { child } = await serve(folder);
    await stop(child);
  });
});

describe('a folder that cannot be written', () => {
  it('is told, and its objects are left alone', async (context) => {
    const disk = await smallDisk(3 * mebibyte);
    if (isRoot && !disk) return context.skip('this user may not mount a disk');
    const folder = join(disk ?? (await children.folder()), 'data');
    const { child, client } = await serve(folder);
    await create(client, 'kept', 10);
    await stop(child);
    const before = await readFile(join(folder, 'data.mdb'));
    if (disk) remount(disk, 'ro');
    else await chmod(folder, 0o500);
    expect(await refusal(folder)).toMatch(
      new RegExp(`^the data folder ${folder} cannot be read and written \\((EROFS|EACCES)\\)$`),
    );
    if (disk) remount(disk, 'rw');
    else await chmod(folder, 0o700);
    expect((await readFile(join(folder, 'data.mdb'))).equals(before)).toBe(true);
    const again = await serve(folder);
    expect(await namesOf(again.client)).toEqual(['kept']);
    await stop(again.child);
  });
});

/** `src/store/damage.alone.test.ts` damages files in many more ways; this tests the server's message. */
describe('a damaged data file', () => {
  it('keeps a server from starting, with a sentence', async () => {
    const folder = join(await children.folder(), 'data');
    const { child, client } = await serve(folder);
    for (let i = 0; i < 30; i++) await create(client, `c${i}`, 3000);
    await stop(child);
    const file = join(folder, 'data.mdb');
    const whole = await readFile(file);
    const damaged = (why: string): RegExp => new RegExp(`^the data file .* is damaged: ${why}`);
    await truncate(file, whole.length / 2);
    expect(await refusal(folder)).toMatch(damaged('page \\d+ is not in the file|the value in page'));
    await writeFile(file, '');
    expect(await refusal(folder)).toMatch(damaged('it is empty; delete it to start anew'));
    const changed = Buffer.from(whole);
    changed[changed.lastIndexOf('xxxxxxxx')]! ^= 1;
    await writeFile(file, changed);
    expect(await refusal(folder)).toMatch(damaged('revision \\d+ does not match its checksum'));
    await writeFile(file, whole);
    const again = await serve(folder);
    expect(await namesOf(again.client)).toHaveLength(30);
    await stop(again.child);
  });
});

describe('a server without file descriptors', () => {
  it('answers those it has taken, and new ones as soon as it can', async () => {
    const { child, url, client } = await serve(join(await children.folder(), 'data'), 'ulimit -n 120');
    const port = Number(new URL(url).port);
    const first = new Talk(port);
    expect(await first.ask('GET /healthz')).toMatch(/^HTTP\/1.1 200 /);
    const crowd = Array.from({ length: 300 }, () => connect(port, '127.0.0.1').on('error', () => undefined));
    await Promise.all(
      crowd.map((socket) => new Promise((resolve) => socket.once('connect', resolve).once('close', resolve))),
    );
    for (let i = 0; i < 20; i++)
      expect(await first.ask('GET /api/v1/namespaces/default')).toMatch(/^HTTP\/1.1 200 /);
    // Writing needs no further descriptor.
    const body = JSON.stringify({ metadata: { name: 'in-need' } });
    expect(
      await first.ask(
        `POST ${collection}`,
        `Content-Type: application/json\r\nContent-Length: ${body.length}\r\n`,
        body,
      ),
    ).toMatch(/^HTTP\/1.1 200 /);
    for (const socket of crowd) socket.destroy();
    first.close();
    await expect
      .poll(async () => (await client.get(`${collection}/in-need`).catch(() => undefined))?.status)
      .toBe(200);
    await stop(child);
  });
});

/** One kept connection, one request after the other. */
class Talk {
  readonly #socket: Socket;
  #text = '';
  #heard: () => void = () => undefined;

  constructor(port: number) {
    this.#socket = connect(port, '127.0.0.1').setEncoding('utf8');
    this.#socket.on('error', () => undefined).on('close', () => this.#heard());
    this.#socket.on('data', (text: string) => {
      this.#text += text;
      this.#heard();
    });
  }

  /** The answer, up to its Content-Length. */
  async ask(line: string, headers = '', body = ''): Promise<string> {
    this.#text = '';
    this.#socket.write(`${line} HTTP/1.1\r\nHost: localhost\r\n${headers}\r\n${body}`);
    for (;;) {
      const [head, rest] = this.#text.split('\r\n\r\n', 2) as [string, string?];
      const length = /content-length: (\d+)/i.exec(head)?.[1];
      if (rest !== undefined && rest.length >= Number(length)) return this.#text;
      if (this.#socket.destroyed) return '';
      await new Promise<void>((resolve) => {
        this.#heard = resolve;
      });
    }
  }

  close(): void {
    this.#socket.destroy();
  }
}
