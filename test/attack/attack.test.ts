/**
 * Proves that no attack gets in, and that a neighbour is served meanwhile. `npm test` runs the short form; `npm run
 * attack` the long one, and prints what each did and what the neighbour felt.
 */
import { existsSync } from 'node:fs';
import { getPriority, setPriority } from 'node:os';
import { afterAll, describe, expect, it } from 'vitest';
import { command } from '../support/child.ts';
import { type Attack, needsOwnServer, type Outcome, smallLimits } from './attack.ts';
import { type AttackRow, tableText } from './attack-table.ts';
import { AttackedServer } from './attacked-server.ts';
import { type Felt, Neighbour } from './neighbour.ts';
import type { Blocks } from './server-process.ts';

const {
  WHERRY_ATTACK: form,
  WHERRY_ATTACK_SERVER: runningUrl,
  WHERRY_ATTACK_TOKEN: runningToken = '',
} = process.env;
const isShort = form !== 'long';
/** How long the neighbour works without an attack, for comparison. */
const aloneMs = 3_000;
/** A short attack is repeated for this long where the neighbour is measured: a percentile needs many requests. */
const measuredMs = 3_000;
/** Between two requests of each of the neighbour's clients. The short form counts failures alone. */
const restMs = isShort ? 250 : 20;
/** What an attack may have the server write to its log. */
const loggedBytesMax = 50_000;
/** Attackers are on other machines. Here they leave the processors to the server and its neighbour, where they can. */
const attackNiceness = 10;

const all = Object.values(
  (import.meta as unknown as { glob: Glob }).glob<{ attack: Attack }>('./attacks/*.ts', { eager: true }),
).map(({ attack }) => attack);
const attacks = all.filter(
  (attack) => !(isShort && attack.longOnly) && (runningUrl === undefined || !needsOwnServer(attack)),
);

type Glob = <T>(pattern: string, options: { eager: true }) => Record<string, T>;

/** Servers, by their options: attacks with the same options share one. */
const servers = new Map<string, Promise<AttackedServer>>();
const rows: AttackRow[] = [];

const usualOptions: readonly string[] = isShort ? smallLimits : [];

async function withServer(attack: Attack, use: (server: AttackedServer) => Promise<void>): Promise<void> {
  if (!attack.prepare) {
    const { options = usualOptions, flags = [] } = attack;
    const key = JSON.stringify([options, flags]);
    const server =
      servers.get(key) ??
      (runningUrl === undefined
        ? AttackedServer.start(options, flags)
        : AttackedServer.at(runningUrl, runningToken));
    servers.set(key, server);
    return use(await server);
  }
  const prepared = await attack.prepare();
  const server = await AttackedServer.start([...(attack.options ?? []), ...prepared.options], attack.flags);
  try {
    await use(server);
  } finally {
    await server.close();
    await prepared.close();
  }
}

/**
 * A server that nobody attacks, on the same machine, with a neighbour of its own. What that one feels beside an attack
 * is the machine's part: attacker, servers and neighbours share its processors.
 */
let bystander: Promise<AttackedServer> | undefined;

/** What neighbours of both servers feel while something runs. */
async function felt<T>(server: AttackedServer, run: () => Promise<T>): Promise<[T, Felt, Felt]> {
  bystander ??= AttackedServer.start();
  const neighbours = [
    await Neighbour.start(server, restMs),
    await Neighbour.start(await bystander, restMs),
  ] as const;
  const done = await run().catch(async (error: unknown) => {
    await Promise.all(neighbours.map((neighbour) => neighbour.stop()));
    throw error;
  });
  const [here, there] = await Promise.all(neighbours.map((neighbour) => neighbour.stop()));
  return [done, here!, there!];
}

/** The short form: whether it gets in, and whether the neighbour is served. */
async function attempt(attack: Attack, server: AttackedServer): Promise<void> {
  const neighbour = await Neighbour.start(server, restMs);
  let outcome: Outcome | undefined;
  let felt: Felt;
  try {
    outcome = await watched(attack, server);
  } finally {
    // Also when the attack fails: the next one has a neighbour of its own.
    felt = await neighbour.stop();
  }
  conclude(server, outcome.gotIn, felt.failures);
}

