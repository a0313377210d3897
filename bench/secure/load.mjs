/**
 * Requests over TLS, from a process of its own: `load()` sends them for some seconds, over HTTP/1.1 or HTTP/2, and gives
 * how many were answered in a second. `wrk` shows no client certificate and speaks no HTTP/2.
 */
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { Agent as PlainAgent, request as plainRequest } from 'node:http';
import { connect } from 'node:http2';
import { Agent, request } from 'node:https';
import { connect as connectTls } from 'node:tls';
import { podNamed } from '../objects.mjs';

const connections = 16;
/** With HTTP/2, clients put many requests on one connection. */
const sessions = 4;
const streams = 8;
const warmMs = 500;

/** Functions that send one request each, and how to end them. */
function senders({ url, protocol, tls, headers = {}, method = 'GET', path }) {
  const id = Math.random().toString(36).slice(2, 8);
  let n = 0;
  const body = () => (method === 'POST' ? JSON.stringify(podNamed(`${id}-${n++}`, 0)) : undefined);
  const sent = method === 'POST' ? { 'content-type': 'application/json', ...headers } : headers;
  const fail = (reject, code) => reject(new Error(`${method} ${path}: ${code}`));
  if (protocol === 'h2') {
    const open = Array.from({ length: sessions }, () => connect(url, tls));
    const one = (session) => () =>
      new Promise((resolve, reject) => {
        const stream = session.request({ ':method': method, ':path': path, ...sent });
        let code;
        stream.on('response', (answer) => {
          code = answer[':status'];
        });
        stream.on('error', reject).on('end', () => (code >= 300 ? fail(reject, code) : resolve()));
        stream.resume();
        stream.end(body());
      });
    return {
      all: open.flatMap((session) => Array.from({ length: streams }, () => one(session))),
      end: () => {
        for (const session of open) session.destroy();
      },
    };
  }
  const secure = url.startsWith('https:');
  const agent = new (secure ? Agent : PlainAgent)({ keepAlive: true, maxSockets: connections, ...tls });
  const one = () =>
    new Promise((resolve, reject) => {
      (secure ? request : plainRequest)(url + path, { method, agent, headers: sent }, (answer) => {
        answer.on('end', () => (answer.statusCode >= 300 ? fail(reject, answer.statusCode) : resolve()));
        answer.resume();
      })
        .on('error', reject)
        .end(body());
    });
  return { all: Array.from({ length: connections }, () => one), end: () => agent.destroy() };
}

async function drive({ seconds, ...work }) {
  const { all, end } = senders(work);
  const during = async (ms) => {
    const begunMs = performance.now();
    let answered = 0;
    await Promise.all(
      all.map(async (one) => {
        while (performance.now() < begunMs + ms) {
          await one();
          answered++;
        }
      }),
    );
    return { answered, perSecond: (answered / (performance.now() - begunMs)) * 1000 };
  };
  // Handshakes and cold code do not count.
  await during(warmMs);
  process.send('warm');
  await once(process, 'message');
  const found = await during(seconds * 1000);
  end();
  return found;
}

async function handshakes({ url, tls, seconds }) {
  const { hostname: host, port } = new URL(url);
  process.send('warm');
  await once(process, 'message');
  const begunMs = performance.now();
  let answered = 0;
  await Promise.all(
    Array.from({ length: connections }, async () => {
      while (performance.now() < begunMs + seconds * 1000) {
        const socket = connectTls({ host, port: Number(port), ...tls });
        await once(socket, 'secureConnect');
        socket.destroy();
        answered++;
      }
    }),
  );
  return { answered, perSecond: (answered / (performance.now() - begunMs)) * 1000 };
}

/**
 * Requests a second, and the processor time of the server for one, in microseconds.
 * @param usedMs the processor time that the server has used
 */
export async function load(work, usedMs) {
  const child = fork(import.meta.filename, ['--child'], { stdio: 'inherit' });
  child.send(work);
  await once(child, 'message');
  const before = usedMs();
  child.send('go');
  const [answer] = await once(child, 'message');
  const used = usedMs() - before;
  child.disconnect();
  if (answer.error) throw new Error(answer.error);
  return { perSecond: answer.perSecond, microseconds: (used * 1000) / answer.answered };
}

if (process.argv.includes('--child'))
  process.once('message', async ({ what, ...work }) => {
    try {
      process.send(await (what === 'handshakes' ? handshakes(work) : drive(work)));
    } catch (error) {
      process.send({ error: error.message });
    }
  });
