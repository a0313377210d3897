/** Three members, three servers, a balancer; what happens to a writer and a watcher when parts of it fail. */
import { Watcher, Writer } from './clients.mjs';
import { leaderOf, startBalancer, startMembers, startServers } from './processes.mjs';

const pause = (milliseconds) => new Promise((resolve) => setTimeout(resolve, milliseconds));
const say = (text) => process.stdout.write(`${text}\n`);

const members = await startMembers(3);
say(`etcd:     ${members.map(({ url }) => url).join(' ')}`);
const servers = await startServers(3, members);
say(`servers:  ${servers.map(({ url }) => url).join(' ')}`);
const balancer = await startBalancer(servers);
say(`balancer: ${balancer.url}`);

const watcher = await Watcher.begin(balancer.url);
const writer = new Writer(balancer.url, 10);
await pause(3000);

/** Lets something fail, and says how long no write was acknowledged. */
async function fails(what, boundMs, fail) {
  const beginMs = performance.now();
  const count = writer.acknowledged.length;
  await fail();
  await pause(5000);
  const gapMs = writer.longestGapSince(beginMs);
  const late = gapMs > boundMs ? `, more than the ${boundMs} ms it should be` : '';
  say(`${what}: ${writer.acknowledged.length - count} writes acknowledged, longest gap ${gapMs} ms${late}`);
  return gapMs <= boundMs;
}

let good = await fails('nothing fails', 5000, () => undefined);
good = (await fails('kill -9 of a server', 5000, () => servers[0].kill())) && good;
servers[0].start();
await servers[0].ready('/readyz');
const leader = await leaderOf(members);
good = (await fails(`kill -9 of the leader, ${leader.name}`, 10_000, () => leader.kill())) && good;
leader.start();
await leader.ready('/health');
const follower = members.find((member) => member !== leader);
good = (await fails(`${follower.name} paused for 10 s`, 5000, () => follower.pause(10_000))) && good;

await writer.stop();
const list = await (await fetch(`${balancer.url}/api/v1/namespaces/default/configmaps`)).json();
const stored = new Set(list.items.map(({ metadata }) => metadata.name));
while (watcher.told.length < stored.size) await pause(100);
await watcher.stop();

const lost = writer.acknowledged.filter((name) => !stored.has(name));
const names = new Set(watcher.told.map(({ name }) => name));
const ordered = watcher.told.every(({ version }, i) => i === 0 || version > watcher.told[i - 1].version);
const exact = ordered && names.size === watcher.told.length && [...stored].every((name) => names.has(name));
say(`${writer.acknowledged.length} writes acknowledged, ${lost.length} of them lost`);
say(
  `the watcher ${exact ? 'saw each of them once and in order' : 'missed or repeated some'}, and connected again ${watcher.resumed} times`,
);
process.exit(good && exact && lost.length === 0 ? 0 : 1);
