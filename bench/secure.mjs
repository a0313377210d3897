/**
 * `npm run bench -- --secure`: what the secure door costs. Reads and creates with 16 connections that are kept open, over
 * TLS as a share of the same over the local door, one right after the other, and handshakes a second. Requests are sent by
 * Node from a process of its own, because `wrk` shows no client certificate.
 */
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { Agent as PlainAgent, request as plainRequest } from 'node:http';
import { Agent, request } from 'node:https';
import path from 'node:path';
import { connect } from 'node:tls';
import { fileURLToPath } from 'node:url';
import { podNamed } from './objects.mjs';
import { cluster } from './servers.mjs';

const connections = 16;
const rounds = 3;

/** Sends requests for some seconds, each connection one after the other; gives how many were answered in a second. */
async function drive({ url, tls, method, paths, seconds }) {
  const secure = url.startsWith('https:');
  const agent = secure
    ? new Agent({ keepAlive: true, maxSockets: connections, ...tls })
    : new PlainAgent({ keepAlive: true, maxSockets: connections });
  const send = secure ? request : plainRequest;
  const id = Math.random().toString(36).slice(2, 8);
  let answered = 0;
  let n = 0;
  const one = () =>
    new Promise((resolve, reject) => {
      const body = method === 'POST' ? JSON.stringify(podNamed(`${id}-${n++}`, 0)) : undefined;
      const sent = send(url + paths, {
        method,
        agent,
        headers: body ? { 'Content-Type': 'application/json' } : {},
      });
      sent.on('error', reject).on('response', (response) => {
        response.on('end', () => {
          if (response.statusCode >= 300)
            return reject(new Error(`${method} ${paths}: ${response.statusCode}`));
          answered++;
          resolve();
        });
        response.resume();
      });
      sent.end(body);
    });
  // Handshakes are measured by themselves.
  await Promise.all(Array.from({ length: connections }, one));
  answered = 0;
  const begunMs = performance.now();
  const endMs = begunMs + seconds * 1000;
  await Promise.all(
    Array.from({ length: connections }, async () => {
      while (performance.now() < endMs) await one();
    }),
  );
  agent.destroy();
  return answered / ((performance.now() - begunMs) / 1000);
}

async function handshakes({ url, tls, seconds }) {
  const { hostname: host, port } = new URL(url);
  const endMs = performance.now() + seconds * 1000;
  const begunMs = performance.now();
  let made = 0;
  await Promise.all(
    Array.from({ length: connections }, async () => {
      while (performance.now() < endMs) {
        const socket = connect({ host, port: Number(port), ...tls });
        await once(socket, 'secureConnect');
        socket.destroy();
        made++;
      }
    }),
  );
  return made / ((performance.now() - begunMs) / 1000);
}

/** Runs one of the above in a process of its own. */
async function inChild(work) {
  const child = fork(fileURLToPath(import.meta.url), ['--child'], { stdio: 'inherit' });
  child.send(work);
  const [answer] = await once(child, 'message');
  child.disconnect();
  if (typeof answer !== 'number') throw new Error(answer.error);
  return answer;
}

const median = (figures) => [...figures].sort((a, b) => a - b)[Math.floor(figures.length / 2)];

export async function secureBench(row, { seconds }) {
  const server = await cluster('lmdb', [
    '--secure-port',
    '0',
    '--simulated-nodes',
    '1',
    '--controllers',
    'none',
  ]);
  const config = JSON.parse(readFileSync(path.join(server.dataDir, 'kubeconfig'), 'utf8'));
  const text = (data) => Buffer.from(data, 'base64').toString('utf8');
  const { user } = config.users[0];
  const tls = {
    ca: text(config.clusters[0].cluster['certificate-authority-data']),
    cert: text(user['client-certificate-data']),
    key: text(user['client-key-data']),
  };
  const secure = { url: config.clusters[0].cluster.server, tls };
  const local = { url: server.url };
  const pods = '/api/v1/namespaces/default/pods';
  await fetch(`${server.url}${pods}`, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json' },
    body: JSON.stringify(podNamed('read', 0)),
  });
  for (const [figure, method, paths] of [
    ['read one over TLS, 16 connections', 'GET', `${pods}/read`],
    ['create over TLS, 16 connections', 'POST', pods],
  ]) {
    const shares = [];
    const rates = [];
    for (let round = 0; round < rounds; round++) {
      const plain = await inChild({ what: 'drive', ...local, method, paths, seconds });
      const over = await inChild({ what: 'drive', ...secure, method, paths, seconds });
      shares.push(over / plain);
      rates.push(over);
    }
    row(figure, 'lmdb', median(rates), 'requests/s', median(shares));
  }
  row('handshakes', 'lmdb', await inChild({ what: 'handshakes', ...secure, seconds }), 'per second');
  await server.close();
}

if (process.argv.includes('--child'))
  process.once('message', async ({ what, ...work }) => {
    try {
      process.send(await (what === 'drive' ? drive(work) : handshakes(work)));
    } catch (error) {
      process.send({ error: error.message });
    }
  });
