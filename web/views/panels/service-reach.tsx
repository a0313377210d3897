/** From where a service is reached, and which pods answer. */
import { kindOf, pathOf } from '../../core/kinds.ts';
import { useLiveObjects } from '../../core/live.ts';
import type { ApiObject, Json } from '../../core/objects.ts';
import { maySee } from '../../core/rights.ts';
import { ObjectLink } from '../../ui/link.tsx';

const shownMax = 50;
const slices = 'endpointslices.discovery.k8s.io';

export function ServiceReach({ service }: { readonly service: ApiObject }) {
  return (
    <>
      <section class="panel">
        <h2>Reached from</h2>
        <dl class="facts">
          {reachesOf(service).map(([from, addresses]) => (
            <div key={from}>
              <dt>{from}</dt>
              <dd>{addresses.join(', ')}</dd>
            </div>
          ))}
        </dl>
      </section>
      {service.spec?.type !== 'ExternalName' && maySee(slices, service.metadata.namespace) && (
        <Answers service={service} />
      )}
    </>
  );
}

/** Addresses by where they can be used. */
function reachesOf({ metadata: { name, namespace }, spec, status }: ApiObject): [string, string[]][] {
  const { type, clusterIP, externalName, externalIPs = [], ports = [] } = spec ?? {};
  if (type === 'ExternalName') return [['Pods', [`${name}.${namespace}.svc → ${externalName}`]]];
  const at = (host: string, field = 'port'): string[] =>
    ports.flatMap((port: Json) => (port[field] ? [`${host}:${port[field]}`] : []));
  const outside = [
    ...externalIPs,
    ...(status?.loadBalancer?.ingress ?? []).map(({ ip, hostname }: Json) => ip ?? hostname),
  ];
  const reaches: [string, string[]][] = [
    ['Pods', at(`${name}.${namespace}.svc`)],
    ['Cluster', clusterIP && clusterIP !== 'None' ? at(clusterIP) : []],
    ['Nodes', at('any node', 'nodePort')],
    ['Outside', outside.flatMap((host: string) => at(host))],
    [
      'Load balancer',
      type === 'LoadBalancer' && !status?.loadBalancer?.ingress?.length
        ? ['pending: none has given it an address']
        : [],
    ],
  ];
  return reaches.filter(([, addresses]) => addresses.length > 0);
}

function Answers({ service }: { readonly service: ApiObject }) {
  const { name, namespace } = service.metadata;
  const live = useLiveObjects(pathOf(kindOf(slices)!, namespace), {
    labelSelector: `kubernetes.io/service-name=${name}`,
  });
  const endpoints: Json[] = live.items.value.flatMap((slice) => slice.endpoints ?? []);
  const ready = endpoints.filter(isReady);
  return (
    <section class="panel">
      <h2>
        Answers{' '}
        <span class={ready.length ? 'quiet' : 'bad'}>
          {ready.length} of {endpoints.length} ready
        </span>
      </h2>
      {endpoints.length === 0 && live.state.value !== 'loading' && (
        <p class="bad">
          {service.spec?.selector
            ? 'No pod fits the selector, so nothing answers.'
            : 'It has no selector, and nobody has written endpoints for it.'}
        </p>
      )}
      <ul class="plainlist">
        {[...endpoints.filter((each) => !isReady(each)), ...ready].slice(0, shownMax).map((endpoint) => (
          <li key={endpoint.addresses?.join()}>
            <span class={`badge ${isReady(endpoint) ? 'good' : 'bad'}`}>
              {isReady(endpoint) ? 'ready' : 'not ready'}
            </span>{' '}
            {endpoint.addresses?.join(', ')}{' '}
            {endpoint.targetRef?.kind === 'Pod' && (
              <ObjectLink kind={kindOf('pods')!} namespace={namespace} name={endpoint.targetRef.name} />
            )}{' '}
            {endpoint.nodeName && <span class="quiet">on {endpoint.nodeName}</span>}
          </li>
        ))}
      </ul>
      {endpoints.length > shownMax && <p class="quiet">and {endpoints.length - shownMax} more</p>}
    </section>
  );
}

const isReady = ({ conditions }: Json): boolean => conditions?.ready !== false;
