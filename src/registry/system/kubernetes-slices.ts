/**
 * The endpoint slices of the `kubernetes` service: one for each port at which servers listen. Usually all listen at the
 * same port, and the only slice is named like the service. The slices have no owner and no managing controller.
 */
import type { EndpointSlice } from '../../api/generated/types.ts';
import type { Kind, Verb } from '../../api/kind/kind.ts';
import { serviceNameLabel } from '../../api/rules/service/slice-endpoints.ts';
import { semanticEqual } from '../../api/text/object.ts';
import { kubernetesService } from '../allocation/service-allocation.ts';
import type { Request } from '../request.ts';
import { collectionOf, type Place, targetOf } from '../target.ts';
import { remove } from '../verbs/delete.ts';
import { ifExists } from '../verbs/if-exists.ts';
import { modify } from '../verbs/modify.ts';
import type { Entry } from '../view/entry.ts';
import type { Writing } from '../writing.ts';
import { ServiceSlices } from './service-slices.ts';

const { namespace, name: service } = kubernetesService;
const labels = { [serviceNameLabel]: service };
/** Names of the slices for further ports. */
const furtherName = new RegExp(`^${service}-\\d+$`);

type Content = Pick<EndpointSlice, 'addressType' | 'endpoints' | 'ports'>;

export class KubernetesSlices {
  readonly #kind: Kind;
  readonly #slices: ServiceSlices;

  constructor(
    private readonly writing: Writing,
    private readonly by: (verb: Verb) => Request,
  ) {
    const { registry } = writing;
    this.#kind = registry.kinds.resource('discovery.k8s.io/v1', 'endpointslices')!;
    this.#slices = new ServiceSlices(registry.view);
  }

  /** Restores what differs. Other servers do the same, and may be faster. */
  async restore(servers: readonly { ip: string; port: number }[]): Promise<void> {
    const wanted = contents(servers);
    for (const [name, content] of wanted) await this.#restore(name, content);
    for (const entry of this.#slices.of(namespace, service))
      if (furtherName.test(entry.name) && !wanted.has(entry.name))
        await ifExists(remove(this.writing, this.by('delete'), targetOf(entry), {}));
  }

  /** Written without validation, because the address may be loopback; see the Endpoints of the service. */
  async #restore(name: string, content: Content): Promise<void> {
    const place: Place = { kind: this.#kind, namespace, name };
    const entry = this.writing.registry.view.collection(this.#kind).get(namespace, name);
    if (!entry) {
      const slice = { metadata: { name, labels: { ...labels } }, ...content };
      await this.writing.registry.seed(this.by('create'), collectionOf(this.#kind, namespace), slice);
      return;
    }
    if (entry.object().metadata.deletionTimestamp || isRight(entry, content)) return;
    await modify(this.writing, this.by('update'), targetOf(place, 'whole'), (current) => {
      const slice = current.object() as EndpointSlice;
      slice.metadata.labels = { ...slice.metadata.labels, ...labels };
      return Object.assign(slice, structuredClone(content));
    });
  }
}

/** The desired content of each slice, by its name. */
function contents(servers: readonly { ip: string; port: number }[]): Map<string, Content> {
  const byPort = new Map<number, string[]>();
  for (const { ip, port } of servers) byPort.set(port, [...(byPort.get(port) ?? []), ip]);
  return new Map(
    [...byPort].map(([port, ips], i) => [
      i === 0 ? service : `${service}-${port}`,
      {
        addressType: ips.every((ip) => ip.includes(':')) ? 'IPv6' : 'IPv4',
        endpoints: ips.map((ip) => ({ addresses: [ip], conditions: { ready: true } })),
        ports: [{ name: 'https', protocol: 'TCP', port }],
      },
    ]),
  );
}

function isRight(entry: Entry, { endpoints, ports }: Content): boolean {
  const slice = entry.peek() as EndpointSlice;
  return (
    semanticEqual(slice.endpoints, endpoints) &&
    semanticEqual(slice.ports, ports) &&
    entry.labels?.[serviceNameLabel] === service
  );
}
