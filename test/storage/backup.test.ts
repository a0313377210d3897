/**
 * Proves that `wherry backup` takes one consistent state of a running server during writes, that `wherry
 * restore` restores exactly that state, and that neither leaves partial files.
 */
import { execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdir, open, readdir, readFile, stat, writeFile } from 'node:fs/promises';
import { createServer, type ServerResponse } from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import { join } from 'node:path';
import { spawn as spawnTerminal } from '@lydell/node-pty';
import { describe, expect, it } from 'vitest';
import { readCommandLine } from '../../src/cli/options.ts';
import { backup, restore } from '../../src/cluster/store/backup.ts';
import { openMemoryStore } from '../../src/store/memory.ts';
import { Child, command } from '../support/child.ts';
import { inMemory, type Run, useCommand } from '../support/command.ts';
import { Client, type Json } from '../support/http.ts';
import { isRelease } from '../support/tier.ts';
import { randomFrom } from '../support/workload.ts';

const { children, answering: answeringWith, refused: refusedStart } = useCommand();
const collection = '/api/v1/namespaces/default/configmaps';
const secrets = '/api/v1/namespaces/default/secrets';

/**
 * What the command does with a file that it refuses: in this process with `npm test`, because the same functions read
 * lines and files; before a release in one of its own.
 */
async function refused(...args: string[]): Promise<Run> {
  if (isRelease) return run(...args);
  try {
    const line = readCommandLine(args, { environment: process.env });
    if (!('target' in line)) throw new Error(`neither backup nor restore: ${line.command}`);
    const show = (): void => undefined;
    if (line.command === 'backup') await backup(line.server, line.file, show);
    else await restore(line.file, line.target, show);
    return { code: 0, signal: null, stdout: '', stderr: '' };
  } catch (error) {
    return { code: 1, signal: null, stdout: '', stderr: `wherry: ${(error as Error).message}\n` };
  }
}

/** A server for a test that looks at what others do with it. */
const answering = () => answeringWith(...inMemory, '--secure-port', 'off');

async function run(...args: string[]): Promise<Run> {
  const child = new Child(args, await children.folder());
  return { ...(await child.exited), stdout: child.stdout, stderr: child.stderr };
}

/** Expects failure with one sentence on stderr, and no other output. */
function expectSentence({ code, stdout, stderr }: Run, says: RegExp | string): void {
  expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
  expect(stderr).toMatch(/^wherry: [^\n]+\n$/);
  expect(stderr).toMatch(says);
}

async function serve(...args: string[]): Promise<{ child: Child; url: string; client: Client }> {
  const child = new Child(['serve', '--port', '0', '--secure-port', 'off', ...args], await children.folder());
  const url = await child.ready();
  return { child, url, client: new Client(url) };
}

async function stop(child: Child): Promise<void> {
  child.signal('SIGTERM');
  expect(await child.exited, child.stderr).toEqual({ code: 0, signal: null });
}

/** Changes objects until told to stop; records every answer, by version. */
function write(client: Client, number: number): { versions: Map<number, Json>; stop(): Promise<void> } {
  const random = randomFrom(number);
  const versions = new Map<number, Json>();
  const note = (object: Json): void => void versions.set(Number(object.metadata.resourceVersion), object);
  let stopped = false;
  const done = (async () => {
    for (let count = 0; !stopped; count++) {
      const name = `w${number}-${random(20)}`;
      const data = { count: String(count), ballast: 'x'.repeat(random(3000)) };
      const path = `${collection}/${name}`;
      const reply =
        random(5) === 0 ? await client.delete(path) : await client.put(path, { metadata: { name }, data });
      if (reply.status === 404 && random(2) === 0)
        await client.post(collection, { metadata: { name }, data }).then(({ body }) => note(body));
      else if (reply.status === 200 && reply.body.kind === 'ConfigMap') note(reply.body);
    }
  })();
  return {
    versions,
    stop: async () => {
      stopped = true;
      await done;
    },
  };
}

