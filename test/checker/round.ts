/**
 * A round: a server with traffic, and with a durable engine an occasional `kill -9`. Afterwards all recorded
 * answers are checked.
 */
import { Agent } from 'node:http';
import { Child } from '../support/child.ts';
import { randomFrom } from '../support/workload.ts';
import { checkExpiries, checkOperations } from './linearizability.ts';
import { Log, versionOf } from './log.ts';
import { Clock } from './operations.ts';
import { Cut, namespaces, type Recording, resources, send, TrafficClient } from './traffic.ts';
import { checkWatch } from './watch-properties.ts';
import { WatchingClient, Witness } from './watching.ts';

export const clients = 16;
export const watchers = 4;
/** So little history that compaction happens all the time. */
export const historyMin = 100;

export interface RoundOptions {
  readonly seed: number;
  /** The data folder; undefined: in memory, without kills. */
  readonly dataDir: string | undefined;
  readonly kills: number;
  /** Approximate number of operations between two kills. */
  readonly operations: number;
}

export interface RoundResult {
  /** The violations found; empty if none. */
  readonly problems: string[];
  /** A short summary of the round. */
  readonly summary: string;
}

export async function runRound(options: RoundOptions): Promise<RoundResult> {
  const random = randomFrom(options.seed);
  const store = options.dataDir === undefined ? ['--in-memory'] : ['--data-dir', options.dataDir];
  // The clients are the only writers, so that all changes are in their answers.
  const alone = ['--controllers', 'none', '--history', `10m,${historyMin}`];
  const start = (): Child => new Child(['serve', '--port', '0', '--secure-port', 'off', ...alone, ...store]);
  let server = start();
  let url = await server.ready();
  const base = await prepare(url);
  const recording: Recording = {
    clock: new Clock(),
    operations: [],
    expiries: [],
    newest: base,
    base,
    outages: false,
  };
  const { operations } = recording;
  const witnesses = resources.map((resource) => new Witness(resource, base));
  const working = Array.from(
    { length: clients },
    (_, number) => new TrafficClient(number, randomFrom(options.seed + 1 + number), recording),
  );
  const watching = Array.from(
    { length: watchers },
    (_, number) =>
      new WatchingClient(`watcher ${number}`, randomFrom(options.seed + 1000 + number), recording),
  );
  for (let round = 0; round <= options.kills; round++) {
    const isLast = round === options.kills;
    await Promise.all(witnesses.map((witness) => witness.open(url)));
    const end = operations.length + Math.ceil(options.operations * (0.5 + random(1000) / 1000));
    const patienceMs = random(5);
    let isOver = false;
    let isKilled = false;
    const run = async (step: () => Promise<void>): Promise<void> => {
      while (!isOver) {
        await step();
        if (operations.length < end) continue;
        if (isLast) isOver = true;
        // Immediately, or a moment later, in the middle of the server's work. Clients continue until then.
        else if (!isKilled) setTimeout(() => server.signal('SIGKILL'), patienceMs);
        isKilled = true;
      }
    };
    const isGone = (error: Error): void => {
      if (isLast || !(error instanceof Cut || 'code' in error)) throw error;
    };
    await Promise.all([
      ...working.map((client) => run(() => client.step(url)).catch(isGone)),
      ...watching.map((client) => run(() => client.step(url)).catch(isGone)),
    ]);
    if (isLast) break;
    await server.exited;
    for (const witness of witnesses) await witness.take();
    server = start();
    url = await server.ready();
  }
  await readEverything(url, recording, witnesses);
  for (const client of working) client.close();
  await server.kill();
  const { problems, summary } = judge(recording, witnesses, watching);
  return { problems, summary: `${summary}, ${options.kills} kills` };
}

/** Reads everything after the traffic: the result is the final state, which the witnesses must know. */
export async function readEverything(
  url: string,
  recording: Recording,
  witnesses: readonly Witness[],
): Promise<void> {
  const reader = new TrafficClient(clients, () => 0, recording);
  await reader.readAll(url);
  reader.close();
  for (const [i, witness] of witnesses.entries()) {
    const marker = await createMarker(url, resources[i]!);
    await witness.reached(marker);
    witness.close();
  }
}

/** Checks all that was recorded. */
export function judge(
  { base, operations, expiries }: Recording,
  witnesses: readonly Witness[],
  watching: readonly WatchingClient[],
): RoundResult {
  const changes = witnesses
    .flatMap((witness) => witness.changes)
    .filter(({ key }) => !key.includes(markerName))
    .sort((a, b) => a.version - b.version);
  const log = new Log(base, changes);
  const records = watching.flatMap((client) => client.records);
  const problems = [
    ...checkOperations(log, operations),
    ...checkExpiries(expiries, historyMin),
    ...records.flatMap((record) =>
      checkWatch(record, log).map(({ property, what }) => `${property}: ${what}`),
    ),
  ];
  const told = records.reduce((sum, { lines }) => sum + lines.length, 0);
  const summary = `${operations.length} operations, ${changes.length} changes, ${records.length} watches told ${told} lines, ${expiries.length} versions too old`;
  return { problems, summary };
}

const markerName = 'marker';

async function createMarker(url: string, resource: string): Promise<number> {
  const path = `/api/v1/namespaces/default/${resource}`;
  const { status, body } = await send(url, new Agent(), 'POST', path, { metadata: { name: markerName } });
  if (status !== 200) throw new Error(JSON.stringify(body));
  return versionOf(body);
}

/** Creates the namespaces; returns the version afterwards. */
export async function prepare(url: string): Promise<number> {
  const agent = new Agent();
  for (const name of namespaces) await send(url, agent, 'POST', '/api/v1/namespaces', { metadata: { name } });
  const { body } = await send(url, agent, 'GET', '/api/v1/namespaces');
  return versionOf(body);
}
