/**
 * What a suite on envtest waits for: from the first `--help` to a healthy API server, with the programs of `wherry
 * envtest` and envtest's flags. Median of five, after one start that writes certificates and compiled code. Run with:
 * node bench/envtest.mjs (after node scripts/build.mjs).
 */
import { execFileSync, spawn } from 'node:child_process';
import { generateKeyPairSync } from 'node:crypto';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { get as getPlain } from 'node:http';
import { get as getSecure } from 'node:https';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { freePort } from './free-port.mjs';
import { processorMs } from './servers.mjs';

const root = path.dirname(import.meta.dirname);
const roundsDefault = 5;
/** envtest looks every 100 ms; a figure shall not depend on that. */
const lookMs = 5;
/** A server keeps its compiled code a second after its start. */
const codeKeptMs = 4_000;

const median = (figures) => [...figures].sort((a, b) => a - b)[Math.floor(figures.length / 2)];

const isHealthy = (get, url) =>
  new Promise((resolve) => {
    get(url, { rejectUnauthorized: false, agent: false }, (response) => {
      response.resume();
      response.once('close', () => resolve(response.statusCode === 200));
    }).once('error', () => resolve(false));
  });

async function until(get, url) {
  while (!(await isHealthy(get, url))) await new Promise((resolve) => setTimeout(resolve, lookMs));
}

/** One start, from the first `--help` on. @param keepMs how long the server runs then */
async function round(assets, folder, keepMs = 0) {
  const [etcdPort, port] = [await freePort(), await freePort()];
  const dataDir = mkdtempSync(path.join(folder, 'data-'));
  const etcdUrl = `http://127.0.0.1:${etcdPort}`;
  const run = (program, args) => spawn(path.join(assets, program), args, { stdio: 'ignore' });
  const begun = performance.now();
  for (const program of ['etcd', 'kube-apiserver'])
    execFileSync(path.join(assets, program), ['--help'], { stdio: 'ignore' });
  const helped = performance.now();
  const etcd = run('etcd', [
    `--advertise-client-urls=${etcdUrl}`,
    `--data-dir=${dataDir}`,
    `--listen-client-urls=${etcdUrl}`,
    '--listen-peer-urls=http://127.0.0.1:0',
    '--unsafe-no-fsync=true',
  ]);
  await until(getPlain, `${etcdUrl}/health`);
  const server = run('kube-apiserver', [
    '--allow-privileged=true',
    '--authorization-mode=RBAC',
    '--bind-address=127.0.0.1',
    `--cert-dir=${folder}`,
    '--disable-admission-plugins=ServiceAccount',
    `--etcd-servers=${etcdUrl}`,
    `--secure-port=${port}`,
    `--service-account-issuer=https://127.0.0.1:${port}/`,
    `--service-account-key-file=${path.join(folder, 'sa.key')}`,
    `--service-account-signing-key-file=${path.join(folder, 'sa.key')}`,
    '--service-cluster-ip-range=10.0.0.0/24',
  ]);
  await until(getSecure, `https://127.0.0.1:${port}/healthz`);
  const startMs = performance.now() - begun;
  const usedMs = processorMs(etcd.pid) + processorMs(server.pid);
  await new Promise((resolve) => setTimeout(resolve, keepMs));
  const stopped = performance.now();
  for (const child of [server, etcd]) {
    child.kill('SIGTERM');
    await once(child, 'exit');
  }
  return { startMs, helpMs: helped - begun, usedMs, stopMs: performance.now() - stopped };
}

/** Medians of some starts, in milliseconds. */
export async function envtestStart(rounds = roundsDefault) {
  const folder = mkdtempSync(path.join(tmpdir(), 'wherry-bench-'));
  try {
    const assets = path.join(folder, 'assets');
    execFileSync(process.execPath, [path.join(root, 'dist/cli.cjs'), 'envtest', assets], { stdio: 'ignore' });
    const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
    writeFileSync(path.join(folder, 'sa.key'), privateKey.export({ type: 'pkcs8', format: 'pem' }));
    await round(assets, folder, codeKeptMs);
    const figures = [];
    for (let i = 0; i < rounds; i++) figures.push(await round(assets, folder));
    const of = (name) => median(figures.map((figure) => figure[name]));
    return { startMs: of('startMs'), helpMs: of('helpMs'), usedMs: of('usedMs'), stopMs: of('stopMs') };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

if (process.argv[1] === import.meta.filename) {
  const { startMs, helpMs, usedMs, stopMs } = await envtestStart();
  console.log(`both programs, to a healthy server: ${startMs.toFixed(0)} ms (bar: 400)`);
  console.log(`  of these, --help of both:         ${helpMs.toFixed(0)} ms`);
  console.log(`  processor time after that:        ${usedMs.toFixed(0)} ms`);
  console.log(`stopping both:                      ${stopMs.toFixed(0)} ms`);
}