const itemsOf = async (client: Client, path: string, query = ''): Promise<Json[]> =>
  (await client.get(`${path}${query}`)).body.items;

/** Both make the same file of one range; the one in memory has it in the memory of the process. */
const stores = [...(isRelease ? [['--in-memory']] : []), ['--data-dir', 'data']];

describe.each(stores)('a backup of a server with %s', (...store) => {
  it('taken under load restores to exactly the state at its version', async () => {
    const { child, url, client } = await serve(...store);
    await client.post(secrets, { metadata: { name: 's' }, data: { password: 'c2VjcmV0' } });
    for (let i = 0; i < 60; i++)
      await client.post(collection, {
        metadata: { name: `w${i % 4}-${i}` },
        data: { ballast: 'y'.repeat(20_000) },
      });
    const writers = [0, 1, 2, 3].map((number) => write(client, number));
    const file = join(await children.folder(), 'backup');
    const taken = await run('backup', file, '--server', url);
    for (const writer of writers) await writer.stop();
    expect(taken.stderr).toBe('');
    const [, objects, version] = /^Backed up (\d+) objects at version (\d+) to /.exec(taken.stdout)!;
    // Private, because it contains secrets.
    expect((await stat(file)).mode & 0o777).toBe(0o600);
    const query = `?resourceVersion=${version}&resourceVersionMatch=Exact`;
    const wanted = await Promise.all([collection, secrets].map((path) => itemsOf(client, path, query)));
    expect(wanted[0]!.length).toBeGreaterThan(20);
    await stop(child);

    const folder = join(await children.folder(), 'deep', 'data');
    const restored = await run('restore', file, '--data-dir', folder);
    expect(restored.stderr).toBe('');
    expect(restored.stdout).toBe(
      `Restored ${objects} objects into ${folder}; versions go on after ${Number(version) + 1e9}\n`,
    );
    const again = await serve('--data-dir', folder);
    const found = await Promise.all([collection, secrets].map((path) => itemsOf(again.client, path)));
    expect(found).toEqual(wanted);
    await knowsItsPast(again.client, Number(version));
    await stop(again.child);
  });
});

/** Older versions are too old, including those the old server gave out after the backup. */
async function knowsItsPast(client: Client, version: number): Promise<void> {
  for (const old of [version - 1, version, version + 1, version + 100_000]) {
    const watch = await client.watch(`${collection}?watch=1&resourceVersion=${old}`);
    expect((await watch.next()).object, `from ${old}`).toMatchObject({ code: 410, reason: 'Expired' });
    watch.close();
  }
  const { metadata, items } = (await client.get(collection)).body;
  const watch = await client.watch(`${collection}?watch=1&resourceVersion=${metadata.resourceVersion}`);
  const changed = await client.put(`${collection}/${items[0].metadata.name}`, {
    metadata: { name: items[0].metadata.name, resourceVersion: items[0].metadata.resourceVersion },
  });
  expect(changed.status).toBe(200);
  expect(changed.body.metadata.uid).toBe(items[0].metadata.uid);
  expect((await watch.next()).object).toEqual(changed.body);
  watch.close();
}

/** A backup of a few objects, made without a server. */
async function smallBackup(objects = 50, bytes = 2000): Promise<string> {
  const store = openMemoryStore();
  const writes = Array.from({ length: objects }, (_, i) => {
    const name = `c${i}`;
    const text = `{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"${name}","namespace":"default","selfLink":"${collection}/${name}","uid":"uid-${i}","creationTimestamp":"2026-01-01T00:00:00Z"},"data":{"a":"${'z'.repeat(bytes)}"}}`;
    return store.write({ key: `core/configmaps\0default\0${name}`, value: Buffer.from(text), expected: 0 });
  });
  await Promise.all(writes);
  const chunks: Buffer[] = [];
  for await (const chunk of store.backup()) chunks.push(chunk);
  await store.close();
  const file = join(await children.folder(), 'backup');
  await writeFile(file, Buffer.concat(chunks));
  return file;
}

