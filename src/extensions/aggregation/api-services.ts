/**
 * The versions that other servers serve, from the APIServices of the cluster. Changes of the view are applied when a
 * version is looked up; a cluster without such versions only pays for one comparison per request.
 */
import type { APIService } from '../../api/generated/types.ts';
import { apiService, isAvailable } from '../../api/kinds/apiregistration/api-service.ts';
import { servicePortDefault } from '../../api/rules/admission/webhook-client.ts';
import type { Collection } from '../../registry/view/collection.ts';
import { Follower } from '../../registry/view/follower.ts';
import type { View } from '../../registry/view/view.ts';
import type { Priority } from './priorities.ts';

/** A version that another server serves. */
export interface RemoteVersion {
  /** The name of the APIService. */
  readonly name: string;
  readonly group: string;
  readonly version: string;
  readonly apiVersion: string;
  readonly service: { readonly namespace: string; readonly name: string; readonly port: number };
  /** PEM certificates in base64; '' means those of the system. */
  readonly caBundle: string;
  readonly insecure: boolean;
  readonly available: boolean;
  readonly priority: Priority;
}

function remoteOf({ metadata, spec = {}, ...rest }: APIService): RemoteVersion | undefined {
  const { service, group = '', version = '', caBundle = '', insecureSkipTLSVerify = false } = spec;
  // The core group cannot be served by another server: every request to this one would depend on it.
  if (!service || !group) return undefined;
  const { namespace = '', name = '', port = servicePortDefault } = service;
  return {
    name: metadata.name ?? '',
    group,
    version,
    apiVersion: `${group}/${version}`,
    service: { namespace, name, port },
    caBundle,
    insecure: insecureSkipTLSVerify,
    available: isAvailable({ metadata, ...rest }),
    priority: { group: spec.groupPriorityMinimum ?? 0, version: spec.versionPriority ?? 0 },
  };
}

export class ApiServices {
  readonly #collection: Collection;
  readonly #follower: Follower<{ remote: RemoteVersion | undefined }>;
  readonly #remotes = new Map<string, RemoteVersion>();
  #seen = -1;
  #generation = 0;

  constructor(view: View) {
    this.#collection = view.collection(apiService);
    this.#follower = new Follower(this.#collection, {
      read: (entry) => ({ remote: remoteOf(entry.peek() as APIService) }),
      gained: ({ remote }) => {
        if (!remote) return;
        this.#remotes.set(remote.apiVersion, remote);
        this.#generation++;
      },
      lost: ({ remote }) => {
        if (!remote) return;
        this.#remotes.delete(remote.apiVersion);
        this.#generation++;
      },
    });
  }

  /** Increases when a version of another server is added, changed or removed. */
  get generation(): number {
    this.#catchUp();
    return this.#generation;
  }

  remote(apiVersion: string): RemoteVersion | undefined {
    this.#catchUp();
    return this.#remotes.size === 0 ? undefined : this.#remotes.get(apiVersion);
  }

  remotes(): IterableIterator<RemoteVersion> {
    this.#catchUp();
    return this.#remotes.values();
  }

  /** The remote version that a path belongs to, or that it has the OpenAPI document of. */
  remoteOfPath(path: string): RemoteVersion | undefined {
    this.#catchUp();
    if (this.#remotes.size === 0) return undefined;
    const [, group, version] = /^(?:\/openapi\/v3)?\/apis\/([^/?]+)\/([^/?]+)/.exec(path) ?? [];
    return group === undefined ? undefined : this.#remotes.get(`${group}/${version}`);
  }

  #catchUp(): void {
    const { endNumber } = this.#collection;
    if (endNumber === this.#seen) return;
    this.#follower.catchUp();
    this.#seen = endNumber;
  }
}
