/** A server whose table of kinds tests can change: in memory, with the housekeeping controllers. */

import { randomInt, randomUUID } from 'node:crypto';
import { afterAll, beforeAll } from 'vitest';
import { Tokens } from '../../src/access/tokens/tokens.ts';
import { KindTable } from '../../src/api/kinds/kinds.ts';
import { chosenControllers, startControllers } from '../../src/controllers/controllers.ts';
import { defaultSettings, type RunningController } from '../../src/controllers/shared/controller.ts';
import { admissionChain } from '../../src/registry/admission/plugins.ts';
import { QuotaAccounts } from '../../src/registry/admission/quota-accounts.ts';
import { parseIPRanges } from '../../src/registry/allocation/ip-allocator.ts';
import { parsePortRange } from '../../src/registry/allocation/port-allocator.ts';
import { ServiceAllocator } from '../../src/registry/allocation/service-allocation.ts';
import type { Registry } from '../../src/registry/registry.ts';
import { endpointsRemoval } from '../../src/registry/system/endpoints-removal.ts';
import { SystemNamespaces } from '../../src/registry/system/system-namespaces.ts';
import { View } from '../../src/registry/view/view.ts';
import { makeWriting, type Writing } from '../../src/registry/writing.ts';
import { UsageReports } from '../../src/server/computed/usage-reports.ts';
import { LocalDoor } from '../../src/server/doors/local-door.ts';
import { LimitKeeper } from '../../src/server/http/limits.ts';
import { StoreMetrics } from '../../src/server/observe/store-metrics.ts';
import { ApiServer } from '../../src/server/server.ts';
import { openMemoryStore } from '../../src/store/memory.ts';
import type { NodeConnector } from '../../src/streams/dial/node-connector.ts';
import { Client, housekeeping } from './http.ts';

const nodes: NodeConnector = {
  connect: () => Promise.reject(new Error('there are no nodes')),
  isLocal: () => false,
};

export class KindServer extends Client {
  readonly kinds = new KindTable();
  readonly failures: Error[] = [];
  writing!: Writing;
  #server!: ApiServer;
  #controllers!: RunningController;
  readonly #closers: (() => unknown)[] = [];

  constructor() {
    super(() => this.#server.url);
  }

  get registry(): Registry {
    return this.writing.registry;
  }

  async start(): Promise<void> {
    const report = (error: Error): void => void this.failures.push(error);
    const storeMetrics = new StoreMetrics();
    const store = openMemoryStore({ observe: (...write) => storeMetrics.observe(...write) });
    const view = await View.open(store, this.kinds);
    const services = new ServiceAllocator(view, {
      addresses: parseIPRanges('10.0.0.0/24')!,
      nodePorts: parsePortRange('30000-32767')!,
    });
    const chance = {
      nowMs: () => Date.now(),
      uid: () => randomUUID(),
      randomBelow: (n: number) => randomInt(n),
    };
    let quotas!: QuotaAccounts;
    this.writing = makeWriting(store, view, this.kinds, chance, {
      admission: (made) => {
        quotas = new QuotaAccounts(made.registry);
        return admissionChain(made, {}, { quotas });
      },
      allocators: [services],
      removals: [endpointsRemoval],
    });
    const namespaces = new SystemNamespaces(this.writing, report);
    await namespaces.start();
    this.#server = new ApiServer(this.writing, {
      doors: [new LocalDoor({ host: '127.0.0.1', port: 0 })],
      createStatus: 200,
      compatibility: 'contract',
      watchDefault: 'history',
      keeper: new LimitKeeper({}),
      components: [],
      health: [],
      tokens: new Tokens(this.registry),
      authentication: {
        reviewToken: async () => ({ error: 'no tokens here' }),
        isIdentityHeader: () => false,
      },
      storeMetrics,
      nodes,
      usage: new UsageReports(this.registry, nodes),
      report,
    });
    await this.#server.listen();
    const context = {
      registry: this.registry,
      writing: this.writing,
      quotas,
      tokens: new Tokens(this.registry),
      settings: defaultSettings,
      onError: report,
    };
    this.#controllers = startControllers(context, chosenControllers(housekeeping));
    this.#closers.push(
      () => this.#controllers.close(),
      () => this.#server.close(),
      () => namespaces.close(),
      () => view.close(),
      () => store.close(),
    );
  }

  async stop(): Promise<void> {
    for (const close of this.#closers) await close();
  }

  /** Resolves when the controllers are idle. */
  async settled(): Promise<void> {
    const deadline = Date.now() + 60_000;
    while (!this.#controllers.settled) {
      if (Date.now() > deadline) throw new Error('the controllers do not come to rest');
      await new Promise((resolve) => setImmediate(resolve));
    }
  }
}

/** One server for the tests of a file. */
export function useKindServer(): KindServer {
  const server = new KindServer();
  beforeAll(() => server.start());
  afterAll(() => server.stop());
  return server;
}
