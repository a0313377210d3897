/**
 * The neighbour: an ordinary user of the secure door, the administrator there, a client of the local door and a probe,
 * who work while others attack. What they feel is how long their requests take, and which are not answered as they
 * should be.
 */
import { join } from 'node:path';
import { Worker } from 'node:worker_threads';
import type { AttackedServer } from './attacked-server.ts';

export interface Felt {
  readonly requests: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
  /** How long the server worked while a request waited, in processor time; NaN where the system does not tell. */
  readonly workedP50Ms: number;
  readonly workedP99Ms: number;
  /** The longest that a probe waited for its answer. */
  readonly probeMaxMs: number;
  /** Answers that were refusals, or no answers. */
  readonly failures: readonly string[];
}

interface Told {
  readonly took: readonly (readonly [
    client: string,
    requests: readonly (readonly [ms: number, workedMs: number])[],
  ])[];
  readonly failures: readonly string[];
}

const probe = 'a probe asks';

export class Neighbour {
  private constructor(private readonly worker: Worker) {}

  /** Resolves when it has been served once. @param pauseMs between two requests of each client */
  static async start(server: AttackedServer, pauseMs: number): Promise<Neighbour> {
    const configMaps = '/api/v1/namespaces/default/configmaps';
    const url = server.secureUrl;
    const [user, admin] = [server.tokenOf('neighbour'), server.tokenOf('admin')];
    const clients = [
      { name: 'the neighbour reads', url, token: user, path: `${configMaps}?limit=10` },
      { name: 'the neighbour writes', url, token: user, path: `${configMaps}?dryRun=All`, writes: true },
      { name: 'the administrator reads', url, token: admin, path: '/api/v1/namespaces' },
      { name: probe, url, path: '/livez' },
      ...(server.url === undefined
        ? []
        : [{ name: 'the local door reads', url: server.url, path: '/api/v1/namespaces' }]),
    ];
    const worker = new Worker(join(import.meta.dirname, 'neighbour-thread.mjs'), {
      workerData: { clients, pauseMs, schedstat: server.schedstat },
    });
    await new Promise((resolve, reject) => worker.once('message', resolve).once('error', reject));
    return new Neighbour(worker);
  }

  /** Resolves when each of them was answered once more. */
  async stop(): Promise<Felt> {
    const told = new Promise<Told>((resolve, reject) =>
      this.worker.once('message', resolve).once('error', reject),
    );
    this.worker.postMessage('stop');
    const { took, failures } = await told;
    await this.worker.terminate();
    const all = took.flatMap(([, requests]) => requests);
    const ascending = (list: readonly number[]): number[] => [...list].sort((a, b) => a - b);
    const [ms, workedMs] = [ascending(all.map(([one]) => one)), ascending(all.map(([, one]) => one))];
    const at = (list: readonly number[], part: number): number => list[Math.floor(list.length * part)] ?? 0;
    return {
      requests: all.length,
      p50Ms: at(ms, 0.5),
      p99Ms: at(ms, 0.99),
      workedP50Ms: at(workedMs, 0.5),
      workedP99Ms: at(workedMs, 0.99),
      probeMaxMs: Math.max(0, ...(new Map(took).get(probe) ?? []).map(([one]) => one)),
      failures,
    };
  }
}
