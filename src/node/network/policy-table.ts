/**
 * The network policies of a cluster, as a node applies them: to the packet filters of its pods, and to connections
 * through its service proxy, whose packets have the address of the node instead of the client's.
 *
 * Without policies only policies are watched; the first one starts watches of pods and namespaces.
 */
import type { Namespace, NetworkPolicy, Pod } from '../../api/generated/types.ts';
import { semanticEqual } from '../../api/text/object.ts';
import type { Client } from '../../client/client.ts';
import { Informer } from '../../client/informer.ts';
import { namespaces, networkPolicies, pods } from '../../client/resources.ts';
import { type PodRules, type PolicyWorld, permits, podAddresses, rulesOf } from './policy-rules.ts';

/** Changes within this time cause one pass over the pods. */
const gatherMs = 20;

export class PolicyTable {
  readonly #policies: Informer<NetworkPolicy>;
  readonly #pods: Informer<Pod>;
  readonly #namespaces: Informer<Namespace>;
  readonly #world: PolicyWorld;
  readonly #listeners = new Set<() => void>();
  /** Policies by namespace. */
  readonly #byNamespace = new Map<string, Map<string, NetworkPolicy>>();
  /** Pods by address. */
  readonly #byAddress = new Map<string, Pod>();
  /** Rules computed since the last change, by uid of the pod. */
  #rules = new Map<string, PodRules>();
  #following: Promise<void> | undefined;
  #timer: NodeJS.Timeout | undefined;
  #closed = false;

  constructor(client: Client, onError: (error: Error) => void) {
    this.#policies = new Informer(client, networkPolicies, {
      changed: (policy, previous) => this.#policyChanged(policy, previous),
      onError,
    });
    this.#pods = new Informer(client, pods, {
      changed: (pod, previous) => this.#podChanged(pod, previous),
      onError,
    });
    this.#namespaces = new Informer(client, namespaces, {
      changed: (now, before) => {
        if (!semanticEqual(now?.metadata.labels, before?.metadata.labels)) this.#changed();
      },
      onError,
    });
    this.#world = {
      policies: (namespace) => this.#byNamespace.get(namespace)?.values() ?? [],
      pods: () => this.#pods.all(),
      namespace: (name) => this.#namespaces.get('', name),
    };
  }

  /** Resolves when all existing policies, and the pods they are about, are known. */
  async start(): Promise<void> {
    await this.#policies.start();
    await this.#following;
  }

  /** Calls the listener when the rules of some pod may have changed. */
  onChange(listener: () => void): void {
    this.#listeners.add(listener);
  }

  /** The rules of a pod; undefined when there is no policy at all. */
  async rulesFor(pod: Pod): Promise<PodRules | undefined> {
    if (this.#byNamespace.size === 0) return undefined;
    await this.#following;
    return this.#rulesOf(pod);
  }

  /** Whether a client may connect to an endpoint through the service proxy. */
  allows(client: string, ip: string, protocol: string, port: number): boolean {
    if (this.#byNamespace.size === 0) return true;
    const source = this.#byAddress.get(client.replace(/^::ffff:/, ''));
    const target = this.#byAddress.get(ip);
    if (source && !permits(this.#rulesOf(source).egress, ip, protocol, port)) return false;
    // An address that is not a pod's is the node itself, which may reach its pods.
    if (!source || !target) return true;
    return permits(this.#rulesOf(target).ingress, client.replace(/^::ffff:/, ''), protocol, port);
  }

  close(): void {
    this.#closed = true;
    clearTimeout(this.#timer);
    this.#policies.close();
    this.#pods.close();
    this.#namespaces.close();
    this.#listeners.clear();
  }

  #rulesOf(pod: Pod): PodRules {
    const uid = pod.metadata.uid ?? '';
    const known = this.#rules.get(uid);
    if (known) return known;
    const rules = rulesOf(pod, this.#world);
    this.#rules.set(uid, rules);
    return rules;
  }

  #policyChanged(policy: NetworkPolicy | undefined, previous: NetworkPolicy | undefined): void {
    const { namespace = '', name = '' } = (policy ?? previous)!.metadata;
    const policies = this.#byNamespace.get(namespace) ?? new Map<string, NetworkPolicy>();
    if (policy) this.#byNamespace.set(namespace, policies.set(name, policy));
    else if (policies.delete(name) && policies.size === 0) this.#byNamespace.delete(namespace);
    if (policy && !this.#closed)
      this.#following ??= Promise.all([this.#pods.start(), this.#namespaces.start()]).then(() => undefined);
    this.#changed();
  }

  #podChanged(pod: Pod | undefined, previous: Pod | undefined): void {
    if (previous)
      for (const ip of podAddresses(previous))
        if (this.#byAddress.get(ip)?.metadata.uid === previous.metadata.uid) this.#byAddress.delete(ip);
    if (pod) for (const ip of podAddresses(pod)) this.#byAddress.set(ip, pod);
    const same =
      pod &&
      previous &&
      semanticEqual(pod.metadata.labels, previous.metadata.labels) &&
      podAddresses(pod).join() === podAddresses(previous).join();
    if (!same) this.#changed();
  }

  #changed(): void {
    this.#rules = new Map();
    if (this.#closed) return;
    this.#timer ??= setTimeout(() => {
      this.#timer = undefined;
      for (const listener of this.#listeners) listener();
    }, gatherMs);
  }
}
