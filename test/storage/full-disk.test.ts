/** Proves that a server whose disk is full refuses writes, answers reads, and ends when it is asked to. */
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { describe, expect, it, onTestFinished } from 'vitest';
import { command } from '../support/child.ts';
import { Client } from '../support/http.ts';

const mounting = 'mount -t tmpfs -o size=8m none /mnt';
const canMount = spawnSync('unshare', ['-m', 'sh', '-c', mounting]).status === 0;

describe.skipIf(!canMount)(`a full disk${canMount ? '' : ' (left out: this user cannot mount one)'}`, () => {
  it('refuses writes, however often they are tried, and takes them when there is room again', async () => {
    const line = ['serve', '--data-dir', '/mnt/data', '--port', '0', '--secure-port', 'off'];
    const script = `${mounting} && exec "$0" "$@" 2>/mnt/log`;
    const server = spawn('unshare', ['-m', 'sh', '-c', script, process.execPath, command, ...line], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    onTestFinished(() => void server.kill('SIGKILL'));
    const [ready] = await once(server.stdout.setEncoding('utf8'), 'data');
    const client = new Client(/http:\S+/.exec(ready)![0]);
    const configMaps = '/api/v1/namespaces/default/configmaps';
    const made = (name: string, bytes: number) =>
      client.post(configMaps, { metadata: { name }, data: { a: 'a'.repeat(bytes) } });
    expect((await made('before', 100_000)).status).toBe(200);
    spawnSync('nsenter', ['-t', String(server.pid), '-m', 'dd', 'if=/dev/zero', 'of=/mnt/rest', 'bs=4k']);
    for (let i = 0; i < 100; i++)
      expect(await made('after', i % 2 ? 100_000 : 10)).toMatchObject({
        status: 503,
        body: { message: 'the disk of the data folder /mnt/data is full' },
      });
    expect((await client.get(`${configMaps}/before`)).status).toBe(200);
    expect((await client.get(`${configMaps}/after`)).status).toBe(404);
    spawnSync('nsenter', ['-t', String(server.pid), '-m', 'rm', '/mnt/rest']);
    expect((await made('after', 10)).status).toBe(200);
    server.kill('SIGTERM');
    expect(await once(server, 'exit')).toEqual([0, null]);
  });
});
