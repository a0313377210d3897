/**
 * `node bench/webhooks.mjs [--json]`: what a webhook costs beside its own time. Creates configmaps one after the other: without any
 * webhook, with one that is for other resources, and with one that is asked about each. The webhook is a process of its
 * own and measures how long it takes itself.
 */
import { execFileSync, fork } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { Agent, request } from 'node:http';
import { createServer } from 'node:https';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { start } from '../dist/index.js';

const writes = process.argv.includes('--quick') ? 200 : 2000;
const maps = '/api/v1/namespaces/default/configmaps';
const configurations = '/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations';

/** The webhook: allows everything; tells its time when it is asked. */
function hook({ cert, key }) {
  let calls = 0;
  let ownMs = 0;
  const server = createServer({ cert, key }, (incoming, response) => {
    const begunMs = performance.now();
    const chunks = [];
    incoming.on('data', (chunk) => chunks.push(chunk));
    incoming.on('end', () => {
      const { apiVersion, kind, request: asked } = JSON.parse(Buffer.concat(chunks).toString());
      response.end(JSON.stringify({ apiVersion, kind, response: { uid: asked.uid, allowed: true } }));
      calls++;
      ownMs += performance.now() - begunMs;
    });
  });
  server.listen(0, '127.0.0.1', () => process.send({ port: server.address().port }));
  process.on('message', () => process.send({ calls, ownMs }));
}

function send(url, agent, method, where, body) {
  return new Promise((resolve, reject) => {
    const headers = body
      ? { 'Content-Type': 'application/json', 'Content-Length': Buffer.byteLength(body) }
      : {};
    const sent = request(url + where, { agent, method, headers });
    sent.on('error', reject).on('response', (response) => {
      response.on('end', () =>
        response.statusCode < 300 ? resolve() : reject(new Error(`${where}: ${response.statusCode}`)),
      );
      response.resume();
    });
    sent.end(body);
  });
}

async function timed(url, agent, prefix) {
  const begunMs = performance.now();
  for (let i = 0; i < writes; i++)
    await send(
      url,
      agent,
      'POST',
      maps,
      JSON.stringify({ metadata: { name: `${prefix}-${i}` }, data: { a: 'b' } }),
    );
  return (performance.now() - begunMs) / writes;
}

function certificate() {
  const folder = mkdtempSync(path.join(tmpdir(), 'wherry-bench-'));
  const file = (name) => path.join(folder, name);
  const names = ['-subj', '/CN=127.0.0.1', '-addext', 'subjectAltName=IP:127.0.0.1'];
  const files = ['-keyout', file('key'), '-out', file('cert')];
  const kind = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-days', '2'];
  execFileSync('openssl', ['req', '-x509', ...kind, ...names, ...files], { stdio: 'ignore' });
  const made = { cert: readFileSync(file('cert'), 'utf8'), key: readFileSync(file('key'), 'utf8') };
  rmSync(folder, { recursive: true });
  return made;
}

async function main() {
  const made = certificate();
  const child = fork(fileURLToPath(import.meta.url), ['--hook'], {
    env: { ...process.env, CERT: made.cert, KEY: made.key },
  });
  const [{ port }] = await once(child, 'message');
  const cluster = await start({ port: 0, store: 'memory', controllers: false });
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  const caBundle = Buffer.from(made.cert).toString('base64');
  const configure = (name, resources) =>
    send(
      cluster.url,
      agent,
      'POST',
      configurations,
      JSON.stringify({
        metadata: { name },
        webhooks: [
          {
            name: `${name}.example.com`,
            clientConfig: { url: `https://127.0.0.1:${port}/`, caBundle },
            rules: [{ operations: ['*'], apiGroups: [''], apiVersions: ['v1'], resources }],
            sideEffects: 'None',
            admissionReviewVersions: ['v1'],
          },
        ],
      }),
    );
  await timed(cluster.url, agent, 'warm');
  const bare = await timed(cluster.url, agent, 'bare');
  await configure('other', ['secrets']);
  const beside = await timed(cluster.url, agent, 'beside');
  await configure('asked', ['configmaps']);
  const asked = await timed(cluster.url, agent, 'asked');
  child.send('how long?');
  const [{ calls, ownMs }] = await once(child, 'message');
  if (process.argv.includes('--json'))
    console.log(JSON.stringify({ bare, beside, asked, own: ownMs / calls }));
  else print(bare, beside, asked, ownMs / calls);
  agent.destroy();
  child.kill();
  await cluster.close();
}

function print(bare, beside, asked, own) {
  const micro = (ms) => `${(ms * 1000).toFixed(0)} µs`;
  console.log(`${writes} creates of a configmap, one after the other; memory store`);
  console.log(`no webhook                       ${micro(bare)}`);
  console.log(`a webhook for other resources    ${micro(beside)}`);
  console.log(`a webhook that is asked          ${micro(asked)}, of which its own time ${micro(own)}`);
  console.log(`the call beside that             ${micro(asked - bare - own)}`);
}

if (process.argv.includes('--hook')) hook({ cert: process.env.CERT, key: process.env.KEY });
else await main();