describe('a backup that cannot be taken', () => {
  it('says why, and leaves what was there before', async () => {
    const { url, end } = await answering();
    const folder = await children.folder();
    const file = join(folder, 'backup');
    await writeFile(file, 'an older one');
    await end();
    expectSentence(
      await refused('backup', file, '--server', url),
      /^wherry: http:\/\/127\.0\.0\.1:\d+ cannot be reached: /,
    );
    expectSentence(await refused('backup', file, '--server', 'here'), '--server must be a URL, not "here"');
    for (const files of [[], ['a', 'b']])
      expectSentence(await refused('backup', ...files), 'backup takes one file: wherry backup FILE');
    expect(await readFile(file, 'utf8')).toBe('an older one');
    expect(await readdir(folder)).toEqual(['backup']);
  });

  it('says what is wrong with the file', async () => {
    const { url, end } = await answering();
    const folder = await children.folder();
    const nowhere = join(folder, 'no', 'such', 'folder');
    expectSentence(
      await refused('backup', nowhere, '--server', url),
      `wherry: ${nowhere} cannot be used: ENOENT`,
    );
    await mkdir(join(folder, 'folder'));
    expectSentence(
      await refused('backup', join(folder, 'folder'), '--server', url),
      'cannot be used: EISDIR',
    );
    expect(await readdir(folder)).toEqual(['folder']);
    await end();
  });

  it('is nothing when the server breaks off, sends something else, or knows of no backups', async () => {
    const bytes = await readFile(await smallBackup());
    const changed = Buffer.from(bytes);
    changed[5000]! ^= 1;
    const answers: readonly ((response: ServerResponse) => void)[] = [
      (response) => response.write(bytes.subarray(0, 60_000), () => response.destroy()),
      (response) => response.end(bytes.subarray(0, 60_000)),
      (response) => response.end(changed),
      (response) => response.writeHead(404).end('404 page not found'),
      (response) => response.writeHead(503).end('{"kind":"Status","message":"not now"}'),
    ];
    const server = createServer((_, response) => answers[calls++]!(response));
    let calls = 0;
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    const folder = await children.folder();
    for (const says of [
      'the server broke off the backup',
      `the backup from ${url} is damaged: it ends too early`,
      `the backup from ${url} is damaged: object 3 does not match its checksum`,
      `${url} gave no backup: it answered 404`,
      `${url} gave no backup: not now`,
    ]) {
      expectSentence(await refused('backup', join(folder, 'backup'), '--server', url), says);
      expect(await readdir(folder)).toEqual([]);
    }
    server.close();
  });

  it('is served to one who reads it, and not kept for one who does not', async () => {
    const { url, client, end } = await answering();
    expect((await client.post('/wherry/backup', {})).status).toBe(405);
    const { port } = new URL(url);
    const sockets = Array.from({ length: 3 }, () => connect(Number(port), '127.0.0.1'));
    for (const socket of sockets)
      socket.on('error', () => undefined).write('GET /wherry/backup HTTP/1.1\r\nHost: localhost\r\n\r\n');
    expect((await client.get('/wherry/backup')).headers['content-type']).toBe('application/octet-stream');
    for (const socket of sockets) socket.destroy();
    await end();
  });
});

