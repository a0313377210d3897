/**
 * The kubernetes service: the service `default/kubernetes`, its Endpoints and its endpoint slices, through which pods
 * reach the API server. They are created at start and restored whenever a client has deleted or changed them.
 */
import type { Endpoints, Service, ServiceSpec } from '../../api/generated/types.ts';
import type { Kind, Verb } from '../../api/kind/kind.ts';
import { familyOf } from '../../api/rules/service/service-addresses.ts';
import { semanticEqual } from '../../api/text/object.ts';
import { composedKey } from '../../composed-key.ts';
import type { Peers } from '../../store/store.ts';
import { kubernetesService } from '../allocation/service-allocation.ts';
import type { Request } from '../request.ts';
import { collectionOf, type Target, targetOf } from '../target.ts';
import { create } from '../verbs/create.ts';
import { remove } from '../verbs/delete.ts';
import { modify } from '../verbs/modify.ts';
import type { Entry } from '../view/entry.ts';
import { actingAs } from '../writers.ts';
import type { Writing } from '../writing.ts';
import { KubernetesSlices } from './kubernetes-slices.ts';
import { restoreServiceRange } from './own-service-range.ts';

/** The address of a server, as announced to the other servers that share its store. */
interface Address {
  readonly ip: string;
  readonly port: number;
}

/** A check costs two lookups when nothing has changed; Kubernetes also restores the service within ten seconds. */
const intervalMs = 5_000;

const { namespace, name } = kubernetesService;
const by = (verb: Verb): Request => actingAs('kube-apiserver', verb);
const serviceLabels = { component: 'apiserver', provider: 'kubernetes' };
/** Tells Kubernetes' mirroring controller to skip these Endpoints, as on every Kubernetes API server. */
const endpointsLabels = { 'endpointslice.kubernetes.io/skip-mirror': 'true' };

/** Where the server listens. */
export interface Advertised extends Address {
  /** Address of the service in the cluster. */
  readonly clusterIP: string;
  /** The cluster's own range of addresses, to be stored as a ServiceCIDR. Default: it is not stored. */
  readonly serviceRange?: string;
  /** The node port of the service. Default: none. */
  readonly nodePort?: number | undefined;
  /** Whether endpoints are written. Default true. */
  readonly endpoints?: boolean | undefined;
}

export class KubernetesService {
  readonly #services: Kind;
  readonly #endpoints: Kind;
  readonly #slices: KubernetesSlices;
  /** The entries that were last found correct; unchanged ones need no further check. */
  #rightService: Entry | undefined;
  #rightEndpoints: Entry | undefined;
  /** All live servers, in order. */
  #servers: readonly Address[];
  #timer: NodeJS.Timeout | undefined;
  #unfollow: (() => void) | undefined;
  #running: Promise<void> | undefined;
  /** Whether servers have changed while a check ran. */
  #changed = false;
  #closed = false;

  constructor(
    private readonly writing: Writing,
    private readonly advertised: Advertised,
    private readonly onError: (error: Error) => void,
  ) {
    this.#servers = [advertised];
    this.#services = writing.registry.kinds.resource('v1', 'services')!;
    this.#endpoints = writing.registry.kinds.resource('v1', 'endpoints')!;
    this.#slices = new KubernetesSlices(writing, by);
  }

