/**
 * `node bench/secure/secure.mjs [--quick]`, part of `npm run bench`: what the secure door costs. Reads over HTTP/1.1 and HTTP/2
 * with TLS beside bare servers of these protocols; each kind of credentials beside none; lists of 1,000 pods, plain and
 * compressed, beside a bare server that sends as many bytes; watch events over HTTP/2 beside the local door's; creates
 * and handshakes. Shares are quotients of the servers' processor times for a request, where both do the same; the machine's
 * cores also run the clients.
 */
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { fanout } from '../fan-out.mjs';
import { fill } from '../objects.mjs';
import { processorMs, wherry } from '../servers.mjs';
import { load } from './load.mjs';

const rounds = 3;
const pods = '/api/v1/namespaces/default/pods';
export const one = `${pods}/pod-000500`;
const median = (figures) => figures.toSorted((a, b) => a - b)[Math.floor(figures.length / 2)];

/** Bare servers of both protocols that answer with so many bytes and the server's own certificate. */
export async function bareSecure(bytes, pki) {
  const files = ['apiserver.key', 'apiserver.crt'].map((name) => path.join(pki, name));
  const child = fork(path.join(import.meta.dirname, 'bare.mjs'), [String(bytes), ...files]);
  const [[h1, h2]] = await once(child, 'message');
  return { h1, h2, pid: child.pid, usedMs: () => processorMs(child.pid), close: () => child.kill() };
}

async function post(url, where, value) {
  const answer = await fetch(url + where, { method: 'POST', body: JSON.stringify(value) });
  if (!answer.ok) throw new Error(await answer.text());
  return answer.json();
}

/** A server with 1,000 pods that everybody may read, and the credentials of its users. */
export async function secured(more = [], build = undefined) {
  const server = await wherry('lmdb', build, ['--secure-port', '0', ...more]);
  await fill(server.url, 1000);
  const binding = (name, subject) => ({
    metadata: { name },
    roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'view' },
    subjects: [{ apiGroup: 'rbac.authorization.k8s.io', ...subject }],
  });
  const bindings = '/apis/rbac.authorization.k8s.io/v1/clusterrolebindings';
  await post(server.url, bindings, binding('anybody', { kind: 'User', name: 'system:anonymous' }));
  await post(server.url, bindings, binding('accounts', { kind: 'Group', name: 'system:serviceaccounts' }));
  await post(server.url, '/api/v1/namespaces/default/serviceaccounts', { metadata: { name: 'reader' } });
  const { status } = await post(server.url, '/api/v1/namespaces/default/serviceaccounts/reader/token', {
    spec: {},
  });
  const config = JSON.parse(readFileSync(path.join(server.dataDir, 'kubeconfig'), 'utf8'));
  const text = (data) => Buffer.from(data, 'base64').toString('utf8');
  const { user } = config.users[0];
  const { cluster } = config.clusters[0];
  const trust = { ca: text(cluster['certificate-authority-data']) };
  const shown = { cert: text(user['client-certificate-data']), key: text(user['client-key-data']) };
  return {
    server,
    pki: path.join(server.dataDir, 'pki'),
    url: cluster.server,
    anonymous: { tls: trust },
    certificate: { tls: { ...trust, ...shown } },
    token: { tls: trust, headers: { authorization: `Bearer ${status.token}` } },
  };
}

/** Measures each in turn, several times, and gives the medians: requests a second and microseconds of each. */
async function inTurn(works, usedMs) {
  const found = works.map(() => []);
  for (let round = 0; round < rounds; round++)
    for (const [i, work] of works.entries()) found[i].push(await load(work, usedMs[i]));
  return found.map((all) => ({
    perSecond: median(all.map(({ perSecond }) => perSecond)),
    microseconds: median(all.map(({ microseconds }) => microseconds)),
  }));
}

async function reads(row, { server, url, ...users }, bare, seconds) {
  const used = () => server.processorMs;
  for (const [protocol, name, credentials] of [
    ['h1', 'HTTP/1.1', ['anonymous', 'certificate', 'token']],
    // An HTTP/2 connection ends after a request without credentials, as in Kubernetes.
    ['h2', 'HTTP/2', ['certificate', 'token']],
  ]) {
    const works = credentials.map((user) => ({ url, protocol, path: one, seconds, ...users[user] }));
    const yardstick = { url: bare[protocol], protocol, path: '/', seconds, ...users.anonymous };
    const [unit, ...found] = await inTurn([yardstick, ...works], [bare.usedMs, ...works.map(() => used)]);
    row(`bare server, ${name} with TLS`, 'lmdb', unit.perSecond, 'requests/s');
    for (const [i, user] of credentials.entries())
      row(
        `read one, ${name} with TLS, ${user}`,
        'lmdb',
        found[i].perSecond,
        'requests/s',
        unit.microseconds / found[i].microseconds,
      );
  }
}

