/** The official JavaScript client, connected to a cluster that exists during one test file. */
import { ApiException, KubeConfig } from '@kubernetes/client-node';
import { afterAll, beforeAll } from 'vitest';
import { type Cluster, type StartOptions, start } from '../../src/cluster/index.ts';
import type { Json } from '../support/http.ts';

/** A generated call. */
type Call = (request?: object, options?: object) => Promise<Json>;
export type ApiClass = Parameters<KubeConfig['makeApiClient']>[0];

export class Library {
  cluster!: Cluster;
  readonly config = new KubeConfig();

  /** The calls of one API class by name. */
  call(api: ApiClass, name: string, request: object = {}, options?: object): Promise<Json> {
    const client = this.config.makeApiClient(api) as object as Record<string, Call>;
    return client[name]!(request, options);
  }
}

export function useLibrary(options: StartOptions = {}): Library {
  const library = new Library();
  beforeAll(async () => {
    library.cluster = await start({ store: 'memory', ...options });
    library.config.loadFromString(library.cluster.kubeconfig);
  });
  afterAll(() => library.cluster?.close());
  return library;
}

/** The names of all calls of an API class; each has a variant that also returns the HTTP response. */
export const callNames = (api: ApiClass): string[] =>
  Object.getOwnPropertyNames(api.prototype).filter((name) => !/^constructor$|WithHttpInfo$/.test(name));

/** How a call failed: the code, and the Status, which the library keeps as text. */
export async function failureOf(call: Promise<unknown>): Promise<{ code: number; status: Json }> {
  try {
    await call;
  } catch (error) {
    if (error instanceof ApiException) return { code: error.code, status: JSON.parse(error.body) };
    throw error;
  }
  throw new Error('the call did not fail');
}
