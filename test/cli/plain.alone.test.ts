/**
 * Proves that a server answers with the same bytes with and without its optimisations, and that the
 * environment variable reaches the built command: the LMDB writer thread exists, or does not.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { TRANSACTIONS_HERE } from '../../src/store/lmdb-writer.ts';
import { Child, useChildren } from '../support/child.ts';
import { jsonPatch, mergePatch, strategicPatch } from '../support/http.ts';
import { isRelease } from '../support/tier.ts';

const { folder } = useChildren();

afterEach(() => {
  vi.unstubAllEnvs();
});

function start(plain: '0' | '1', args: readonly string[]): Child {
  vi.stubEnv('WHERRY_PLAIN', plain);
  return new Child(['serve', '--port', '0', ...args]);
}

/** Sends a request on a new connection; resolves with all bytes received. */
async function exchange(url: string, head: string, body = ''): Promise<string> {
  const { hostname, port } = new URL(url);
  const socket = connect(Number(port), hostname);
  const length = body ? `Content-Length: ${Buffer.byteLength(body)}\r\n` : '';
  socket.write(head.replace('\r\n', `\r\nHost: localhost\r\n${length}`) + body);
  let text = '';
  socket.setEncoding('utf8').on('data', (chunk: string) => {
    text += chunk;
    if (isWhole(text)) socket.destroy();
  });
  await once(socket, 'close');
  return text;
}

function isWhole(text: string): boolean {
  const end = text.indexOf('\r\n\r\n');
  if (end < 0) return false;
  const [, length] = /\r\nContent-Length: (\d+)/.exec(text) ?? [];
  return length ? Buffer.byteLength(text.slice(end + 4)) >= Number(length) : text.endsWith('\r\n0\r\n\r\n');
}

/** Replaces what differs between any two servers, or between two seconds. */
const withoutChance = (text: string): string =>
  text
    .replace(/[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}/g, 'ID')
    // YAML quotes a uid that begins like a number, which changes the length.
    .replace(/^(\s*uid: )"ID"$/gm, '$1ID')
    .replace(/(Content-Type: application\/yaml\r\nContent-Length: )\d+/, '$1N')
    .replace(/\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ/g, 'TIME')
    .replace(/^Date: .*$/m, 'Date: NOW')
    .replace(/kube-api-access-\w{5}/g, 'TOKEN')
    .replace(/"\d+s"/g, 'AGE');