async function lists(row, { server, url, certificate, pki }, seconds) {
  const used = () => server.processorMs;
  const bytes = Number(
    (await fetch(server.url + pods, { headers: { 'Accept-Encoding': 'identity' } })).headers.get(
      'content-length',
    ),
  );
  const bare = await bareSecure(bytes, pki);
  const work = { protocol: 'h2', seconds, ...certificate };
  const [unit, plain, zipped, message, zippedMessage] = await inTurn(
    [
      { ...work, url: bare.h2, path: '/' },
      { ...work, url, path: pods },
      { ...work, url, path: pods, headers: { 'accept-encoding': 'gzip' } },
      { ...work, url, path: pods, headers: { accept: 'application/vnd.kubernetes.protobuf' } },
      {
        ...work,
        url,
        path: pods,
        headers: { accept: 'application/vnd.kubernetes.protobuf', 'accept-encoding': 'gzip' },
      },
    ],
    [bare.usedMs, used, used, used, used],
  );
  bare.close();
  row('bare server, HTTP/2, as many bytes as a list of 1,000', 'lmdb', unit.perSecond, 'requests/s');
  for (const [name, { perSecond, microseconds }, than] of [
    ['list 1,000, HTTP/2', plain, unit],
    ['list 1,000, HTTP/2, gzip (share: of plain)', zipped, plain],
    ['list 1,000 in protobuf, HTTP/2', message, unit],
    ['list 1,000 in protobuf, HTTP/2, gzip (share: of plain)', zippedMessage, message],
  ])
    row(name, 'lmdb', perSecond, 'requests/s', than.microseconds / microseconds);
}

async function watches(row, { server, url, certificate }, changes) {
  const local = await fanout(server.url, 200, changes);
  const over = await fanout(server.url, 200, changes, 'json', { url, tls: certificate.tls });
  row('watch events, 200 watchers, local door', 'lmdb', local.eventsPerSecond, 'events/s');
  row(
    'watch events, 200 watchers, HTTP/2 (share: of local)',
    'lmdb',
    over.eventsPerSecond,
    'events/s',
    over.eventsPerSecond / local.eventsPerSecond,
  );
}

/** What RBAC costs: a second server, which allows everything. */
async function rights(row, first, seconds) {
  const open = await secured(['--authorization-mode', 'AlwaysAllow']);
  const work = { protocol: 'h1', path: one, seconds };
  const [without, withRoles] = await inTurn(
    [
      { ...work, url: open.url, ...open.token },
      { ...work, url: first.url, ...first.token },
    ],
    [() => open.server.processorMs, () => first.server.processorMs],
  );
  await open.server.close();
  row(
    'read one with a token, RBAC (share: of AlwaysAllow)',
    'lmdb',
    withRoles.perSecond,
    'requests/s',
    without.microseconds / withRoles.microseconds,
  );
}

/** Calls `row(figure, store, value, unit, share)` with each figure. */
export async function secureBench(row, { seconds, only = '' }) {
  const parts = {
    reads: async (first) => {
      const bare = await bareSecure(1500, first.pki);
      await reads(row, first, bare, seconds);
      bare.close();
    },
    lists: (first) => lists(row, first, seconds),
    rights: (first) => rights(row, first, seconds),
    writes: async ({ server, url, certificate }) => {
      const work = { protocol: 'h1', path: pods, method: 'POST', seconds };
      const used = () => server.processorMs;
      const [local, over] = await inTurn(
        [
          { ...work, url: server.url },
          { ...work, url, ...certificate },
        ],
        [used, used],
      );
      const share = over.perSecond / local.perSecond;
      row('create, HTTP/1.1 with TLS (share: of local)', 'lmdb', over.perSecond, 'requests/s', share);
      const { perSecond } = await load({ what: 'handshakes', url, seconds, ...certificate }, used);
      row('handshakes', 'lmdb', perSecond, 'per second');
    },
    watches: (first) => watches(row, first, 300),
  };
  const first = await secured();
  for (const [name, part] of Object.entries(parts))
    if (!only || only.split(',').includes(name)) await part(first);
  await first.server.close();
}

if (process.argv[1] === import.meta.filename)
  await secureBench(
    (figure, _store, value, unit, share) =>
      console.log(
        `${figure.padEnd(58)} ${value.toFixed(0).padStart(8)} ${unit.padEnd(10)} ${share?.toFixed(3) ?? ''}`,
      ),
    {
      seconds: process.argv.includes('--quick') ? 1 : 3,
      only: process.argv[process.argv.indexOf('--only') + 1 || process.argv.length],
    },
  );