  /** Resolves when all of them exist; they are checked periodically from then on. */
  async start(): Promise<void> {
    const { peers } = this.writing.registry.store;
    if (peers) {
      const { ip, port } = this.advertised;
      await peers.announce(JSON.stringify({ ip, port } satisfies Address));
      this.#unfollow = peers.follow(() => {
        this.#changed = true;
        void this.restore();
      });
    }
    await this.restore();
    this.#timer = setInterval(() => this.restore(), intervalMs);
    this.#timer.unref();
  }

  /** Restores what differs; runs at most once at a time. Failures are reported and retried at the next check. */
  restore(): Promise<void> {
    this.#running ??= this.#restore().finally(() => {
      this.#running = undefined;
      if (this.#changed && !this.#closed) void this.restore();
    });
    return this.#running;
  }

  /** Service first, because deleting a service also deletes its Endpoints. */
  async #restore(): Promise<void> {
    this.#changed = false;
    const { peers } = this.writing.registry.store;
    if (peers) await this.#findServers(peers).catch(this.onError);
    const { serviceRange } = this.advertised;
    if (serviceRange !== undefined) await restoreServiceRange(this.writing, serviceRange).catch(this.onError);
    await this.#restoreService().catch(this.onError);
    if (this.advertised.endpoints === false) return;
    await this.#restoreEndpoints().catch(this.onError);
    await this.#slices.restore(this.#servers).catch(this.onError);
  }

  async close(): Promise<void> {
    this.#closed = true;
    clearInterval(this.#timer);
    this.#unfollow?.();
    await this.#running;
  }

  /** Reads the addresses of all live servers. This server counts even if its lease has just expired. */
  async #findServers(peers: Peers): Promise<void> {
    const found = new Map<string, Address>();
    for (const text of [...(await peers.announced()), JSON.stringify(this.advertised)]) {
      const { ip, port } = JSON.parse(text) as Address;
      found.set(composedKey(ip, String(port)), { ip, port });
    }
    const servers = [...found.keys()].sort().map((key) => found.get(key)!);
    if (semanticEqual(servers, this.#servers)) return;
    this.#servers = servers;
    this.#rightService = undefined;
    this.#rightEndpoints = undefined;
  }

  // The service

  /**
   * The spec of the service. Its port is 443 and named https, as clients expect, though its target may be the local
   * door, which speaks plain HTTP. If servers have different ports, the first one's is used, so that all write the
   * same.
   */
  #spec(): ServiceSpec {
    const { clusterIP, nodePort } = this.advertised;
    const port = { name: 'https', protocol: 'TCP', port: 443, targetPort: this.#servers[0]!.port };
    return {
      ports: [nodePort ? { ...port, nodePort } : port],
      clusterIP,
      clusterIPs: [clusterIP],
      type: nodePort ? 'NodePort' : 'ClusterIP',
      ...(nodePort ? { externalTrafficPolicy: 'Cluster' } : {}),
      sessionAffinity: 'None',
      ipFamilies: [familyOf(clusterIP)],
      ipFamilyPolicy: 'SingleStack',
      internalTrafficPolicy: 'Cluster',
    };
  }

  async #restoreService(): Promise<void> {
    const entry = this.#find(this.#services);
    if (entry && entry === this.#rightService) return;
    if (!entry) {
      this.#rightService = await this.#create();
      return;
    }
    const { metadata, spec } = entry.object() as Service;
    if (semanticEqual(spec, this.#spec()) && hasLabels(metadata.labels, serviceLabels)) {
      this.#rightService = entry;
      return;
    }
    // A clusterIP cannot be changed. It differs only when the server was started with another range.
    if (spec?.clusterIP !== this.advertised.clusterIP) {
      await remove(this.writing, by('delete'), targetOf(entry), {});
      this.#rightService = await this.#create();
      return;
    }
    this.#rightService = await modify(this.writing, by('update'), targetOf(entry), (current) => {
      const service = current.object() as Service;
      service.metadata.labels = { ...service.metadata.labels, ...serviceLabels };
      service.spec = this.#spec();
      return service;
    });
  }

  /**
   * Creates the service. Undefined when another server created it at the same time: it is checked again when the view
   * shows it.
   */
  async #create(): Promise<Entry | undefined> {
    const service: Service = { metadata: { name, labels: { ...serviceLabels } }, spec: this.#spec() };
    try {
      return await create(this.writing, by('create'), collectionOf(this.#services, namespace), service);
    } catch (error) {
      if (this.#find(this.#services)) return undefined;
      throw error;
    }
  }

  // The endpoints

  #subsets(): Endpoints['subsets'] {
    const ports = new Map<number, { ip: string }[]>();
    for (const { ip, port } of this.#servers) ports.set(port, [...(ports.get(port) ?? []), { ip }]);
    return [...ports].map(([port, addresses]) => ({
      addresses,
      ports: [{ name: 'https', port, protocol: 'TCP' }],
    }));
  }

  /**
   * Writes the Endpoints without validation, because a loopback address is not valid in Endpoints. Here it is right:
   * the local door listens on loopback only, and pods run as processes of this machine.
   */
  async #restoreEndpoints(): Promise<void> {
    const entry = this.#find(this.#endpoints);
    if (entry && entry === this.#rightEndpoints) return;
    if (!entry) {
      this.#rightEndpoints = await this.#createEndpoints();
      return;
    }
    const { metadata, subsets } = entry.object() as Endpoints;
    if (semanticEqual(subsets, this.#subsets()) && hasLabels(metadata.labels, endpointsLabels)) {
      this.#rightEndpoints = entry;
      return;
    }
    this.#rightEndpoints = await modify(this.writing, by('update'), targetOf(entry, 'whole'), (current) => {
      const endpoints = current.object() as Endpoints;
      endpoints.metadata.labels = { ...endpoints.metadata.labels, ...endpointsLabels };
      endpoints.subsets = this.#subsets();
      return endpoints;
    });
  }

  async #createEndpoints(): Promise<Entry | undefined> {
    const { registry } = this.writing;
    const target: Target = { kind: this.#endpoints, namespace, name, part: 'main' };
    const endpoints: Endpoints = {
      metadata: {
        name,
        namespace,
        uid: registry.sources.uid(),
        creationTimestamp: registry.now(),
        labels: { ...endpointsLabels },
      },
      subsets: this.#subsets(),
    };
    const request = by('create');
    const value = registry.encode(request, target, endpoints);
    const revision = await registry.commit(request, target, value, 0);
    return revision === undefined ? undefined : registry.entryOf(target, value, revision);
  }

  #find(kind: Kind): Entry | undefined {
    return this.writing.registry.view.collection(kind).get(namespace, name);
  }
}

const hasLabels = (labels: Record<string, string> | undefined, wanted: Record<string, string>): boolean =>
  Object.entries(wanted).every(([key, value]) => labels?.[key] === value);
