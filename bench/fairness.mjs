/**
 * `node bench/fairness.mjs`: whether one client can starve another at the secure door. A greedy user lists a thousand
 * objects over many connections, as fast as it can; a modest one asks for one object at a time. Prints how long the modest
 * one waits: alone, beside the greedy one, and beside it while a flow schema exempts the greedy one from all limits, as if
 * there were no flow control. The greedy client is a process of its own.
 */
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { Agent, request } from 'node:https';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { fill } from './objects.mjs';
import { cluster } from './servers.mjs';

const greedyConnections = 256;
const seconds = process.argv.includes('--quick') ? 2 : 8;
const pods = '/api/v1/namespaces/default/pods';
const flows = '/apis/flowcontrol.apiserver.k8s.io/v1/flowschemas';

function send(url, where, user, agent) {
  const begunMs = performance.now();
  return new Promise((resolve, reject) => {
    const sent = request(url + where, { agent, headers: { Authorization: `Bearer ${user}-token` } });
    sent.on('error', reject).on('response', (response) => {
      const code = response.statusCode;
      response.on('end', () => {
        if (code === 200 || code === 429) resolve({ code, ms: performance.now() - begunMs });
        else reject(new Error(`${where}: ${code}`));
      });
      response.resume();
    });
    sent.end();
  });
}

/** Sends requests until it is stopped; gives how many were served and refused. */
async function greedy(url) {
  const agent = new Agent({ keepAlive: true, maxSockets: greedyConnections, rejectUnauthorized: false });
  const counts = { served: 0, refused: 0 };
  let isOver = false;
  process.once('message', () => {
    isOver = true;
  });
  const one = async () => {
    while (!isOver) {
      const { code } = await send(url, pods, 'greedy', agent);
      counts[code === 200 ? 'served' : 'refused']++;
    }
  };
  const all = Array.from({ length: greedyConnections }, one);
  // All connections are open and busy when each has had an answer.
  while (counts.served + counts.refused < 2 * greedyConnections) await new Promise((r) => setTimeout(r, 20));
  process.send('busy');
  await Promise.all(all);
  agent.destroy();
  return counts;
}

async function modest(url) {
  const agent = new Agent({ keepAlive: true, maxSockets: 1, rejectUnauthorized: false });
  const times = [];
  let refused = 0;
  for (const endMs = performance.now() + seconds * 1000; performance.now() < endMs; ) {
    const { code, ms } = await send(url, `${pods}/pod-000000`, 'modest', agent);
    if (code === 429) refused++;
    else times.push(ms);
  }
  agent.destroy();
  times.sort((a, b) => a - b);
  const at = (share) => times[Math.floor(times.length * share)] ?? Number.NaN;
  return { p50: at(0.5), p99: at(0.99), perSecond: times.length / seconds, refused };
}

const line = (name, { p50, p99, perSecond, refused }, rest = '') =>
  console.log(
    `${name.padEnd(34)} p50 ${p50.toFixed(1).padStart(7)} ms   p99 ${p99.toFixed(1).padStart(7)} ms   ${perSecond.toFixed(0).padStart(5)}/s   refused ${refused}${rest}`,
  );

async function besideGreedy(name, url) {
  const child = fork(fileURLToPath(import.meta.url), ['--child', url], { stdio: 'inherit' });
  await once(child, 'message');
  const figures = await modest(url);
  child.send('stop');
  const [counts] = await once(child, 'message');
  child.disconnect();
  line(
    name,
    figures,
    `   (greedy: ${Math.round(counts.served / seconds)}/s served, ${counts.refused} refused)`,
  );
}

async function main() {
  const folder = mkdtempSync(path.join(tmpdir(), 'wherry-fairness-'));
  const tokens = path.join(folder, 'tokens.csv');
  const kubeconfig = path.join(folder, 'kubeconfig');
  writeFileSync(tokens, 'greedy-token,greedy,1,readers\nmodest-token,modest,2,readers\n');
  const server = await cluster('memory', [
    '--secure-port',
    '0',
    '--token-auth-file',
    tokens,
    '--write-kubeconfig',
    kubeconfig,
    '--simulated-nodes',
    '1',
    '--controllers',
    'none',
  ]);
  const post = async (where, body) => {
    const answer = await fetch(server.url + where, {
      method: 'POST',
      headers: { 'Content-Type': 'application/json' },
      body: JSON.stringify(body),
    });
    if (!answer.ok) throw new Error(`${where}: ${await answer.text()}`);
  };
  try {
    await fill(server.url, 1000);
    await post('/apis/rbac.authorization.k8s.io/v1/clusterrolebindings', {
      metadata: { name: 'readers' },
      roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'cluster-admin' },
      subjects: [{ kind: 'Group', name: 'readers', apiGroup: 'rbac.authorization.k8s.io' }],
    });
    const url = /https:[^"\s]+/.exec(readFileSync(kubeconfig, 'utf8'))[0];
    line('modest alone', await modest(url));
    await besideGreedy(`beside ${greedyConnections} greedy connections`, url);
    await post(flows, {
      metadata: { name: 'unlimited' },
      spec: {
        priorityLevelConfiguration: { name: 'exempt' },
        matchingPrecedence: 3,
        rules: [
          {
            subjects: [{ kind: 'Group', group: { name: 'readers' } }],
            resourceRules: [{ verbs: ['*'], apiGroups: ['*'], resources: ['*'], namespaces: ['*'] }],
          },
        ],
      },
    });
    await besideGreedy('the same without limits', url);
  } finally {
    await server.close();
    rmSync(folder, { recursive: true });
  }
}

if (process.argv.includes('--child')) process.send(await greedy(process.argv.at(-1)));
else await main();
