/**
 * `node bench/secure/processor.mjs [ROUNDS [FOLDER]]`: processor time of the main thread for a read at the secure door,
 * beside bare servers, and of the build in another checkout. All are asked in turn, when their code is compiled, by clients
 * that cost little; so it says something on a busy machine, too. Needs Linux, for `/proc`.
 */
import { readFileSync } from 'node:fs';
import { rawClients } from './raw-clients.mjs';
import { bareSecure, one, secured } from './secure.mjs';

const [rounds = 7, other] = process.argv.slice(2);
const warming = 6_000;
const count = 1_000;
const shapes = { h1: { connections: 16 }, h2: { connections: 4, streams: 8 } };

const mainUs = (pid) =>
  Number(readFileSync(`/proc/${pid}/task/${pid}/schedstat`, 'utf8').split(' ')[0]) / 1000;
const median = (figures) => figures.toSorted((a, b) => a - b)[Math.floor(figures.length / 2)];

const builds = [{ name: 'this build', ...(await secured()) }];
if (other) builds.unshift({ name: other, ...(await secured([], other)) });
const bare = await bareSecure(1500, builds[0].pki);

async function measured({ url, pid, ...asked }, requests) {
  const clients = await rawClients(url, asked);
  // The handshakes do not count.
  await clients.send(100);
  const before = mainUs(pid);
  await clients.send(requests);
  const us = (mainUs(pid) - before) / requests;
  clients.end();
  return us;
}

for (const [protocol, user] of [
  ['h1', 'anonymous'],
  ['h1', 'token'],
  ['h2', 'certificate'],
  ['h2', 'token'],
]) {
  const shape = { protocol, ...shapes[protocol] };
  const unit = { ...shape, url: bare[protocol], pid: bare.pid, path: '/', ...builds[0].anonymous };
  const works = [
    unit,
    ...builds.map((build) => ({
      ...shape,
      url: build.url,
      pid: build.server.child.pid,
      path: one,
      ...build[user],
    })),
  ];
  for (const work of works) await measured(work, warming);
  const found = works.map(() => []);
  for (let round = 0; round < Number(rounds); round++)
    for (const [i, work] of works.entries()) found[i].push(await measured(work, count));
  for (const [i, figures] of found.entries()) {
    const share = median(figures.map((us, round) => found[0][round] / us));
    const name = i === 0 ? 'bare server' : `${user}, ${builds[i - 1].name}`;
    console.log(
      `${protocol} ${name.padEnd(40)} ${median(figures).toFixed(1).padStart(7)} µs  ${share.toFixed(2)}`,
    );
  }
}
bare.close();
for (const { server } of builds) await server.close();
