/** Proves that the log folder of a node is served through the API, as by a kubelet, and that other files are not. */
import { existsSync, readFileSync } from 'node:fs';
import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { describeWith } from '../support/tools.ts';
import { hasEnded, podOf, RunningCluster, shell } from './running.ts';

const cluster = new RunningCluster();
let links: string;
beforeAll(async () => {
  links = await mkdtemp(join(tmpdir(), 'wherry-links-'));
  const folder = await mkdtemp(join(tmpdir(), 'wherry-streams-'));
  await cluster.open({ node: { folder: join(folder, 'node'), name: 'here', logLinks: links } });
  cluster.folder = folder;
});
afterAll(async () => {
  await cluster.close();
  await rm(links, { recursive: true, force: true });
});

const logs = '/api/v1/nodes/here/proxy/logs';
const get = (path: string, headers?: Record<string, string>) => cluster.client.get(`${logs}${path}`, headers);

async function loggingPod(name: string): Promise<{ folder: string; container: string }> {
  const spec = { restartPolicy: 'Never' };
  const pod = await cluster.run(podOf(name, shell('echo to be or; echo not to be >&2'), spec), hasEnded);
  const id = pod.status!.containerStatuses![0]!.containerID!.replace(/^process:\/\//, '');
  const container = `${name}_default_main-${id}.log`;
  await expect.poll(() => existsSync(join(links, 'containers', container))).toBe(true);
  return { folder: `default_${name}_${pod.metadata.uid}`, container };
}

describe('the log folder of a node', () => {
  it('shows folders as pages of links, which lead to the logs', async () => {
    const { folder, container } = await loggingPod('hamlet');
    const top = await get('/');
    expect([top.status, top.headers['content-type']]).toEqual([200, 'text/html; charset=utf-8']);
    expect(top.text).toContain('<a href="containers/">containers/</a>\n<a href="pods/">pods/</a>');
    expect((await get('/pods/')).text).toContain(`<a href="${folder}/">`);
    for (const path of [`/pods/${folder}/main/0.log`, `/containers/${container}`]) {
      const file = await get(path);
      expect([file.status, file.headers['content-type']]).toEqual([200, 'text/plain; charset=utf-8']);
      expect(file.text).toMatch(/^\S+Z std(out|err) F (not )?to be.*\n\S+Z std(out|err) F (not )?to be.*\n$/);
      expect(file.headers['content-length']).toBe(String(file.bytes.length));
      expect((await get(path, { Range: 'bytes=10-19' })).bytes).toEqual(file.bytes.subarray(10, 20));
      expect((await get(path, { Range: 'bytes=-5' })).bytes).toEqual(file.bytes.subarray(-5));
      expect((await get(path, { Range: 'bytes=99999-' })).status).toBe(416);
      const head = await cluster.client.request('HEAD', `${logs}${path}`);
      expect([head.status, head.headers['content-length'], head.text]).toEqual([
        200,
        String(file.bytes.length),
        '',
      ]);
    }
  });

  it('sends those who forget the slash there', async () => {
    const bare = await get('');
    expect(bare.status).toBe(301);
    expect(new URL(bare.headers.location!, `${cluster.client.url}${logs}`).pathname).toBe(`${logs}/`);
    expect((await get('/pods')).status).toBe(301);
  });

  it('holds nothing but logs, however it is asked for', async () => {
    for (const path of [
      '/../healthz',
      '/..%2f..%2f..%2fetc/passwd',
      '/%2e%2e%2f%2e%2e%2f%2e%2e%2fetc%2fpasswd',
      '/pods/..%5c..%5cetc',
      '/pods%00',
      '/none',
      '/pods/none/',
    ]) {
      const answer = await get(path);
      expect(answer.text, path).not.toMatch(/root:|agent-id/);
      expect([400, 404, 200], path).toContain(answer.status);
      if (answer.status === 200) expect(answer.text).toBe('ok');
    }
    expect((await cluster.client.post(`${logs}/`, '')).status).toBe(405);
  });
});

describe('the links to logs', () => {
  it('are where they were wanted, and go with their pod', async () => {
    const { folder, container } = await loggingPod('ophelia');
    expect(readFileSync(join(links, 'pods', folder, 'main', '0.log'), 'utf8')).toContain(
      'stdout F to be or\n',
    );
    expect(readFileSync(join(links, 'containers', container), 'utf8')).toContain('stderr F not to be\n');
    await cluster.client.delete('/api/v1/namespaces/default/pods/ophelia', { gracePeriodSeconds: 0 });
    await cluster.untilGone('ophelia');
    await expect.poll(() => existsSync(join(links, 'pods', folder))).toBe(false);
    await expect.poll(() => readdir(join(links, 'containers'))).not.toContain(container);
  });
});

describeWith('kubectl')('kubectl', () => {
  it('reads them', async () => {
    expect(await cluster.kubectl.run('get', '--raw', `${logs}/`)).toContain('<a href="pods/">');
  });
});
