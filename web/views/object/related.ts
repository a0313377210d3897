/**
 * Objects related to an object: those it names, and those that name it. Service → endpoints → pods → node; volume →
 * claim → pod. Requested while the page is visible, a bounded number of each.
 */
import { ask, tableAs } from '../../core/api.ts';
import { type Kind, kindNamed, kindOf, pathOf } from '../../core/kinds.ts';
import { momentQuery } from '../../core/moment.ts';
import type { ApiObject, Json, OwnerReference, TableAnswer } from '../../core/objects.ts';
import { podState } from '../../core/pod-state.ts';
import { may } from '../../core/rights.ts';
import { selectorOf, selects } from '../../core/selector.ts';

export interface Relative {
  readonly kind: Kind;
  readonly namespace?: string;
  readonly name: string;
  /** A word on its state, from the table of its kind. */
  readonly note?: string;
}

export interface RelativeGroup {
  readonly title: string;
  readonly members: readonly Relative[];
}

const shownMax = 200;

export interface Found extends Relative {
  readonly uid: string;
  readonly owners: readonly OwnerReference[];
}

/** The first objects of a kind that fit, with their state. A kind that may not be listed has none. */
export async function findObjects(
  id: string,
  namespace: string | undefined,
  query: { readonly labelSelector?: string; readonly fieldSelector?: string },
  at: number | undefined,
): Promise<readonly Found[]> {
  const kind = kindOf(id);
  if (!kind?.verbs.has('list') || !may('list', kind, { namespace })) return [];
  const answer = await ask<TableAnswer>(pathOf(kind, namespace), {
    accept: tableAs,
    query: { ...query, ...momentQuery(at), limit: shownMax, includeObject: wholeOf(id) },
  }).catch(() => undefined);
  const columns = answer?.columnDefinitions ?? [];
  const place = (name: string): number => columns.findIndex((column) => column.name === name);
  const state = ['Status', 'Phase', 'Ready'].map(place).find((found) => found >= 0) ?? -1;
  const desired = place('Desired');
  const noteOf = (cells: readonly unknown[], object: ApiObject): string | undefined => {
    if (id === 'pods') return podState(object);
    if (state < 0) return undefined;
    return desired < 0 ? String(cells[state] ?? '') : `${cells[state]}/${cells[desired]}`;
  };
  return (answer?.rows ?? []).map(({ cells, object }) => ({
    kind,
    namespace: object.metadata.namespace,
    name: object.metadata.name,
    uid: object.metadata.uid,
    owners: object.metadata.ownerReferences ?? [],
    note: noteOf(cells, object),
  }));
}

/** The state of a pod is read from the pod: what its columns say may be that of one container. */
const wholeOf = (id: string): 'Object' | undefined => (id === 'pods' ? 'Object' : undefined);

const named = (id: string, namespace: string | undefined, name: unknown): Relative[] => {
  const kind = kindOf(id);
  return kind && typeof name === 'string' && name
    ? [{ kind, namespace: kind.namespaced ? namespace : undefined, name }]
    : [];
};

type Finder = (object: ApiObject, at: number | undefined) => Promise<readonly RelativeGroup[]>;

const pod: Finder = async ({ spec, metadata: { namespace, labels = {} } }, at) => {
  const volumes: Json[] = spec?.volumes ?? [];
  const containers: Json[] = [...(spec?.initContainers ?? []), ...(spec?.containers ?? [])];
  const sources = containers.flatMap(({ envFrom = [], env = [] }: Json) => [
    ...envFrom,
    ...env.map(({ valueFrom }: Json) => ({
      configMapRef: valueFrom?.configMapKeyRef,
      secretRef: valueFrom?.secretKeyRef,
    })),
  ]);
  const unique = (list: Relative[]): Relative[] => [
    ...new Map(list.map((each) => [each.name, each])).values(),
  ];
  const services = await findSelecting(namespace, labels, at);
  return [
    { title: 'Node', members: named('nodes', undefined, spec?.nodeName) },
    {
      title: 'Claims',
      members: volumes.flatMap(({ persistentVolumeClaim }) =>
        named('persistentvolumeclaims', namespace, persistentVolumeClaim?.claimName),
      ),
    },
    {
      title: 'Configuration',
      members: unique([
        ...volumes.flatMap(({ configMap }) => named('configmaps', namespace, configMap?.name)),
        ...sources.flatMap(({ configMapRef }) => named('configmaps', namespace, configMapRef?.name)),
      ]),
    },
    {
      title: 'Secrets',
      members: unique([
        ...volumes.flatMap(({ secret }) => named('secrets', namespace, secret?.secretName)),
        ...sources.flatMap(({ secretRef }) => named('secrets', namespace, secretRef?.name)),
      ]),
    },
    { title: 'Service account', members: named('serviceaccounts', namespace, spec?.serviceAccountName) },
    { title: 'Services that lead here', members: services },
  ];
};

