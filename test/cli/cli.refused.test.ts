/** Proves that a start that is not possible fails with one sentence, and does not touch foreign files. */
import { existsSync, readFileSync } from 'node:fs';
import { mkdir, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { expectSentence, stop, useCommand } from '../support/command.ts';

const configMaps = '/api/v1/namespaces/default/configmaps';
const { children, refused, run, serving } = useCommand();

describe('a start that cannot be', () => {
  it('says that the port is taken', async () => {
    const server = createServer();
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const { port } = server.address() as { port: number };
    const taken = await run('up', '--port', String(port), '--in-memory');
    expectSentence(taken, new RegExp(`port ${port} on 127\\.0\\.0\\.1 is taken`));
    server.close();
  });

  it('says so, and leaves the folder to others', async () => {
    const folder = await children.folder();
    const server = createServer();
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const { port } = server.address() as { port: number };
    expectSentence(await run('up', '--port', String(port), '--data-dir', folder), /taken/);
    server.close();
    const { child } = await serving('serve', '--port', '0', '--data-dir', folder);
    await stop(child);
  });

  it('says that the data folder is a file, or below one', async () => {
    const folder = await children.folder();
    const file = join(folder, 'file');
    await writeFile(file, 'not a folder');
    for (const path of [file, join(file, 'below')])
      expectSentence(await refused('serve', '--port', '0', '--data-dir', path), /file/);
    expect(readFileSync(file, 'utf8')).toBe('not a folder');
  });

  it('says that the data folder cannot be made or written', async () => {
    const folder = await children.folder();
    await mkdir(join(folder, 'closed'), { mode: 0o555 });
    const paths = [join(folder, 'x'.repeat(300)), '/sys/wherry', '/sys/nope/deep'];
    if (existsSync('/proc/self')) paths.push('/proc/nope', '/proc/nope/deep');
    // Not as root, who may write everywhere.
    if (process.getuid?.() !== 0) paths.push(join(folder, 'closed'), join(folder, 'closed', 'data'));
    for (const path of paths)
      expectSentence(
        await refused('serve', '--port', '0', '--data-dir', path),
        /the data folder .* cannot be/,
      );
  });

  it('says that the data file was not written by Wherry, and leaves it as it is', async () => {
    const folder = await children.folder();
    await writeFile(join(folder, 'data.mdb'), 'something else entirely'.repeat(1000));
    expectSentence(await refused('serve', '--port', '0', '--data-dir', folder), /data\.mdb|data file/);
    expect(readFileSync(join(folder, 'data.mdb'), 'utf8')).toMatch(/^something else entirely/);
  });

  it('says who uses the data folder, and does not disturb them', async () => {
    const folder = await children.folder();
    const { child, client } = await serving('serve', '--port', '0', '--data-dir', folder);
    expectSentence(
      await refused('serve', '--port', '0', '--data-dir', folder),
      new RegExp(`the data folder .* is in use by process ${child.pid}`),
    );
    expect((await client.post(configMaps, { metadata: { name: 'a' } })).status).toBe(200);
    await stop(child);
  });
});