/** The long form: also what it costs, and how long the neighbours wait without it and beside it. */
async function measure(attack: Attack, server: AttackedServer): Promise<void> {
  const pause = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, aloneMs));
  const [, alone] = await felt(server, pause);
  await server.turns();
  await server.blocks();
  const [cpuMs, begunMs] = [await server.usedMs(), performance.now()];
  let blocks: Blocks | undefined;
  let tookMs = 0;
  const [{ gotIn, says }, beside, elsewhere] = await felt(server, async () => {
    const outcome = await watched(attack, server, begunMs);
    [blocks, tookMs] = [await server.blocks(), performance.now() - begunMs];
    return outcome;
  });
  const usedMs = (await server.usedMs()) - cpuMs;
  const { name } = attack;
  rows.push({ name, says, gotIn, cpuMs: usedMs, tookMs, blocks, alone, beside, elsewhere });
  process.stdout.write(await server.turns());
  conclude(server, gotIn, beside.failures);
}

function conclude(server: AttackedServer, gotIn: readonly string[], failures: readonly string[]): void {
  expect(gotIn).toEqual([]);
  expect(failures).toEqual([]);
  expect(server.isAlive).toBe(true);
}

/** Runs an attack, and looks whether it fills the log. */
async function watched(
  attack: Attack,
  server: AttackedServer,
  begunMs = performance.now(),
): Promise<Outcome> {
  const before = server.loggedBytes;
  const { gotIn, says } = await asAttacker(() => repeated(attack, server, begunMs));
  const logged = server.loggedBytes - before;
  return {
    gotIn: logged > loggedBytesMax ? [...gotIn, `it writes ${logged} bytes to the log`] : gotIn,
    says,
  };
}

async function repeated(attack: Attack, server: AttackedServer, begunMs: number): Promise<Outcome> {
  let outcome = await attack.run(server, isShort);
  while (!isShort && !outcome.gotIn.length && performance.now() - begunMs < measuredMs)
    outcome = await attack.run(server, isShort);
  return outcome;
}

/** Runs at a low priority where something is measured. Only root can raise it again, so others keep theirs. */
async function asAttacker<T>(run: () => Promise<T>): Promise<T> {
  if (isShort || process.getuid?.() !== 0) return run();
  const usual = getPriority();
  setPriority(Math.min(19, usual + attackNiceness));
  try {
    return await run();
  } finally {
    setPriority(usual);
  }
}

/** Whether its server is not the one that most attacks of the short form share. */
const isOwn = ({ options = usualOptions, flags, prepare }: Attack): boolean =>
  options !== usualOptions || flags !== undefined || prepare !== undefined;

/** Runs one after the other. */
class Queue {
  #last: Promise<unknown> = Promise.resolve();

  add(run: () => Promise<void>): Promise<void> {
    const done = this.#last.then(run);
    this.#last = done.catch(() => undefined);
    return done;
  }
}

describe.runIf(existsSync(command))('under attack', () => {
  afterAll(async () => {
    for (const server of servers.values()) await (await server).close();
    await (await bystander)?.close();
    if (rows.length) process.stdout.write(tableText(rows));
  });

  const run = (attack: Attack): Promise<void> =>
    withServer(attack, (server) => (isShort ? attempt : measure)(attack, server));
  const names = (list: readonly Attack[]) => list.map((attack) => [attack.name, attack] as const);

  if (isShort) {
    // Two at once, because many wait: those at the usual server one after the other, and the rest, too.
    const [usual, others] = [new Queue(), new Queue()];
    const [own, shared] = [attacks.filter(isOwn), attacks.filter((attack) => !isOwn(attack))];
    const mixed = shared.flatMap((attack, i) => [attack, ...own.slice(i, i + 1)]);
    it.concurrent.each(names([...mixed, ...own.slice(shared.length)]))('%s', (_name, attack) =>
      (isOwn(attack) ? others : usual).add(() => run(attack)),
    );
  } else it.each(names(attacks))('%s', (_name, attack) => run(attack));
});