/** Services whose selector fits labels. */
async function findSelecting(
  namespace: string | undefined,
  labels: Json,
  at: number | undefined,
): Promise<Relative[]> {
  const items = await listOf('services', namespace, at);
  return items
    .filter(({ spec }) => selects(spec?.selector, labels))
    .map(({ metadata }) => ({ kind: kindOf('services')!, namespace, name: metadata.name }));
}

/** Whole objects of a namespace. A kind that may not be listed has none. */
async function listOf(
  id: string,
  namespace: string | undefined,
  at: number | undefined,
): Promise<ApiObject[]> {
  const kind = kindOf(id);
  if (!kind || !may('list', kind, { namespace })) return [];
  const query = { ...momentQuery(at), limit: shownMax };
  const answer = await ask<{ items: ApiObject[] }>(pathOf(kind, namespace), { query }).catch(() => undefined);
  return answer?.items ?? [];
}

/** What leads to the pods of a workload, what scales them, and what keeps them from being evicted. */
const workload: Finder = async ({ kind, spec, metadata: { namespace, name } }, at) => {
  const labels = spec?.template?.metadata?.labels;
  const [services, slices, ingresses, scalers, budgets] = await Promise.all(
    [
      'services',
      'endpointslices.discovery.k8s.io',
      'ingresses.networking.k8s.io',
      'horizontalpodautoscalers.autoscaling',
      'poddisruptionbudgets.policy',
    ].map((id) => listOf(id, namespace, at)),
  );
  const member = (id: string, { metadata }: ApiObject, note?: string): Relative[] =>
    named(id, namespace, metadata.name).map((each) => ({ ...each, note }));
  const leading = services!.filter((each) => selects(each.spec?.selector, labels));
  const names = new Set(leading.map(({ metadata }) => metadata.name));
  return [
    {
      title: 'Services',
      members: leading.flatMap((each) => member('services', each, answersOf(each.metadata.name, slices!))),
    },
    {
      title: 'Ingresses',
      members: ingresses!
        .filter((each) => backendsOf(each).some((backend) => names.has(backend)))
        .flatMap((each) => member('ingresses.networking.k8s.io', each)),
    },
    {
      title: 'Autoscaler',
      members: scalers!
        .filter(({ spec: { scaleTargetRef: of = {} } = {} }) => of.kind === kind && of.name === name)
        .flatMap((each) => {
          const { minReplicas = 1, maxReplicas } = each.spec;
          const now = each.status?.currentReplicas ?? 0;
          return member(
            'horizontalpodautoscalers.autoscaling',
            each,
            `${now}, from ${minReplicas} to ${maxReplicas}`,
          );
        }),
    },
    {
      title: 'Disruption budget',
      members: budgets!
        .filter((each) => selects(each.spec?.selector?.matchLabels, labels))
        .flatMap((each) =>
          member(
            'poddisruptionbudgets.policy',
            each,
            `evictions allowed: ${each.status?.disruptionsAllowed ?? 0}`,
          ),
        ),
    },
  ];
};

/** How many endpoints of a service can serve requests. */
function answersOf(service: string, slices: readonly ApiObject[]): string {
  const endpoints: Json[] = slices
    .filter(({ metadata }) => metadata.labels?.['kubernetes.io/service-name'] === service)
    .flatMap((slice) => slice.endpoints ?? []);
  const ready = endpoints.filter(({ conditions }) => conditions?.ready !== false).length;
  return ready === 0
    ? 'unavailable: no endpoint is ready'
    : `${ready} of ${endpoints.length} endpoints ready`;
}

