/** Proves the kubelet API: what each path answers, which clients it accepts, and its errors. */
import { type IncomingMessage, request } from 'node:http';
import { request as secureRequest } from 'node:https';
import type { Duplex } from 'node:stream';
import { text } from 'node:stream/consumers';
import { connect as connectTls } from 'node:tls';
import { beforeEach, describe, expect, it } from 'vitest';
import type { Pod } from '../../api/generated/types.ts';
import { nodes } from '../../client/resources.ts';
import { issueServingCertificate, makeNodeAuthority } from '../../pki/node-certificates.ts';
import { SpdyConnection } from '../../streams/spdy/spdy-connection.ts';
import { ScriptedRuntime } from '../runtime/scripted-runtime.fixture.ts';
import { container, useNode } from './agent.fixture.ts';
import type { Agent } from './agent.ts';

const node = useNode();
let agent: Agent;
let runtime: ScriptedRuntime;

beforeEach(async () => {
  runtime = new ScriptedRuntime();
  runtime.folder = node.folder;
  agent = await node.agent(runtime);
});

interface Answer {
  readonly status: number;
  readonly type: string | undefined;
  readonly text: string;
  readonly json: any;
}

async function readAnswer(response: IncomingMessage): Promise<Answer> {
  let text = '';
  for await (const chunk of response.setEncoding('utf8')) text += chunk;
  let json: unknown;
  try {
    json = JSON.parse(text);
  } catch {
    json = undefined;
  }
  return { status: response.statusCode!, type: response.headers['content-type'], text, json };
}

function ask(path: string, method = 'GET'): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const connection = agent.connect();
    const sent = request({ path, method, createConnection: () => connection });
    sent.on('response', (response) => void readAnswer(response).then(resolve, reject)).on('error', reject);
    sent.end();
  });
}

/** The first bytes of the answer to an upgrade. */
async function upgrade(
  path: string,
  headers = 'Upgrade: SPDY/3.1\r\n',
): Promise<{ text: string; socket: Duplex }> {
  const socket = agent.connect();
  socket.on('error', () => undefined);
  socket.write(`POST ${path} HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\n${headers}\r\n`);
  let text = '';
  for await (const chunk of socket.iterator({ destroyOnReturn: false })) {
    text += chunk;
    const [head, body = ''] = text.split('\r\n\r\n');
    const length = Number(/content-length: (\d+)/i.exec(head!)?.[1] ?? 0);
    if (text.includes('\r\n\r\n') && Buffer.byteLength(body) >= length) break;
  }
  return { text, socket };
}

const running = (name: string): Promise<Pod> => node.untilPod(name, (pod) => pod.status?.phase === 'Running');

describe('views', () => {
  it('health', async () => {
    for (const path of ['/healthz', '/healthz/', '/healthz/ping', '/healthz/log', '/healthz/syncloop'])
      expect(await ask(path)).toMatchObject({ status: 200, text: 'ok' });
    expect(await ask('/healthz/x')).toMatchObject({ status: 404, text: '404 page not found' });
    expect(await ask('/healthz', 'POST')).toMatchObject({ status: 405, text: 'Method Not Allowed' });
    for (const path of ['/', '/nothing', '/constructor', '/%zz'])
      expect((await ask(path)).status).toBeGreaterThanOrEqual(400);
  });

  it('pods: those that are bound, and those of which something runs', async () => {
    await node.create('views');
    await node.create('views-done', { restartPolicy: 'Never', containers: [container('d', 'exit', '0')] });
    await running('views');
    await node.untilPod('views-done', (pod) => pod.status?.phase === 'Succeeded');
    const { json, type } = await ask('/pods');
    expect(type).toBe('application/json');
    expect(json).toMatchObject({ kind: 'PodList', apiVersion: 'v1' });
    expect(json.items.map((pod: Pod) => [pod.metadata.name, pod.status?.phase]).sort()).toEqual([
      ['views', 'Running'],
      ['views-done', 'Succeeded'],
    ]);
    const { json: now } = await ask('/runningpods/');
    expect(now.items.map((pod: Pod) => pod.metadata.name)).toEqual(['views']);
  });

  it('statistics, for machines and for Prometheus', async () => {
    const { metadata } = await node.create('stats');
    await running('stats');
    const { json } = await ask('/stats/summary');
    expect(json.node).toMatchObject({
      nodeName: 'n1',
      cpu: { usageNanoCores: expect.any(Number), usageCoreNanoSeconds: expect.any(Number) },
      memory: { workingSetBytes: expect.any(Number) },
      fs: { capacityBytes: expect.any(Number) },
    });
    expect(json.pods).toMatchObject([
      {
        podRef: { name: 'stats', namespace: 'default', uid: metadata.uid },
        containers: [
          {
            name: 'c',
            cpu: { usageCoreNanoSeconds: 5_000_000, usageNanoCores: expect.any(Number) },
            memory: { rssBytes: 1_048_576, pageFaults: 3, majorPageFaults: 1 },
            logs: { usedBytes: 10 },
          },
        ],
        memory: { workingSetBytes: 1_048_576 },
      },
    ]);
    expect(
      (await ask('/stats/summary?only_cpu_and_memory=true')).json.pods[0].containers[0].logs,
    ).toBeUndefined();
    expect((await ask('/stats/stats/c')).json.stats[0].memory.usage).toBe(1_048_576);
    expect((await ask(`/stats/default/stats/${metadata.uid}/c`)).json.stats[0].cpu.usage.total).toBe(
      5_000_000,
    );
    expect((await ask('/stats/')).json.name).toBe('/');
    expect((await ask('/stats/other/c')).status).toBe(404);
    expect((await ask('/spec/')).json.num_cores).toBeGreaterThan(0);
    const resource = await ask('/metrics/resource');
    expect(resource.text).toContain(
      'container_memory_working_set_bytes{container="c",namespace="default",pod="stats"} 1048576\n',
    );
    expect((await ask('/metrics')).text).toContain('\nkubelet_running_pods 1\n');
    expect((await ask('/metrics/cadvisor')).text).toContain('machine_cpu_cores');
  });
});

