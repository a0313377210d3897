/**
 * What servers of Kubernetes have noted of themselves in kube-system since 1.26: a lease that each of them renews, and
 * since when the use of secrets with tokens is noted. Clusters that were asked to be a minor of Kubernetes have both.
 */
import { createHash } from 'node:crypto';
import { hostname } from 'node:os';
import { StatusError } from '../../api/errors/errors.ts';
import type { Lease } from '../../api/generated/types.ts';
import type { ChosenMinor } from '../../api/kind/chosen-minor.ts';
import type { ApiObject } from '../../api/text/object.ts';
import { collectionOf, targetOf } from '../target.ts';
import { remove } from '../verbs/delete.ts';
import { modify } from '../verbs/modify.ts';
import { Filter } from '../view/filter.ts';
import { actingAs } from '../writers.ts';
import type { Writing } from '../writing.ts';

const renewalMs = 10_000;
const leaseSeconds = 3_600;
const namespace = 'kube-system';
const tracking = 'kube-apiserver-legacy-service-account-token-tracking';
const component = 'kube-apiserver';
const digits = 'abcdefghijklmnopqrstuvwxyz234567';
/** Bytes of the digest in the name of a lease. */
const nameBytes = 16;

export class ServerIdentity {
  readonly #name: string;
  readonly #label: string;
  readonly #holder: string;
  #timer: NodeJS.Timeout | undefined;
  #running: Promise<void> | undefined;

  constructor(
    private readonly writing: Writing,
    private readonly minor: ChosenMinor,
    private readonly onError: (error: Error) => void,
  ) {
    const isNamedShort = minor.isAtLeast(27);
    this.#name = `${isNamedShort ? 'apiserver' : component}-${digest(hostname())}`;
    this.#label = isNamedShort ? 'apiserver.kubernetes.io/identity' : 'k8s.io/component';
    this.#holder = `${this.#name}_${writing.registry.sources.uid()}`;
  }

  /** Creates both, and renews the lease until it is closed. */
  async start(): Promise<void> {
    if (this.minor.isOn('LegacyServiceAccountTokenTracking')) await this.#noteTracking();
    if (!this.minor.isOn('APIServerIdentity')) return;
    await this.#renew();
    this.#timer = setInterval(() => {
      this.#running = this.#renew().catch(this.onError);
    }, renewalMs);
    this.#timer.unref();
  }

  async close(): Promise<void> {
    clearInterval(this.#timer);
    await this.#running;
  }

  async #noteTracking(): Promise<void> {
    const { registry } = this.writing;
    const kind = registry.kinds.resource('v1', 'configmaps')!;
    if (registry.view.collection(kind).get(namespace, tracking)) return;
    await registry.seed(actingAs(component, 'create'), collectionOf(kind, namespace), {
      metadata: { name: tracking },
      data: { since: registry.now().slice(0, 10) },
    } as ApiObject);
  }

  async #renew(): Promise<void> {
    const { registry } = this.writing;
    const kind = registry.kinds.resource('coordination.k8s.io/v1', 'leases')!;
    const place = { kind, namespace, name: this.#name };
    const renewTime = `${registry.now().slice(0, -1)}.000000Z`;
    const spec = { holderIdentity: this.#holder, leaseDurationSeconds: leaseSeconds, renewTime };
    const labels = { [this.#label]: component, 'kubernetes.io/hostname': hostname() };
    await this.#removeExpired();
    if (!registry.view.collection(kind).get(namespace, this.#name)) {
      const lease = { metadata: { name: this.#name, labels }, spec } as ApiObject;
      await registry.seed(actingAs(component, 'create'), collectionOf(kind, namespace), lease);
      return;
    }
    await modify(this.writing, actingAs(component, 'update'), targetOf(place), (current) => {
      const lease = current.object();
      lease.metadata.labels = { ...lease.metadata.labels, ...labels };
      lease.spec = { ...(lease as Lease).spec, ...spec };
      return lease;
    }).catch(unlessGone);
  }

  /** Leases of servers that have not run for an hour. */
  async #removeExpired(): Promise<void> {
    const { registry } = this.writing;
    const kind = registry.kinds.resource('coordination.k8s.io/v1', 'leases')!;
    const inNamespace = new Filter(namespace, undefined, undefined, undefined);
    for (const entry of registry.view.collection(kind).select(inNamespace).entries) {
      if (entry.labels?.[this.#label] !== component || entry.name === this.#name) continue;
      const { renewTime = '', leaseDurationSeconds = 0 } = (entry.peek() as Lease).spec ?? {};
      if (Date.parse(renewTime) + leaseDurationSeconds * 1_000 > registry.sources.nowMs()) continue;
      const target = targetOf({ kind, namespace, name: entry.name });
      await remove(this.writing, actingAs(component, 'delete'), target, {}).catch(unlessGone);
    }
  }
}

/** Another server has removed it first. */
function unlessGone(error: unknown): void {
  if (!(error instanceof StatusError && error.code === 404)) throw error;
}

/** The name of the host and of the program, each with its length before it, as a digest in base 32. */
function digest(host: string): string {
  const hash = createHash('sha256');
  for (const text of [host, component]) {
    const length = Buffer.alloc(2);
    length.writeUInt16BE(Buffer.byteLength(text));
    hash.update(length).update(text);
  }
  let bits = '';
  for (const byte of hash.digest().subarray(0, nameBytes)) bits += byte.toString(2).padStart(8, '0');
  return (bits.match(/.{1,5}/g) ?? []).map((five) => digits[parseInt(five.padEnd(5, '0'), 2)]).join('');
}
