/**
 * Publishes what extension API servers need to authenticate users as this server does: the authorities of clients and
 * of front proxies, in the ConfigMap kube-system/extension-apiserver-authentication. A changed or deleted one is
 * restored within a minute.
 */
import type { ConfigMap } from '../../api/generated/types.ts';
import { semanticEqual } from '../../api/text/object.ts';
import { collectionOf, named } from '../../registry/target.ts';
import { makeOrChange } from '../../registry/verbs/shared-object.ts';
import type { Writing } from '../../registry/writing.ts';
import type { ProxyHeaders } from './front-proxy.ts';

const namespace = 'kube-system';
const name = 'extension-apiserver-authentication';
const intervalMs = 60_000;

export interface Published {
  /** PEM. */
  readonly clientCA: string | undefined;
  readonly proxy: { readonly ca: string; readonly headers: ProxyHeaders } | undefined;
}

export class PublishedAuthentication {
  #timer: NodeJS.Timeout | undefined;
  #running: Promise<void> = Promise.resolve();

  constructor(
    private readonly writing: Writing,
    private readonly onError: (error: Error) => void,
    private readonly published: () => Published,
  ) {}

  async start(): Promise<void> {
    await this.#write();
    this.#timer = setInterval(() => this.refresh(), intervalMs);
    this.#timer.unref();
  }

  /** Writes changes, one at a time. */
  refresh(): void {
    this.#running = this.#running.then(() => this.#write()).catch(this.onError);
  }

  async close(): Promise<void> {
    clearInterval(this.#timer);
    await this.#running;
  }

  async #write(): Promise<void> {
    const data = dataOf(this.published());
    const kind = this.writing.registry.kinds.resource('v1', 'configmaps')!;
    const isEmpty = Object.keys(data).length === 0;
    await makeOrChange(this.writing, {
      target: named(collectionOf(kind, namespace), name),
      make: isEmpty ? undefined : () => ({ metadata: { name }, data: { ...data } }) as ConfigMap,
      change: (current) =>
        semanticEqual((current.peek() as ConfigMap).data ?? {}, data)
          ? undefined
          : ({ ...current.object(), data: { ...data } } as ConfigMap),
    });
  }
}

/** The data of the ConfigMap: keys only for what is configured; lists as JSON. */
function dataOf({ clientCA, proxy }: Published): Record<string, string> {
  return {
    ...(clientCA === undefined ? {} : { 'client-ca-file': clientCA }),
    ...(proxy
      ? {
          'requestheader-client-ca-file': proxy.ca,
          'requestheader-allowed-names': JSON.stringify(proxy.headers.allowedNames),
          'requestheader-username-headers': JSON.stringify(proxy.headers.usernameHeaders),
          'requestheader-uid-headers': JSON.stringify(proxy.headers.uidHeaders),
          'requestheader-group-headers': JSON.stringify(proxy.headers.groupHeaders),
          'requestheader-extra-headers-prefix': JSON.stringify(proxy.headers.extraHeaderPrefixes),
        }
      : {}),
  };
}