/** Chunk boundaries of a stream may differ. */
const unchunked = (text: string): string => text.replace(/\r\n[0-9a-f]+\r\n(?=\{|\r\n)/g, '');

const request = (method: string, path: string, ...fields: string[]): string =>
  `${[`${method} ${path} HTTP/1.1`, ...fields].join('\r\n')}\r\n\r\n`;

const maps = '/api/v1/namespaces/default/configmaps';
const pods = '/api/v1/namespaces/default/pods';
const type = (name: string): string => `Content-Type: ${name}`;
const text = 'q"\\\u0007ü€😀'.repeat(3);
const pod = {
  metadata: { name: 'p', labels: { b: '2', a: '1' } },
  spec: {
    containers: [
      { name: 'c', image: 'i', resources: { limits: { cpu: '1000m' } }, env: [{ name: 'E', value: text }] },
    ],
  },
};

const requests: readonly (readonly [head: string, body?: string])[] = [
  [request('GET', '/version')],
  [request('GET', '/api/v1')],
  [
    request('POST', maps),
    JSON.stringify({ metadata: { name: 'one' }, data: { b: text, a: 'x'.repeat(100) } }),
  ],
  [
    request('POST', maps),
    JSON.stringify({ metadata: { name: 'two' }, colour: 'red', data: { a: 'x'.repeat(20_000) } }),
  ],
  [request('POST', pods), JSON.stringify(pod)],
  [request('GET', `${maps}/one`)],
  [request('GET', `${maps}/one`)],
  [request('GET', `${maps}/one?pretty=true`)],
  [request('GET', `${maps}/none`)],
  [request('GET', maps)],
  [request('GET', maps)],
  [request('GET', `${maps}?limit=1`)],
  [request('GET', `${pods}?labelSelector=a%3D1`)],
  [request('GET', pods, 'Accept: application/json;as=Table;v=v1;g=meta.k8s.io')],
  [request('GET', pods, 'Accept: application/yaml')],
  [request('PATCH', `${maps}/one`, type(mergePatch)), '{"metadata":{"labels":{"z":"1","a":"2"}}}'],
  [request('PATCH', `${maps}/one`, type(mergePatch)), '{"metadata":{"labels":{"z":"1","a":"2"}}}'],
  [request('PATCH', `${maps}/one`, type(jsonPatch)), '[{"op":"remove","path":"/data/a"}]'],
  [request('PATCH', `${pods}/p`, type(strategicPatch)), '{"spec":{"containers":[{"name":"c","image":"j"}]}}'],
  [request('PUT', `${maps}/two`), '{"metadata":{"name":"two","resourceVersion":"1"}}'],
  [request('PUT', `${maps}/two`), '{"metadata":{"name":"two"},"data":{}}'],
  [request('POST', maps), '{"metadata":{"name":"A B"}}'],
  [request('POST', maps), '{"metadata":'],
  [request('GET', maps, 'Accept: image/png')],
  [request('DELETE', `${maps}/two`)],
  [request('DELETE', `${maps}/two`)],
  [request('GET', `${maps}?watch=true&resourceVersion=0&timeoutSeconds=1`)],
  [request('GET', '/api/v1/configmaps?watch=true&timeoutSeconds=1')],
];

describe('the answers', () => {
  it('are the same with optimisations and without', async () => {
    const answers: string[][] = [];
    for (const plain of ['0', '1'] as const) {
      const child = start(plain, ['--in-memory', '--secure-port=off', '--controllers=none']);
      const url = await child.ready();
      // Versions are the same when nothing else writes: no controller does, and the default roles are all there.
      await expect.poll(async () => (await fetch(`${url}/readyz`)).status).toBe(200);
      const texts: string[] = [];
      for (const [head, body] of requests)
        texts.push(unchunked(withoutChance(await exchange(url, head, body))));
      answers.push(texts);
      await child.kill();
    }
    for (const [i, [head]] of requests.entries())
      expect({ head, answer: answers[1]![i] }).toEqual({ head, answer: answers[0]![i] });
  });
});

describe.runIf(process.platform === 'linux')('the thread that writes', () => {
  const threads = (pid: number): number => readdirSync(`/proc/${pid}/task`).length;

  /** Makes more transactions than are carried out without a thread; returns how many threads that added. */
  async function added(pid: number, url: string, wanted: boolean): Promise<number> {
    const before = threads(pid);
    for (let i = 0; i < TRANSACTIONS_HERE + 4; i++)
      await exchange(url, request('POST', maps), JSON.stringify({ metadata: { name: `m${i}` } }));
    if (wanted) await expect.poll(() => threads(pid)).toBeGreaterThan(before);
    return threads(pid) - before;
  }

  async function addedByCommand(plain: '0' | '1'): Promise<number> {
    const child = start(plain, ['--data-dir', await folder(), '--secure-port=off']);
    const count = await added(child.pid, await child.ready(), plain === '0');
    await child.kill();
    return count;
  }

  async function addedByLibrary(plain: '0' | '1'): Promise<number> {
    const library = pathToFileURL(join(import.meta.dirname, '../../dist/index.js')).href;
    const code = `import { start } from ${JSON.stringify(library)};
      const { url } = await start({ port: 0, dataDir: process.argv[1] });
      console.log(url);`;
    const child = spawn(process.execPath, ['--input-type=module', '-e', code, await folder()], {
      stdio: ['ignore', 'pipe', 'inherit'],
      env: { ...process.env, WHERRY_PLAIN: plain },
    });
    const exited = once(child, 'exit');
    try {
      const [line] = await once(child.stdout, 'data');
      return await added(child.pid!, String(line).trim(), plain === '0');
    } finally {
      child.kill('SIGKILL');
      await exited;
    }
  }

  const ways: [string, typeof addedByCommand][] = [
    ['command', addedByCommand],
    ['library', addedByLibrary],
  ];
  it.each(isRelease ? ways : ways.slice(0, 1))(
    'is started by the built %s, and not without optimisations',
    async (_, count) => {
      const [started, none] = [await count('0'), await count('1')];
      expect(started).toBeGreaterThan(none);
    },
  );
});