/** Says of services of a namespace whether they are there, and answer; of those that the user may not see, nothing. */
async function answersIn(
  namespace: string | undefined,
  at: number | undefined,
): Promise<(service: string) => string | undefined> {
  const sliceId = 'endpointslices.discovery.k8s.io';
  const [services, slices] = await Promise.all(['services', sliceId].map((id) => listOf(id, namespace, at)));
  const seesAll = (id: string, list: readonly ApiObject[]): boolean =>
    may('list', kindOf(id), { namespace }) && list.length < shownMax;
  return (service) => {
    if (seesAll('services', services!) && !services!.some(({ metadata }) => metadata.name === service))
      return 'unavailable: it does not exist';
    return seesAll(sliceId, slices!) ? answersOf(service, slices!) : undefined;
  };
}

const backendsOf = ({ spec }: ApiObject): string[] =>
  [
    spec?.defaultBackend,
    ...(spec?.rules ?? []).flatMap(({ http }: Json) =>
      (http?.paths ?? []).map(({ backend }: Json) => backend),
    ),
  ].flatMap((backend: Json) => backend?.service?.name ?? []);

const service: Finder = async ({ spec, metadata: { namespace, name } }, at) => {
  const selector = selectorOf({ matchLabels: spec?.selector });
  const labelSelector = `kubernetes.io/service-name=${name}`;
  const [slices, pods] = await Promise.all([
    findObjects('endpointslices.discovery.k8s.io', namespace, { labelSelector }, at),
    selector ? findObjects('pods', namespace, { labelSelector: selector }, at) : [],
  ]);
  return [
    { title: 'Endpoint slices', members: slices },
    { title: 'Pods', members: pods },
  ];
};

/** Pods of a namespace that use a claim. Only whole objects tell. */
async function podsOfClaim(
  namespace: string | undefined,
  claim: string,
  at: number | undefined,
): Promise<Relative[]> {
  const items = await listOf('pods', namespace, at);
  return items
    .filter(({ spec }) =>
      spec?.volumes?.some((volume: Json) => volume.persistentVolumeClaim?.claimName === claim),
    )
    .map(({ metadata, status }) => ({
      kind: kindOf('pods')!,
      namespace,
      name: metadata.name,
      note: status?.phase,
    }));
}

const finders: Readonly<Record<string, Finder>> = {
  Pod: pod,
  Service: service,
  Deployment: workload,
  StatefulSet: workload,
  DaemonSet: workload,
  PersistentVolumeClaim: async ({ spec, metadata: { namespace, name } }, at) => [
    { title: 'Volume', members: named('persistentvolumes', undefined, spec?.volumeName) },
    { title: 'Class', members: named('storageclasses.storage.k8s.io', undefined, spec?.storageClassName) },
    { title: 'Pods', members: await podsOfClaim(namespace, name, at) },
  ],
  PersistentVolume: async ({ spec }, at) => {
    const { namespace, name } = spec?.claimRef ?? {};
    return [
      { title: 'Claim', members: named('persistentvolumeclaims', namespace, name) },
      { title: 'Pods', members: name ? await podsOfClaim(namespace, name, at) : [] },
      { title: 'Class', members: named('storageclasses.storage.k8s.io', undefined, spec?.storageClassName) },
    ];
  },
  Ingress: async (ingress, at) => {
    const { spec, metadata } = ingress;
    const { namespace } = metadata;
    const answers = await answersIn(namespace, at);
    return [
      {
        title: 'Services',
        members: [...new Set(backendsOf(ingress))].flatMap((name) =>
          named('services', namespace, name).map((each) => ({ ...each, note: answers(name) })),
        ),
      },
      {
        title: 'Secrets',
        members: (spec?.tls ?? []).flatMap(({ secretName }: Json) => named('secrets', namespace, secretName)),
      },
    ];
  },
  EndpointSlice: async ({ endpoints = [], metadata: { namespace, labels } }) => [
    { title: 'Service', members: named('services', namespace, labels?.['kubernetes.io/service-name']) },
    {
      title: 'Pods',
      members: (endpoints ?? []).flatMap(({ targetRef }: Json) => named('pods', namespace, targetRef?.name)),
    },
  ],
  HorizontalPodAutoscaler: async ({ spec, metadata: { namespace } }) => {
    const target = spec?.scaleTargetRef;
    const kind = target && kindNamed(target.apiVersion ?? '', target.kind);
    return [{ title: 'Scales', members: kind ? [{ kind, namespace, name: target.name }] : [] }];
  },
};

export async function relativesOf(
  object: ApiObject,
  at: number | undefined,
): Promise<readonly RelativeGroup[]> {
  const groups = (await finders[object.kind ?? '']?.(object, at)) ?? [];
  return groups.filter(({ members }) => members.length > 0);
}
