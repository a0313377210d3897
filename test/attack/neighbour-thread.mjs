/**
 * The thread of the neighbour (`neighbour.ts`): sends ordinary requests until it is stopped, and tells how long each
 * took. A thread of its own, because an attack keeps the one that it is sent from busy.
 */
import { Agent, request as plainRequest } from 'node:http';
import { Agent as TlsAgent, request as tlsRequest } from 'node:https';
import { setPriority } from 'node:os';
import { parentPort, workerData } from 'node:worker_threads';
import { processorTime } from './loop-watch.mjs';

const answerMaxMs = 60_000;

/**
 * Clients, each with a name, a URL, a token, and the path that it asks for; how long each rests in between; and where the
 * system tells how long the server has been on a processor.
 */
const { clients, pauseMs, schedstat } = workerData;
const serverTime = processorTime(schedstat);
try {
  // A neighbour is on another machine: it does not wait for a processor to see its answer.
  setPriority(-10);
} catch {
  // Only root may.
}
const agents = {
  'http:': new Agent({ keepAlive: true }),
  'https:': new TlsAgent({ keepAlive: true, rejectUnauthorized: false }),
};
let isStopped = false;
let isWarm = false;
let made = 0;
/** Milliseconds, and how many of them the server worked, by the client's name. */
const took = new Map(clients.map(({ name }) => [name, []]));
const failures = new Set();

function ask(client, isFirst = true) {
  const { url, token, path, writes } = client;
  const { origin, protocol } = new URL(url);
  const body = writes ? JSON.stringify({ metadata: { name: `neighbour-${made++}` } }) : undefined;
  return new Promise((resolve) => {
    const failed = (error) => resolve({ status: 0, text: error.message });
    const send = protocol === 'https:' ? tlsRequest : plainRequest;
    const headers = {
      ...(token ? { authorization: `Bearer ${token}` } : {}),
      ...(body ? { 'content-type': 'application/json' } : {}),
    };
    const options = {
      method: writes ? 'POST' : 'GET',
      path,
      headers,
      agent: agents[protocol],
      timeout: answerMaxMs,
    };
    const sent = send(origin, options, (response) => {
      let text = '';
      response.setEncoding('utf8').on('data', (part) => {
        if (text.length < 200) text += part;
      });
      response.on('error', failed).on('end', () => resolve({ status: response.statusCode, text }));
    });
    sent.on('timeout', () => sent.destroy(new Error('no answer')));
    sent.on('error', (error) => {
      // The server has closed a connection that was idle, in the moment in which it was used again.
      const isStale = sent.reusedSocket && error.code === 'ECONNRESET' && isFirst;
      if (isStale) void ask(client, false).then(resolve);
      else failed(error);
    });
    sent.end(body);
  });
}

async function repeat(client) {
  do {
    const [begun, { usedMs }] = [performance.now(), serverTime()];
    const { status, text } = await ask(client);
    if (isWarm) took.get(client.name).push([performance.now() - begun, serverTime().usedMs - usedMs]);
    if (status !== 200 && status !== 201) failures.add(`${client.name}: ${status} ${text.slice(0, 200)}`);
    await new Promise((resolve) => setTimeout(resolve, pauseMs));
  } while (!isStopped);
}

parentPort.once('message', () => {
  isStopped = true;
});
// The first request of each opens its connection, which is not what is measured.
await Promise.all(clients.map((client) => ask(client)));
isWarm = true;
parentPort.postMessage('ready');
await Promise.all(clients.map(repeat));
for (const agent of Object.values(agents)) agent.destroy();
parentPort.postMessage({ took: [...took], failures: [...failures] });
