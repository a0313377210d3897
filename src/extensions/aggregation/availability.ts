/**
 * Checks whether the servers of remote versions can be reached, and writes that into the status of their APIServices:
 * when an APIService, its service or the endpoints change, and every half a minute.
 */
import type { APIService, APIServiceCondition, Service } from '../../api/generated/types.ts';
import { apiService } from '../../api/kinds/apiregistration/api-service.ts';
import { endpointsOfPort, isReady } from '../../api/rules/service/slice-endpoints.ts';
import type { JsonObject } from '../../api/text/object.ts';
import { ServiceSlices, serviceOf, sliceId } from '../../registry/system/service-slices.ts';
import { targetOf } from '../../registry/target.ts';
import { modify } from '../../registry/verbs/modify.ts';
import { actingAs } from '../../registry/writers.ts';
import type { Writing } from '../../registry/writing.ts';
import type { ApiServices, RemoteVersion } from './api-services.ts';
import { watchChanges } from './change-watch.ts';

const intervalMs = 30_000;
/** Number of requests per check, each to one of the endpoints; one answer is enough. */
const tries = 5;
/** A request that has no answer for this long is joined by the next one. */
const patienceMs = 200;

/** Asks the server of a version for its resources. Rejects when there is no answer. */
type DiscoveryCheck = (remote: RemoteVersion) => Promise<Buffer>;

interface Listed {
  readonly bytes: Buffer;
  readonly document: JsonObject;
}

interface Finding {
  readonly status: 'True' | 'False';
  readonly reason: string;
  readonly message: string;
}

export class Availability {
  readonly #slices: ServiceSlices;
  readonly #closers: (() => void)[] = [];
  /** APIServices that are being checked, and whether each has to be checked again afterwards. */
  readonly #looking = new Map<string, boolean>();
  /** The resources of each version, as its server listed them last. */
  readonly #resources = new Map<string, Listed>();
  readonly #work = new Set<Promise<void>>();
  #timer: NodeJS.Timeout | undefined;
  #closed = false;

  constructor(
    private readonly writing: Writing,
    private readonly services: ApiServices,
    private readonly check: DiscoveryCheck,
    private readonly report: (error: Error) => void,
  ) {
    this.#slices = new ServiceSlices(writing.registry.view);
  }

  start(): void {
    const { view } = this.writing.registry;
    const all = (): void => {
      for (const { name } of this.services.remotes()) this.#look(name);
    };
    const ofService = (namespace: string, name: string): void => {
      for (const remote of this.services.remotes())
        if (remote.service.name === name && remote.service.namespace === namespace) this.#look(remote.name);
    };
    this.#closers.push(
      watchChanges(view.collection(apiService), (_, name) => this.#look(name)),
      watchChanges(view.collection('core/services'), ofService),
      watchChanges(view.collection('core/endpoints'), ofService),
      watchChanges(view.collection(sliceId), (namespace, name) => {
        const slice = view.collection(sliceId).get(namespace, name);
        // A deleted slice no longer shows which service it belonged to.
        if (slice) ofService(namespace, serviceOf(slice) ?? '');
        else all();
      }),
    );
    this.#timer = setInterval(all, intervalMs);
    this.#timer.unref();
    all();
  }

