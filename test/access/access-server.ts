/** A server without controllers whose door believes who sends a request, with authorization as a cluster has it. */

import { randomInt, randomUUID } from 'node:crypto';
import { makeAuthenticator } from '../../src/access/authentication/make-authenticator.ts';
import type { AuthorizationOptions } from '../../src/access/authorization/authorization-options.ts';
import type { Authorization } from '../../src/access/authorization/make-authorizer.ts';
import { Tokens } from '../../src/access/tokens/tokens.ts';
import { KindTable } from '../../src/api/kinds/kinds.ts';
import { openAuthorization } from '../../src/cluster/access/authorization.ts';
import { DefaultPolicy } from '../../src/cluster/access/default-policy.ts';
import { admissionChain } from '../../src/registry/admission/plugins.ts';
import { parseIPRanges } from '../../src/registry/allocation/ip-allocator.ts';
import { parsePortRange } from '../../src/registry/allocation/port-allocator.ts';
import { ServiceAllocator } from '../../src/registry/allocation/service-allocation.ts';
import type { Registry } from '../../src/registry/registry.ts';
import { endpointsRemoval } from '../../src/registry/system/endpoints-removal.ts';
import { SystemNamespaces } from '../../src/registry/system/system-namespaces.ts';
import { View } from '../../src/registry/view/view.ts';
import { makeWriting, type Writing } from '../../src/registry/writing.ts';
import { UsageReports } from '../../src/server/computed/usage-reports.ts';
import { NamedDoor } from '../../src/server/doors/named-door.fixture.ts';
import { LimitKeeper } from '../../src/server/http/limits.ts';
import { ApiServer } from '../../src/server/server.ts';
import { openMemoryStore } from '../../src/store/memory.ts';
import type { NodeConnector } from '../../src/streams/dial/node-connector.ts';
import { Client } from '../support/http.ts';

const nodes: NodeConnector = {
  connect: () => Promise.reject(new Error('there are no nodes')),
  isLocal: () => false,
};

export class AccessServer extends Client {
  readonly failures: Error[] = [];
  writing!: Writing;
  #server!: ApiServer;
  #authorization!: Authorization;
  readonly #closers: (() => unknown)[] = [];

  constructor() {
    super(() => this.#server.url);
  }

  get registry(): Registry {
    return this.writing.registry;
  }

  get server(): ApiServer {
    return this.#server;
  }

  async start(options: AuthorizationOptions = {}): Promise<void> {
    const report = (error: Error): void => void this.failures.push(error);
    const kinds = new KindTable();
    const store = openMemoryStore();
    const view = await View.open(store, kinds);
    const services = new ServiceAllocator(view, {
      addresses: parseIPRanges('10.0.0.0/24')!,
      nodePorts: parsePortRange('30000-32767')!,
    });
    const chance = {
      nowMs: () => Date.now(),
      uid: () => randomUUID(),
      randomBelow: (bound: number) => randomInt(bound),
    };
    this.#authorization = await openAuthorization({ view, sources: chance }, options);
    const { authorizer, guard } = this.#authorization;
    this.writing = makeWriting(store, view, kinds, chance, {
      admission: (made) => admissionChain(made).guardedBy(guard),
      authorizer,
      allocators: [services],
      removals: [endpointsRemoval],
    });
    const namespaces = new SystemNamespaces(this.writing, report);
    await namespaces.start();
    const policy = new DefaultPolicy(this.writing);
    await policy.plant();
    const tokens = new Tokens(this.registry);
    const authentication = await makeAuthenticator(
      {},
      { registry: this.registry, writing: this.writing, tokens, onError: report, onWarning: () => undefined },
    );
    this.#server = new ApiServer(this.writing, {
      tokens,
      authentication,
      doors: [new NamedDoor(authorizer)],
      createStatus: 201,
      compatibility: 'kubernetes',
      watchDefault: 'state',
      keeper: new LimitKeeper({}),
      components: [],
      health: [policy.check],
      nodes,
      usage: new UsageReports(this.registry, nodes),
      report,
    });
    await this.#server.listen();
    this.#closers.push(
      () => this.#server.close(),
      () => authentication.close(),
      () => this.#authorization.close(),
      () => namespaces.close(),
      () => view.close(),
      () => store.close(),
    );
  }

  async close(): Promise<void> {
    for (const close of this.#closers) await close();
  }
}
