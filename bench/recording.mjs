/**
 * Whether `wherry record` keeps up: a source that is nothing but discovery, a list and a watch of pods changes a number of pods
 * a second; a client watches the recorder, and measures how long each change took from there to here, on disk in between. The
 * recorder runs on one core where the system has `taskset`.
 *
 * `node bench/recording.mjs [--rate 1000] [--seconds 20]`
 */
import { execFileSync, spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { createServer, request } from 'node:http';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { podNamed } from './objects.mjs';

const option = (name, value) => {
  const at = process.argv.indexOf(`--${name}`);
  return at < 0 ? value : Number(process.argv[at + 1]);
};
const rate = option('rate', 1_000);
const seconds = option('seconds', 20);
const podCount = 500;
const ticksPerSecond = 100;
const folder = mkdtempSync(path.join(tmpdir(), 'wherry-recording-'));
const nowMs = () => performance.timeOrigin + performance.now();

let version = 1_000;
const pods = Array.from({ length: podCount }, (_, i) => {
  const pod = podNamed(`pod-${i}`, i);
  Object.assign(pod.metadata, {
    namespace: 'default',
    uid: `00000000-0000-4000-8000-${String(i).padStart(12, '0')}`,
    creationTimestamp: '2026-01-01T00:00:00Z',
    resourceVersion: String(++version),
  });
  pod.status = { phase: 'Running', podIP: '10.0.0.1', conditions: [{ type: 'Ready', status: 'True' }] };
  return pod;
});

/** The open watch of pods. */
let watch;
const resources = (...names) =>
  names.map(([name, kind]) => ({ name, kind, namespaced: name === 'pods', verbs: ['list', 'watch', 'get'] }));
const answers = {
  '/apis': { kind: 'APIGroupList', groups: [] },
  '/api/v1': { kind: 'APIResourceList', groupVersion: 'v1', resources: resources(['pods', 'Pod']) },
  '/api/v1/namespaces/kube-system': { metadata: { name: 'kube-system', uid: 'bench' } },
};
const source = createServer((asked, response) => {
  const { pathname, searchParams } = new URL(asked.url, 'http://source');
  response.setHeader('Content-Type', 'application/json');
  if (searchParams.get('watch')) {
    response.flushHeaders();
    watch = response;
  } else if (pathname === '/api/v1/pods')
    response.end(
      JSON.stringify({ kind: 'PodList', metadata: { resourceVersion: String(version) }, items: pods }),
    );
  else if (answers[pathname]) response.end(JSON.stringify(answers[pathname]));
  else response.writeHead(404).end();
}).listen(0, '127.0.0.1');
await new Promise((resolve) => source.once('listening', resolve));

const kubeconfig = path.join(folder, 'config');
const server = `http://127.0.0.1:${source.address().port}`;
writeFileSync(
  kubeconfig,
  JSON.stringify({
    clusters: [{ name: 'c', cluster: { server } }],
    contexts: [{ name: 'c', context: { cluster: 'c' } }],
    'current-context': 'c',
  }),
);
const command = [
  'dist/cli.cjs',
  'record',
  '--kubeconfig',
  kubeconfig,
  '--data-dir',
  path.join(folder, 'data'),
  '--port',
  '0',
];
const [program, args] = hasTaskset()
  ? ['taskset', ['-c', '0', process.execPath, ...command]]
  : [process.execPath, command];
const recorder = spawn(program, args, { stdio: ['ignore', 'pipe', 'inherit'] });
const url = await new Promise((resolve, reject) => {
  let told = '';
  recorder.stdout.on('data', (chunk) => {
    told += chunk;
    const [, found] = /ready at (http:\/\/\S+),/.exec(told) ?? [];
    if (found) resolve(found);
  });
  recorder.on('exit', (code) => reject(new Error(`the recorder ended with ${code}`)));
});
while (!watch) await new Promise((resolve) => setTimeout(resolve, 10));

/** Milliseconds from the change to the client of the recorder. */
const lags = [];
const { newest } = await (await fetch(`${url}/wherry/history`)).json();
const asked = request(`${url}/api/v1/pods?watch=true&resourceVersion=${newest}`, (answer) => {
  let rest = '';
  answer.setEncoding('latin1').on('data', (chunk) => {
    const arrivedMs = nowMs();
    const lines = (rest + chunk).split('\n');
    rest = lines.pop();
    for (const line of lines) {
      const [, sentMs] = /"sent":"([\d.]+)"/.exec(line) ?? [];
      if (sentMs) lags.push(arrivedMs - Number(sentMs));
    }
  });
});
asked.end();

const cpuBefore = cpuSeconds();
const begunMs = nowMs();
let sent = 0;
await new Promise((resolve) => {
  const timer = setInterval(() => {
    const due = Math.min(rate * seconds, Math.floor(((nowMs() - begunMs) / 1_000) * rate));
    let lines = '';
    for (; sent < due; sent++) {
      const object = pods[sent % podCount];
      object.metadata.resourceVersion = String(++version);
      object.metadata.annotations.sent = String(nowMs());
      lines += `${JSON.stringify({ type: 'MODIFIED', object: { kind: 'Pod', apiVersion: 'v1', ...object } })}\n`;
    }
    if (lines) watch.write(lines);
    if (sent >= rate * seconds) {
      clearInterval(timer);
      resolve();
    }
  }, 1_000 / ticksPerSecond);
});
const sentMs = nowMs();
while (lags.length < sent && nowMs() - sentMs < 60_000)
  await new Promise((resolve) => setTimeout(resolve, 20));
const tookSeconds = (nowMs() - begunMs) / 1_000;
const busy = (cpuSeconds() - cpuBefore) / tookSeconds;
lags.sort((a, b) => a - b);
const at = (share) => lags[Math.min(lags.length - 1, Math.floor(lags.length * share))]?.toFixed(0);
console.log(`changes ${lags.length} of ${sent}, ${(lags.length / tookSeconds).toFixed(0)} a second`);
console.log(`lag in ms: median ${at(0.5)}, p99 ${at(0.99)}, most ${at(1)}`);
console.log(
  `processor of the recorder: ${(busy * 100).toFixed(0)} % of a core${program === 'taskset' ? ', on one core' : ''}`,
);
console.log(
  `resident ${residentMb()} MB, data file ${(statSync(path.join(folder, 'data', 'data.mdb')).size / 2 ** 20).toFixed(0)} MiB`,
);
asked.destroy();
recorder.removeAllListeners('exit');
recorder.kill('SIGTERM');
await new Promise((resolve) => recorder.once('exit', resolve));
source.closeAllConnections();
source.close();
rmSync(folder, { recursive: true, force: true });

function hasTaskset() {
  try {
    execFileSync('taskset', ['--version'], { stdio: 'ignore' });
    return true;
  } catch {
    return false;
  }
}

/** User and system time of the recorder and its threads; 0 where there is no /proc. */
function cpuSeconds() {
  try {
    const fields = readFileSync(`/proc/${recorder.pid}/stat`, 'latin1').split(') ')[1].split(' ');
    return (Number(fields[11]) + Number(fields[12])) / 100;
  } catch {
    return 0;
  }
}

function residentMb() {
  try {
    return Math.round(
      Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${recorder.pid}/status`, 'utf8'))[1]) / 1_024,
    );
  } catch {
    return 0;
  }
}
