/**
 * `node bench/etcd-reads.mjs [ROUNDS]`: reads and lists on etcd beside those on lmdb, in turn on one machine, because
 * machines are noisy: each figure is the median of the rounds, after one that is not counted. etcd is one member on the
 * same machine.
 */
import { fill } from './objects.mjs';
import { keepCompiledCode, wherry } from './servers.mjs';
import { measure } from './wrk.mjs';

const rounds = Number(process.argv[2] ?? 5);
const seconds = 3;
const questions = [
  ...[1, 8, 16, 32, 64, 128, 256].map((connections) => ['read one', connections, '/pod-000500']),
  ['list 1,000', 8, ''],
  ['list 1,000, limit=100', 32, '?limit=100'],
  ['list 1,000 by label (100 match)', 32, '?labelSelector=group%3Dg3'],
];

const median = (values) => values.sort((a, b) => a - b)[values.length >> 1];

await keepCompiledCode();
const servers = { etcd: await wherry('etcd'), lmdb: await wherry('lmdb') };
for (const { url } of Object.values(servers)) await fill(url, 1000);
for (const [what, connections, path] of questions) {
  const perSecond = { etcd: [], lmdb: [] };
  for (let round = 0; round <= rounds; round++)
    for (const [store, { url }] of Object.entries(servers)) {
      const result = await measure(`${url}/api/v1/namespaces/default/pods${path}`, { connections, seconds });
      if (round > 0) perSecond[store].push(result.perSecond);
    }
  const [etcd, lmdb] = [median(perSecond.etcd), median(perSecond.lmdb)];
  console.log(
    `${what}, ${connections} connections: etcd ${etcd.toFixed(0)}, lmdb ${lmdb.toFixed(0)} requests/s, share ${(etcd / lmdb).toFixed(2)}`,
  );
}
for (const server of Object.values(servers)) await server.close();
process.exit();
