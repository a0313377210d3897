/**
 * The thread that feels long turns (`attacks/long-turns.ts`): sends one small request after the other until it is
 * stopped, and tells the most processor time that the server used while one of them waited. A thread of its own: the
 * one that reads a long answer is late for short ones, and the server would be blamed for that.
 */
import { readFileSync } from 'node:fs';
import { Agent, get } from 'node:http';
import { parentPort, workerData } from 'node:worker_threads';

const { url, schedstat } = workerData;
const agent = new Agent({ keepAlive: true });
const cpuMs = () => Number(readFileSync(schedstat, 'utf8').split(' ')[0]) / 1e6;

const ask = () =>
  new Promise((resolve, reject) => {
    get(`${url}/healthz`, { agent }, (response) => response.resume().on('end', resolve)).on('error', reject);
  });

let isStopped = false;
parentPort.once('message', () => {
  isStopped = true;
});
// The first opens the connection.
await ask();
parentPort.postMessage('ready');
let longestMs = 0;
while (!isStopped) {
  const beforeMs = cpuMs();
  await ask();
  longestMs = Math.max(longestMs, cpuMs() - beforeMs);
}
agent.destroy();
parentPort.postMessage(longestMs);
