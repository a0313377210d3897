/** A server whose services are all at one address of this machine, for tests of versions that another server serves. */

import { randomInt, randomUUID } from 'node:crypto';
import { connect } from 'node:net';
import { makeAuthenticator } from '../../src/access/authentication/make-authenticator.ts';
import { Tokens } from '../../src/access/tokens/tokens.ts';
import { allowAll } from '../../src/api/kind/access.ts';
import { KindTable } from '../../src/api/kinds/kinds.ts';
import { Aggregation } from '../../src/extensions/aggregation/aggregation.ts';
import type { Certified } from '../../src/pki/authority.ts';
import { admissionChain } from '../../src/registry/admission/plugins.ts';
import { SystemNamespaces } from '../../src/registry/system/system-namespaces.ts';
import { View } from '../../src/registry/view/view.ts';
import { makeWriting } from '../../src/registry/writing.ts';
import { UsageReports } from '../../src/server/computed/usage-reports.ts';
import { NamedDoor } from '../../src/server/doors/named-door.fixture.ts';
import { LimitKeeper } from '../../src/server/http/limits.ts';
import { computedVersions } from '../../src/server/route-table.ts';
import { ApiServer } from '../../src/server/server.ts';
import { openMemoryStore } from '../../src/store/memory.ts';
import type { NodeConnector } from '../../src/streams/dial/node-connector.ts';
import { Client } from '../support/http.ts';

const nodes: NodeConnector = {
  connect: () => Promise.reject(new Error('there are no nodes')),
  isLocal: () => false,
};

export class AggregatedServer extends Client {
  readonly failures: Error[] = [];
  #server!: ApiServer;
  readonly #closers: (() => unknown)[] = [];

  /** @param port where all services are */
  constructor(
    private readonly port: () => number,
    private readonly certificate: () => Certified | undefined,
  ) {
    super(() => this.#server.url);
  }

  async start(): Promise<void> {
    const report = (error: Error): void => void this.failures.push(error);
    const kinds = new KindTable();
    const store = openMemoryStore();
    const view = await View.open(store, kinds);
    const chance = {
      nowMs: () => Date.now(),
      uid: () => randomUUID(),
      randomBelow: (max: number) => randomInt(max),
    };
    const writing = makeWriting(store, view, kinds, chance, { admission: admissionChain });
    const { registry } = writing;
    const namespaces = new SystemNamespaces(writing, report);
    await namespaces.start();
    const aggregation = new Aggregation(writing, {
      dial: async () => connect(this.port(), '127.0.0.1'),
      client: this.certificate,
      computed: [...computedVersions.keys()],
      report,
    });
    const tokens = new Tokens(registry);
    const authentication = await makeAuthenticator(
      {},
      { registry, writing, tokens, onError: report, onWarning: () => undefined },
    );
    this.#server = new ApiServer(writing, {
      aggregation,
      tokens,
      authentication,
      doors: [new NamedDoor(allowAll)],
      createStatus: 201,
      compatibility: 'kubernetes',
      watchDefault: 'state',
      keeper: new LimitKeeper({}),
      components: [],
      health: [],
      nodes,
      usage: new UsageReports(registry, nodes),
      report,
    });
    await this.#server.listen();
    await aggregation.start();
    this.#closers.push(
      () => this.#server.close(),
      () => aggregation.close(),
      () => authentication.close(),
      () => namespaces.close(),
      () => view.close(),
      () => store.close(),
    );
  }

  async close(): Promise<void> {
    for (const close of this.#closers) await close();
  }
}