describe('a restore', () => {
  it('refuses a folder that holds objects, and leaves it alone', async () => {
    const file = await smallBackup();
    const folder = join(await children.folder(), 'data');
    const { client, end } = await answeringWith('--port', '0', '--secure-port', 'off', '--data-dir', folder);
    const kept = await client.post(collection, { metadata: { name: 'kept' } });
    expectSentence(
      await refused('restore', file, '--data-dir', folder),
      `the data folder ${folder} is in use by process`,
    );
    await end();
    expectSentence(
      await refused('restore', file, '--data-dir', folder),
      `wherry: ${folder} holds objects already; restore into another folder`,
    );
    const again = await answeringWith('--port', '0', '--secure-port', 'off', '--data-dir', folder);
    expect((await again.client.get(`${collection}/kept`)).text).toBe(kept.text);
    await again.end();
  });

  it('refuses a file that is cut off, changed, or no backup, and leaves nothing behind', async () => {
    const file = await smallBackup();
    const bytes = await readFile(file);
    const changed = Buffer.from(bytes);
    changed[5000]! ^= 1;
    const folder = join(await children.folder(), 'data');
    for (const [content, says] of [
      [bytes.subarray(0, bytes.length / 2), `the backup ${file} is damaged: it ends too early`],
      [bytes.subarray(0, bytes.length - 1), `the backup ${file} is damaged: it ends too early`],
      [changed, `the backup ${file} is damaged: object 3 does not match its checksum`],
      [Buffer.from('{}'), `${file} is not a backup of Wherry`],
      [Buffer.alloc(0), `${file} is not a backup of Wherry`],
    ] as const) {
      await writeFile(file, content);
      expectSentence(await refused('restore', file, '--data-dir', folder), says);
      expect(await readdir(folder)).toEqual([]);
    }
    expectSentence(
      await refused('restore', join(folder, 'none'), '--data-dir', folder),
      'cannot be used: ENOENT',
    );
  });

  it('that is killed leaves no store, and one that is run again comes to its end', async () => {
    const file = await smallBackup(1000, 10_000);
    const bytes = await readFile(file);
    const folder = join(await children.folder(), 'data');
    // The file comes through a pipe, and its second half is never sent.
    const pipe = join(await children.folder(), 'pipe');
    execFileSync('mkfifo', [pipe]);
    const killed = new Child(['restore', pipe, '--data-dir', folder]);
    const source = await open(pipe, 'w');
    await source.write(bytes.subarray(0, bytes.length / 2));
    await killed.kill();
    await source.close();
    expect(existsSync(join(folder, 'restoring', 'data.mdb'))).toBe(true);
    expect(existsSync(join(folder, 'data.mdb'))).toBe(false);
    expectSentence(
      await refusedStart('serve', '--port', '0', '--data-dir', folder),
      `wherry: a restore into ${folder} has not come to its end; run it again, or delete ${join(folder, 'restoring')}`,
    );
    expect((await run('restore', file, '--data-dir', folder)).code).toBe(0);
    expect(await readdir(folder)).toEqual(['data.mdb']);
    const { client, end } = await answeringWith('--port', '0', '--secure-port', 'off', '--data-dir', folder);
    expect((await client.get(`${collection}?limit=1`)).body.metadata.remainingItemCount).toBe(999);
    await end();
  });
});

describe('on a terminal', () => {
  it('backup and restore show how far they are, and in the end what they have done', async () => {
    const { url, client, end } = await answering();
    await client.post(collection, { metadata: { name: 'a' } });
    const folder = await children.folder();
    const shown = (...args: string[]): Promise<string> =>
      new Promise((resolve) => {
        let text = '';
        const pty = spawnTerminal(process.execPath, [command, ...args], { cwd: folder, cols: 120 });
        pty.onData((data) => {
          text += data;
        });
        pty.onExit(() => resolve(text));
      });
    expect(await shown('backup', 'file', '--server', url)).toMatch(
      /^\rBacking up: \d+ objects, [\d.]+ (bytes|KB).*\r +\rBacked up \d+ objects at version \d+ to file\r\n$/s,
    );
    expect(await shown('restore', 'file', '--data-dir', 'again')).toMatch(
      /^\rRestoring: \d+ objects, ([\d.]+ (?:bytes|KB)) of \1 \(100%\).*\r +\rRestored \d+ objects into again; .*\r\n$/s,
    );
    await end();
  });
});
