/**
 * A round on etcd: three members and several servers, with traffic through all servers, while members and servers are
 * killed and paused, and etcd is compacted. One more server, which is left alone, tells the witnesses what happened.
 */
import { TestEtcd } from '../../src/store/etcd/etcd-server.fixture.ts';
import { Child } from '../support/child.ts';
import { randomFrom } from '../support/workload.ts';
import { Clock } from './operations.ts';
import { clients, historyMin, judge, prepare, type RoundResult, readEverything, watchers } from './round.ts';
import type { Random } from './traffic.ts';
import { Cut, type Recording, resources, TrafficClient } from './traffic.ts';
import { WatchingClient, Witness } from './watching.ts';

export interface EtcdRoundOptions {
  readonly seed: number;
  /** A folder for each server. */
  readonly folder: () => Promise<string>;
  readonly servers: number;
  readonly operations: number;
  /** How many faults at least. */
  readonly faults: number;
}

/** How long a server may be started again. */
const startMaxMs = 60_000;

const pauseMs = (milliseconds: number): Promise<void> =>
  new Promise((resolve) => setTimeout(resolve, milliseconds));

/** A server that is started again after each fault. */
class Server {
  #child!: Child;
  url = '';

  constructor(private readonly args: readonly string[]) {}

  /** As under a supervisor: a server that gives up because etcd has no leader for a while is started again. */
  async start(): Promise<this> {
    const common = ['serve', '--port', '0', '--secure-port', 'off', '--controllers', 'none'];
    const giveUpMs = Date.now() + startMaxMs;
    for (;;)
      try {
        this.#child = new Child([...common, ...this.args]);
        this.url = await this.#child.ready();
        return this;
      } catch (error) {
        const isWithoutEtcd = /wherry: (etcd does not answer|no member of etcd can be used)/.test(
          this.#child.stderr,
        );
        if (!isWithoutEtcd || Date.now() > giveUpMs) throw error;
      }
  }

  async kill(): Promise<void> {
    await this.#child.kill();
  }

  async pause(milliseconds: number): Promise<void> {
    this.#child.signal('SIGSTOP');
    await pauseMs(milliseconds);
    this.#child.signal('SIGCONT');
  }
}

export async function runEtcdRound(options: EtcdRoundOptions): Promise<RoundResult> {
  const etcd = await TestEtcd.start({ members: 3 });
  const servers: Server[] = [];
  try {
    const server = async (i: number, changes: number): Promise<Server> => {
      // Each begins with another member.
      const members = [...etcd.urls.slice(i % 3), ...etcd.urls.slice(0, i % 3)].join(',');
      const store = ['--store', 'etcd', '--etcd-servers', members, '--data-dir', await options.folder()];
      return new Server([...store, '--history', `10m,${changes}`]).start();
    };
    for (let i = 0; i < options.servers; i++) servers.push(await server(i, historyMin));
    const told = await server(options.servers, 50_000);
    try {
      return await runTraffic(options, etcd, servers, told);
    } finally {
      await told.kill();
    }
  } finally {
    await Promise.all(servers.map((one) => one.kill()));
    await etcd.close();
  }
}

async function runTraffic(
  { seed, operations: wanted, faults: faultsMin }: EtcdRoundOptions,
  etcd: TestEtcd,
  servers: readonly Server[],
  told: Server,
): Promise<RoundResult> {
  const base = await prepare(told.url);
  const recording: Recording = {
    clock: new Clock(),
    operations: [],
    expiries: [],
    newest: base,
    base,
    outages: true,
  };
  const witnesses = resources.map((resource) => new Witness(resource, base));
  await Promise.all(witnesses.map((witness) => witness.open(told.url)));
  const working = Array.from(
    { length: clients },
    (_, number) => new TrafficClient(number, randomFrom(seed + 1 + number), recording),
  );
  const watching = Array.from(
    { length: watchers },
    (_, number) => new WatchingClient(`watcher ${number}`, randomFrom(seed + 1000 + number), recording),
  );
  const faults = new Faults(randomFrom(seed), etcd, servers);
  const isOver = (): boolean => faults.count >= faultsMin && recording.operations.length >= wanted;
  /** Each step goes to another server: what one has written, the next must show. */
  const run = async (step: (url: string) => Promise<void>, random: Random): Promise<void> => {
    while (!isOver() && !faults.error)
      try {
        await step(servers[random(servers.length)]!.url);
      } catch (error) {
        if (!isAway(error as Error)) throw error;
        await pauseMs(20);
      }
  };
  await Promise.all([
    ...working.map((client, i) => run((url) => client.step(url), randomFrom(seed + 2000 + i))),
    ...watching.map((client, i) => run((url) => client.step(url), randomFrom(seed + 3000 + i))),
    faults.run(isOver),
  ]);
  await readEverything(servers[0]!.url, recording, witnesses);
  for (const client of working) client.close();
  const { problems, summary } = judge(recording, witnesses, watching);
  const unknown = recording.operations.filter(
    (operation) => operation.kind === 'write' && operation.outcome === 'unknown',
  ).length;
  return { problems, summary: `${summary}, ${unknown} writes without an outcome, faults: ${faults.summary}` };
}

/** A server is gone, or has lost etcd for longer than a request waits. */
const isAway = (error: Error): boolean =>
  error instanceof Cut || 'code' in error || / 50[34]$/.test(error.message);

/** One after the other, so that most members and some server always work. */
class Faults {
  readonly #counts = new Map<string, number>();
  error: Error | undefined;
  count = 0;

  constructor(
    private readonly random: Random,
    private readonly etcd: TestEtcd,
    private readonly servers: readonly Server[],
  ) {}

  get summary(): string {
    return [...this.#counts].map(([name, count]) => `${count} × ${name}`).join(', ');
  }

  async run(isOver: () => boolean): Promise<void> {
    try {
      while (!isOver()) {
        await pauseMs(200 + this.random(800));
        const name = await this.#next();
        this.#counts.set(name, (this.#counts.get(name) ?? 0) + 1);
        this.count++;
      }
    } catch (error) {
      this.error = error as Error;
      throw error;
    }
  }

  async #next(): Promise<string> {
    const { etcd, servers } = this;
    const server = servers[this.random(servers.length)]!;
    const member = this.random(3);
    switch (this.random(6)) {
      case 0:
        await server.kill();
        await server.start();
        return 'server killed';
      case 1:
        // Now and then for longer than its lease lasts.
        await server.pause(300 + this.random(this.random(3) ? 1500 : 7000));
        return 'server paused';
      case 2:
        await etcd.kill(member);
        await pauseMs(this.random(1500));
        await etcd.restart(member);
        return 'member killed';
      case 3:
        return this.#pauseMember(member, 'member paused');
      case 4:
        return this.#pauseMember(await etcd.leader(), 'leader cut off');
      default:
        // On a busy machine, members may not answer this in time either.
        return etcd.compact(500).then(
          () => 'compaction',
          () => 'no compaction',
        );
    }
  }

  async #pauseMember(member: number, name: string): Promise<string> {
    if (member < 0) return 'no leader';
    this.etcd.pause(member);
    await pauseMs(500 + this.random(4000));
    this.etcd.resume(member);
    return name;
  }
}
