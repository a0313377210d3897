/** For tests of authentication: a registry in memory whose clock the test sets, and what requests show of their sender. */

import { randomInt, randomUUID } from 'node:crypto';
import { KindTable } from '../../api/kinds/kinds.ts';
import type { ApiObject } from '../../api/text/object.ts';
import { admissionChain } from '../../registry/admission/plugins.ts';
import { asTester } from '../../registry/request.fixture.ts';
import { collectionOf } from '../../registry/target.ts';
import { View } from '../../registry/view/view.ts';
import type { Writing } from '../../registry/writing.ts';
import { makeWriting } from '../../registry/writing.ts';
import { openMemoryStore } from '../../store/memory.ts';
import { defaultTokenSettings, type TokenSettings, Tokens } from '../tokens/tokens.ts';
import type { Credentials } from './authenticator.ts';
import { nowMs } from './certificates.fixture.ts';

export class TestCluster {
  private constructor(
    readonly writing: Writing,
    readonly tokens: Tokens,
    readonly clock: { nowMs: number },
    private readonly shut: () => Promise<void>,
  ) {}

  static async open(settings: Partial<TokenSettings> = {}): Promise<TestCluster> {
    const store = openMemoryStore();
    const kinds = new KindTable();
    const view = await View.open(store, kinds);
    const clock = { nowMs };
    const sources = {
      nowMs: () => clock.nowMs,
      uid: () => randomUUID(),
      randomBelow: (bound: number) => randomInt(bound),
    };
    const writing = makeWriting(store, view, kinds, sources, { admission: admissionChain });
    const tokens = new Tokens(writing.registry, { ...defaultTokenSettings, ...settings });
    return new TestCluster(writing, tokens, clock, async () => {
      view.close();
      await store.close();
    });
  }

  close(): Promise<void> {
    return this.shut();
  }

  /** Stores an object as it is, and answers with what is stored. */
  async seed<T extends ApiObject>(resource: string, namespace: string, object: object): Promise<T> {
    const kind = this.writing.registry.kinds.resource('v1', resource)!;
    const planted = structuredClone(object) as ApiObject;
    await this.writing.registry.seed(asTester('create'), collectionOf(kind, namespace), planted);
    return this.find<T>(resource, namespace, planted.metadata.name!)!;
  }

  find<T extends ApiObject>(resource: string, namespace: string, name: string): T | undefined {
    const kind = this.writing.registry.kinds.resource('v1', resource)!;
    return this.writing.registry.view.collection(kind).get(namespace, name)?.object() as T | undefined;
  }

  /** Removes an object at once. */
  async remove(resource: string, namespace: string, name: string): Promise<void> {
    const kind = this.writing.registry.kinds.resource('v1', resource)!;
    const entry = this.writing.registry.find({ kind, namespace, name });
    await this.writing.registry.commit(asTester('delete'), { kind, namespace, name }, null, entry.revision);
  }
}

/** What a request shows of its sender; headers may be given several times. */
export function credentials(
  headers: readonly (readonly [name: string, value: string])[] = [],
  more: Partial<Credentials> = {},
): Credentials {
  const joined: Record<string, string> = {};
  for (const [name, value] of headers) {
    const key = name.toLowerCase();
    joined[key] = joined[key] === undefined ? value : `${joined[key]}, ${value}`;
  }
  return {
    headers: joined,
    rawHeaders: headers.flat(),
    protocolToken: undefined,
    path: '/api',
    certificate: undefined,
    warnings: [],
    annotations: {},
    ...more,
  };
}

export const bearer = (token: string): Credentials => credentials([['Authorization', `Bearer ${token}`]]);