describe('logs', () => {
  it('of a node that has no folder for them are not there', async () => {
    // Proves what simulated nodes answer.
    expect(await ask('/logs/')).toMatchObject({ status: 404, text: '404 page not found' });
  });

  it('are those of the run that is meant', async () => {
    await node.create('logs', { containers: [container('c'), container('once', 'exit', '1')] });
    await node.untilPod('logs', (pod) => (pod.status?.containerStatuses?.[1]?.restartCount ?? 0) >= 2);
    expect(await ask('/containerLogs/default/logs/c')).toMatchObject({
      status: 200,
      type: 'text/plain',
      text: 'log of c 0\n',
    });
    expect((await ask('/containerLogs/default/logs/c?previous=true')).text).toBe(
      'previous terminated container "c" in pod "logs" not found',
    );
    expect((await ask('/containerLogs/default/logs/once?previous=true')).text).toMatch(
      /^log of once [1-9]\n$/,
    );
  });

  it('are refused in the words of a kubelet', async () => {
    await node.create('nologs', {
      containers: [{ name: 'c', image: 'missing' }],
      initContainers: [container('i')],
    });
    await node.untilPod('nologs', (pod) => !!pod.status?.initContainerStatuses?.[0]?.state?.running);
    const text = async (path: string) => {
      const { status, text } = await ask(`/containerLogs/${path}`);
      return [status, text];
    };
    expect(await text('default')).toEqual([400, '{"message": "Missing podID."}']);
    expect(await text('default/nologs')).toEqual([400, '{"message": "Missing container name."}']);
    expect(await text('default/other/c')).toEqual([404, 'pod "other" does not exist']);
    expect(await text('default/nologs/x')).toEqual([404, 'container "x" not found in pod "nologs"']);
    expect(await text('default/nologs/c')).toEqual([
      400,
      'container "c" in pod "nologs" is waiting to start: PodInitializing',
    ]);
    expect(await text('default/nologs/i?tailLines=x')).toEqual([
      400,
      '{"message": "Unable to decode query."}',
    ]);
    expect(await text('default/nologs/i?tailLines=-1')).toEqual([422, '{"message": "Invalid request."}']);
    runtime.run('i').exit(0);
    await node.untilPod(
      'nologs',
      (pod) => pod.status?.containerStatuses?.[0]?.state?.waiting?.reason === 'ErrImagePull',
    );
    expect((await text('default/nologs/c'))[1]).toMatch(
      /^container "c" in pod "nologs" is waiting to start: (image can't be pulled|trying and failing to pull image)$/,
    );
  });

  it('that are followed end when the client goes, and their answer begins at once', async () => {
    await node.create('follow');
    await running('follow');
    const connection = agent.connect();
    const sent = request({
      path: '/containerLogs/default/follow/c?follow=true',
      createConnection: () => connection,
    });
    sent.on('error', () => undefined).end();
    const response = await new Promise<IncomingMessage>((resolve) => sent.on('response', resolve));
    const [first] = await new Promise<Buffer[]>((resolve) =>
      response.once('data', (data) => resolve([data])),
    );
    expect(String(first)).toBe('log of c 0\n');
    const closed = new Promise((resolve) => connection.once('close', resolve));
    sent.destroy();
    await closed;
  });
});

describe('commands', () => {
  it('run answers their output', async () => {
    const { metadata } = await node.create('run');
    await running('run');
    expect(await ask('/run/default/run/c?cmd=say+hello', 'POST')).toMatchObject({
      status: 200,
      text: 'hello',
    });
    expect(await ask(`/run/default/run/${metadata.uid}/c?cmd=fail+no`, 'POST')).toMatchObject({
      status: 500,
      text: "command 'fail no' exited with 1: no",
    });
    expect(await ask('/run/default/run/c?cmd=say', 'GET')).toMatchObject({ status: 405 });
  });

  it('exec and attach are refused before the upgrade', async () => {
    await node.create('refused', { containers: [container('c'), { name: 'w', image: 'missing' }] });
    await node.untilPod('refused', (pod) => !!pod.status?.containerStatuses?.[0]?.state?.running);
    const refusal = async (path: string) => {
      const { text, socket } = await upgrade(path);
      socket.destroy();
      return [text.slice(9, 12), text.split('\r\n\r\n')[1]];
    };
    expect(await refusal('/exec/default/other/c?command=x&output=1')).toEqual(['404', 'pod does not exist']);
    expect(await refusal('/exec/default/refused/wrong-uid/c?command=x&output=1')).toEqual([
      '404',
      'pod does not exist',
    ]);
    expect(await refusal('/exec/default/refused/w?command=x&output=1')).toEqual([
      '500',
      'container not found ("w")',
    ]);
    expect(await refusal('/attach/default/refused/w?output=1')).toEqual([
      '500',
      'container w not found in pod refused_default',
    ]);
    expect(await refusal('/exec/default/refused/c?output=1')).toEqual(['400', 'you must specify a command']);
    expect(await refusal('/exec/default/refused/c?command=x')).toEqual([
      '400',
      'you must specify at least 1 of stdin, stdout, stderr',
    ]);
    expect(await refusal('/portForward/default/refused/wrong-uid')).toEqual(['404', 'pod not found']);
    expect(await refusal('/healthz')).toEqual(['404', '404 page not found']);
    expect(await ask('/exec/default/refused/c?command=x&output=1', 'POST')).toMatchObject({
      status: 400,
      text: 'Upgrade request required',
    });
    expect(await ask('/exec/default/refused/c?command=x&output=1', 'PUT')).toMatchObject({ status: 405 });
  });

  it('exec and port-forward are upgraded, and closed with the pod', async () => {
    await node.create('upgraded');
    await running('upgraded');
    const spdy = 'Upgrade: SPDY/3.1\r\nX-Stream-Protocol-Version: ';
    const exec = await upgrade(
      '/exec/default/upgraded/c?command=hang&output=1',
      `${spdy}v4.channel.k8s.io\r\n`,
    );
    expect(exec.text).toMatch(/^HTTP\/1.1 101 /);
    exec.socket.destroy();
    const forward = await upgrade('/portForward/default/upgraded', `${spdy}portforward.k8s.io\r\n`);
    expect(forward.text).toMatch(/^HTTP\/1.1 101 /);
    const closed = new Promise((resolve) => forward.socket.once('end', resolve));
    forward.socket.resume();
    await node.client.delete({ apiVersion: 'v1', resource: 'pods' }, 'default', 'upgraded');
    await closed;
  });

  it('sessions that are asked for all at once begin with a rest in between', async () => {
    await node.create('asked', { containers: [container('c')] });
    await running('asked');
    const protocol = 'Upgrade: SPDY/3.1\r\nX-Stream-Protocol-Version: v4.channel.k8s.io\r\n';
    const begunMs = performance.now();
    const afterMs = await Promise.all(
      Array.from({ length: 14 }, async () => {
        const { text, socket } = await upgrade('/exec/default/asked/c?command=hang&output=1', protocol);
        expect(text).toMatch(/^HTTP\/1.1 101 /);
        socket.destroy();
        return performance.now() - begunMs;
      }),
    );
    // Eight at once, then one in 25 ms.
    expect(Math.max(...afterMs)).toBeGreaterThan(5 * 25);
    // Refusals do not wait, and a client who leaves while it waits starts nothing.
    const begun = runtime.run('c').execs.length;
    const path = '/exec/default/asked/c?command=late&output=1';
    const leaving = Array.from({ length: 14 }, () => {
      const socket = agent.connect();
      socket.on('error', () => undefined);
      socket.write(`POST ${path} HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\n${protocol}\r\n`);
      return socket;
    });
    const { text } = await upgrade('/exec/default/other/c?command=x&output=1', protocol);
    expect(text).toMatch(/^HTTP\/1.1 404 /);
    for (const socket of leaving) socket.destroy();
    const last = await upgrade('/exec/default/asked/c?command=last&output=1', protocol);
    last.socket.destroy();
    expect(runtime.run('c').execs.length).toBeLessThan(begun + 12);
  });

  it('exec that is under way when the agent closes ends with a failure', async () => {
    // Clients take a connection that ends without a status for success.
    await node.create('cut');
    await running('cut');
    const protocol = 'Upgrade: SPDY/3.1\r\nX-Stream-Protocol-Version: v4.channel.k8s.io\r\n';
    const { socket } = await upgrade('/exec/default/cut/c?command=hang&output=1', protocol);
    const connection = new SpdyConnection(socket, { role: 'client' });
    const status = await connection.openStream({ streamType: 'error' });
    const output = await connection.openStream({ streamType: 'stdout' });
    await expect.poll(() => runtime.run('c').execs).toEqual([['hang']]);
    const closing = agent.close();
    output.resume();
    expect(JSON.parse(await text(status))).toMatchObject({ status: 'Failure', reason: 'InternalError' });
    connection.close();
    await closing;
    await expect(upgrade('/exec/default/cut/c?command=hang&output=1', protocol)).rejects.toThrow('reset');
  });
});

describe('over TLS', () => {
  it('lets in those who have a certificate of the authority, and nobody else', async () => {
    const now = Date.now();
    const authority = await makeNodeAuthority(now);
    const other = await makeNodeAuthority(now);
    const { cert, key } = await issueServingCertificate(authority.ca, { ips: ['127.0.0.1'] });
    const ca = authority.ca.cert;
    await node.agent(new ScriptedRuntime(), {
      nodeName: 'n2',
      kubelet: { host: '127.0.0.1', port: 0, tls: { cert, key, ca } },
    });
    const { status } = await node.client.get(nodes, undefined, 'n2');
    const port = status!.daemonEndpoints!.kubeletEndpoint!.Port!;
    const get = (client: object): Promise<Answer> =>
      new Promise((resolve, reject) => {
        const sent = secureRequest({
          host: '127.0.0.1',
          port,
          path: '/healthz',
          ca,
          agent: false,
          ...client,
        });
        sent
          .on('response', (response) => void readAnswer(response).then(resolve, reject))
          .on('error', reject);
        sent.end();
      });
    const mine = authority.client;
    expect(await get(mine)).toMatchObject({ status: 200, text: 'ok' });
    // A server certificate of the same authority is not accepted as a client certificate.
    expect(await get({ cert, key })).toMatchObject({ status: 401, text: 'Unauthorized' });
    expect(await get({})).toMatchObject({ status: 401, text: 'Unauthorized' });
    expect(await get(other.client)).toMatchObject({
      status: 401,
      text: 'Unauthorized',
    });
    // Clients that reach the port cannot fill the memory with heads that do not end, nor with connections.
    const strangers = Array.from({ length: 150 }, () => {
      const socket = connectTls({ host: '127.0.0.1', port, rejectUnauthorized: false });
      socket.on('error', () => undefined).write('GET / HTTP/1.1\r\nHost: a\r\n');
      return { socket, closed: new Promise((resolve) => socket.once('close', resolve)) };
    });
    // The oldest make room.
    await Promise.all(strangers.slice(0, 50).map(({ closed }) => closed));
    const last = strangers.at(-1)!;
    last.socket.write('x: y\r\n'.repeat(5_000));
    await last.closed;
    expect(await get(mine)).toMatchObject({ status: 200 });
    for (const { socket } of strangers) socket.destroy();
  });
});