  async close(): Promise<void> {
    this.#closed = true;
    clearInterval(this.#timer);
    for (const close of this.#closers) close();
    await Promise.all(this.#work);
  }

  /** The last known list of resources of a version. */
  resources(apiVersion: string): JsonObject | undefined {
    return this.#resources.get(apiVersion)?.document;
  }

  #look(name: string): void {
    if (this.#closed) return;
    if (this.#looking.has(name)) return void this.#looking.set(name, true);
    const remote = this.#remote(name);
    if (!remote) return this.#forget(name);
    this.#looking.set(name, false);
    const work = this.#settle(remote)
      .catch(this.report)
      .finally(() => {
        this.#work.delete(work);
        const again = this.#looking.get(name);
        this.#looking.delete(name);
        if (again) this.#look(name);
      });
    this.#work.add(work);
  }

  /** @param name of an APIService that is gone: its version, a dot, its group */
  #forget(name: string): void {
    const dot = name.indexOf('.');
    this.#resources.delete(`${name.slice(dot + 1)}/${name.slice(0, dot)}`);
  }

  #remote(name: string): RemoteVersion | undefined {
    for (const remote of this.services.remotes()) if (remote.name === name) return remote;
    return undefined;
  }

  async #settle(remote: RemoteVersion): Promise<void> {
    const finding = await this.#find(remote);
    if (this.#closed) return;
    const target = targetOf({ kind: apiService, namespace: '', name: remote.name }, 'status');
    const now = this.writing.registry.now();
    const current = this.writing.registry.view.collection(apiService).get('', remote.name);
    if (!current || isKnown(current.peek() as APIService, finding)) return;
    try {
      await modify(this.writing, actingAs('kube-apiserver', 'update'), target, (entry) => {
        const service = entry.object() as APIService;
        service.status = { ...service.status, conditions: withFinding(service, finding, now) };
        return service;
      });
    } catch (error) {
      if ((error as { code?: number }).code !== 404) throw error;
    }
  }

  async #find(remote: RemoteVersion): Promise<Finding> {
    const problem = this.#serviceProblem(remote);
    if (problem) return problem;
    try {
      await this.#take(remote.apiVersion, await firstAnswer(() => this.check(remote)));
    } catch (error) {
      const { service } = remote;
      const url = `https://${service.name}.${service.namespace}.svc:${service.port}/apis/${remote.apiVersion}`;
      return refused(
        'FailedDiscoveryCheck',
        `failing or missing response from ${url}: ${(error as Error).message}`,
      );
    }
    return { status: 'True', reason: 'Passed', message: 'all checks passed' };
  }

  /** Reads the first of several answers, and only when it is not the one that is known. */
  async #take(apiVersion: string, bytes: Buffer): Promise<void> {
    if (this.#resources.get(apiVersion)?.bytes.equals(bytes)) return;
    const { documentIn } = await import('./discovery-check.ts');
    this.#resources.set(apiVersion, { bytes, document: await documentIn(bytes) });
  }

  #serviceProblem({ service: wanted }: RemoteVersion): Finding | undefined {
    const { view } = this.writing.registry;
    const { namespace, name, port } = wanted;
    const about = `service/${name} in ${JSON.stringify(namespace)}`;
    const service = view.collection('core/services').get(namespace, name)?.peek() as Service | undefined;
    if (!service) return refused('ServiceNotFound', `${about} is not present`);
    const { type, ports = [] } = service.spec ?? {};
    // As in Kubernetes, services of other types are judged by the answer alone.
    if ((type ?? 'ClusterIP') !== 'ClusterIP') return undefined;
    const served = ports.find((candidate) => candidate.port === port);
    if (!served) return refused('ServicePortError', `${about} is not listening on port ${port}`);
    const slices = this.#slices.contents(namespace, name);
    if (!slices) return refused('EndpointsNotFound', `cannot find endpointslices for ${about}`);
    const portName = served.name ?? '';
    const reached = endpointsOfPort(slices, portName).some(({ endpoint }) => isReady(endpoint));
    return reached
      ? undefined
      : refused(
          'MissingEndpoints',
          `endpointslices for ${about} have no addresses with port name ${JSON.stringify(portName)}`,
        );
  }
}

/**
 * Asks until there is an answer: again when an attempt fails, and beside one that takes long. All at once would be five
 * handshakes for each server. Rejects with the first failure.
 */
export function firstAnswer<T>(ask: () => Promise<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    let [left, open] = [tries, 0];
    let failure: Error | undefined;
    let timer: NodeJS.Timeout | undefined;
    const settled = (error: Error): void => {
      open--;
      failure ??= error;
      if (left > 0) begin();
      else if (open === 0) reject(failure);
    };
    const begin = (): void => {
      clearTimeout(timer);
      left--;
      open++;
      if (left > 0) timer = setTimeout(begin, patienceMs);
      ask().then((answer) => {
        clearTimeout(timer);
        left = 0;
        resolve(answer);
      }, settled);
    };
    begin();
  });
}

const refused = (reason: string, message: string): Finding => ({ status: 'False', reason, message });

const conditionOf = ({ status }: APIService): APIServiceCondition | undefined =>
  status?.conditions?.find(({ type }) => type === 'Available');

function isKnown(service: APIService, { status, reason, message }: Finding): boolean {
  const known = conditionOf(service);
  return known?.status === status && known.reason === reason && known.message === message;
}

function withFinding(service: APIService, finding: Finding, now: string): APIServiceCondition[] {
  const known = conditionOf(service);
  const since = known?.status === finding.status ? known.lastTransitionTime : now;
  const condition = { type: 'Available', ...finding, lastTransitionTime: since };
  const others = (service.status?.conditions ?? []).filter(({ type }) => type !== 'Available');
  return [...others, condition];
}
