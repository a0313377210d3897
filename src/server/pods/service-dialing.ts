/**
 * Connections to services for the server itself: to webhooks and aggregated API servers. Pods are reached as by proxies;
 * endpoints without a pod, and external names, at addresses that the server may connect to.
 */
import type { Duplex } from 'node:stream';
import { StatusError } from '../../api/errors/errors.ts';
import type { Service } from '../../api/generated/types.ts';
import { endpointsOfPort, reachableEndpoints } from '../../api/rules/service/slice-endpoints.ts';
import { ServiceSlices } from '../../registry/system/service-slices.ts';
import { allowedAddresses, isAllowedTarget } from '../../streams/dial/target-address.ts';
import type { ProxiedInfo } from '../http/request-info.ts';
import { type Connecting, dialTarget } from './connecting.ts';
import { PodPorts } from './pod-ports.ts';
import { ProxyTargets } from './proxy-target.ts';

export class ServiceDialing {
  readonly #targets: ProxyTargets;
  readonly #slices: ServiceSlices;

  constructor(private readonly connecting: Connecting) {
    this.#targets = new ProxyTargets(connecting, new PodPorts(connecting));
    this.#slices = new ServiceSlices(connecting.registry.view);
  }

  /** Rejects with an error in Go's words: those of the API are for clients, and their code is a number. */
  async dial(namespace: string, name: string, port: number): Promise<Duplex> {
    try {
      return await this.#dialService(namespace, name, port);
    } catch (error) {
      throw error instanceof StatusError ? new Error(error.message, { cause: error }) : error;
    }
  }

  async #dialService(namespace: string, name: string, port: number): Promise<Duplex> {
    const { view } = this.connecting.registry;
    const service = view.collection('core/services').get(namespace, name)?.peek() as Service | undefined;
    if (!service) throw new Error(`service ${JSON.stringify(name)} not found`);
    const { type, externalName = '', ports = [] } = service.spec ?? {};
    if (type === 'ExternalName')
      return dialTarget(this.connecting, await allowedAddresses(externalName), port);
    const named = ports.find((one) => one.port === port);
    if (!named) throw new Error(`no service port ${port} found for service ${JSON.stringify(name)}`);
    try {
      return await this.#dialPod(namespace, name, port);
    } catch (error) {
      if (!(error instanceof StatusError)) throw error;
      const outside = this.#outside(namespace, name, named.name ?? '');
      if (outside) return await dialTarget(this.connecting, [outside.ip], outside.port);
      throw new Error(`no endpoints available for service ${JSON.stringify(name)}`, { cause: error });
    }
  }

  async #dialPod(namespace: string, name: string, port: number): Promise<Duplex> {
    const proxy = { form: 'connect' } as ProxiedInfo['proxy'];
    const info = { resource: 'services', namespace, name: `${name}:${port}`, proxy } as ProxiedInfo;
    const { connect } = await this.#targets.choose(info);
    return connect();
  }

  /** The endpoints of a service that are not pods: addresses that a user wrote into a slice. */
  #outside(namespace: string, name: string, portName: string): { ip: string; port: number } | undefined {
    const slices = this.#slices.contents(namespace, name) ?? [];
    const reachable = reachableEndpoints(endpointsOfPort(slices, portName));
    return reachable.find(({ ip, endpoint }) => !endpoint.targetRef && isAllowedTarget(ip));
  }
}
