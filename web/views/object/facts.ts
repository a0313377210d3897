/** The facts of an object that a person asks for first, by kind; of other kinds, the plain values of spec and status. */
import type { ApiObject, Json } from '../../core/objects.ts';

export interface Fact {
  readonly label: string;
  readonly value: string;
}

/** Facts that are words for a state, which have a tone. */
export const stateFacts: ReadonlySet<string> = new Set(['Phase']);

type Row = readonly [label: string, value: unknown];

const text = (value: unknown): string => {
  if (value === undefined || value === null) return '';
  if (Array.isArray(value)) return value.map(text).filter(Boolean).join(', ');
  return typeof value === 'object' ? JSON.stringify(value) : String(value);
};

const share = (part: unknown, whole: unknown): string => `${text(part ?? 0)} of ${text(whole ?? 0)}`;

const ports = (list: Json): string[] =>
  (list ?? []).map(
    ({ name, port, targetPort, nodePort, protocol }: Json) =>
      `${name ? `${name} ` : ''}${port}${targetPort && targetPort !== port ? `→${targetPort}` : ''}${nodePort ? ` (node ${nodePort})` : ''}${protocol && protocol !== 'TCP' ? `/${protocol}` : ''}`,
  );

const workload = ({ spec }: ApiObject): Row[] => [
  ['Strategy', spec?.strategy?.type ?? spec?.updateStrategy?.type],
  ['Images', (spec?.template?.spec?.containers ?? []).map(({ image }: Json) => image)],
  ['Paused', spec?.paused],
];

const backendOf = ({ service, resource }: Json): string =>
  service
    ? `${service.name}:${service.port?.name ?? service.port?.number}`
    : `${resource?.kind} ${resource?.name}`;

/** `shop.example/cart → cart:80`. */
const ingressRules = ({ host = '*', http }: Json): string[] =>
  (http?.paths ?? []).map(({ path = '/', backend }: Json) => `${host}${path} → ${backendOf(backend)}`);

/** `cpu 71% of 60%`: what an autoscaler sees beside what it wants. */
const metrics = (wanted: Json, seen: Json): string[] =>
  (wanted ?? []).map(({ type = '', ...rest }: Json) => {
    const of = (metric: Json): Json => metric?.[`${type[0]?.toLowerCase()}${type.slice(1)}`];
    const { name, metric, container, target } = of(rest) ?? {};
    const same = (seen ?? [])
      .map(of)
      .find((each: Json) => each?.name === name && each?.metric?.name === metric?.name);
    const figure = ({ averageUtilization, averageValue, value }: Json = {}): string =>
      averageUtilization === undefined ? text(averageValue ?? value ?? '?') : `${averageUtilization}%`;
    return `${container ? `${container} ` : ''}${name ?? metric?.name} ${figure(same?.current)} of ${figure(target)}`;
  });

/** Each webhook by its name: what it calls, for which operations, and whether requests go on without it. */
const webhooks = (object: ApiObject): Row[] =>
  ((object as Json).webhooks ?? []).map(({ name, clientConfig, failurePolicy, rules = [] }: Json) => {
    const { service, url } = clientConfig ?? {};
    const where = service ? `service ${service.namespace}/${service.name}` : url;
    const what = rules.map(({ operations, resources }: Json) => `${text(operations)} of ${text(resources)}`);
    return [name, [where, ...what, `when it fails: ${failurePolicy}`]];
  });

/** Its state is said in words above them: a phase beside that would say that a pod in a crash loop is running. */
function podFacts({ spec, status }: ApiObject): Row[] {
  return [
    ['Node', spec?.nodeName],
    ['Address', status?.podIP],
    ['Restart policy', spec?.restartPolicy],
    ['Service account', spec?.serviceAccountName],
    ['QoS class', status?.qosClass],
    ['Priority', spec?.priorityClassName],
  ];
}

const byKind: Readonly<Record<string, (object: ApiObject) => readonly Row[]>> = {
  Pod: podFacts,
  Node: ({ spec, status }) => [
    ['Scheduling', spec?.unschedulable ? 'cordoned: no new pods' : 'takes pods'],
    ['Addresses', [...new Set((status?.addresses ?? []).map(({ address }: Json) => address))]],
    ['Version', status?.nodeInfo?.kubeletVersion],
    ['System', status?.nodeInfo?.osImage],
    ['Kernel', status?.nodeInfo?.kernelVersion],
    ['Runtime', status?.nodeInfo?.containerRuntimeVersion],
    ['Pod CIDR', spec?.podCIDR],
    [
      'Taints',
      (spec?.taints ?? []).map(
        ({ key, value, effect }: Json) => `${key}${value ? `=${value}` : ''}:${effect}`,
      ),
    ],
  ],
  Deployment: workload,
  StatefulSet: workload,
  ReplicaSet: workload,
  DaemonSet: workload,
  Job: ({ spec, status }) => [
    ['Completed', share(status?.succeeded, spec?.completions ?? 1)],
    ['Running', status?.active],
    ['Failed', status?.failed],
    ['Backoff limit', spec?.backoffLimit],
    ['Suspended', spec?.suspend || undefined],
  ],
  CronJob: ({ spec, status }) => [
    ['Schedule', spec?.schedule],
    ['Time zone', spec?.timeZone],
    ['Suspended', spec?.suspend || undefined],
    ['Last schedule', status?.lastScheduleTime],
    ['Last successful', status?.lastSuccessfulTime],
    ['Running', status?.active?.length],
  ],
  Service: ({ spec, status }) => [
    ['Type', spec?.type],
    ['Address', spec?.clusterIP],
    ['Ports', ports(spec?.ports)],
    ['Selector', Object.entries(spec?.selector ?? {}).map(([key, value]) => `${key}=${value}`)],
    ['External name', spec?.externalName],
    ['Ingress', (status?.loadBalancer?.ingress ?? []).map(({ ip, hostname }: Json) => ip ?? hostname)],
  ],
  PersistentVolumeClaim: ({ spec, status }) => [
    ['Phase', status?.phase],
    ['Requested', spec?.resources?.requests?.storage],
    ['Capacity', status?.capacity?.storage],
    ['Access modes', spec?.accessModes],
    ['Storage class', spec?.storageClassName],
  ],
  PersistentVolume: ({ spec, status }) => [
    ['Phase', status?.phase],
    ['Capacity', spec?.capacity?.storage],
    ['Access modes', spec?.accessModes],
    ['Reclaim policy', spec?.persistentVolumeReclaimPolicy],
    ['Storage class', spec?.storageClassName],
  ],
  Ingress: ({ spec, status }) => [
    ['Class', spec?.ingressClassName],
    ['Rules', (spec?.rules ?? []).flatMap(ingressRules)],
    ['Otherwise', spec?.defaultBackend && backendOf(spec.defaultBackend)],
    ['TLS', (spec?.tls ?? []).map(({ hosts, secretName }: Json) => `${text(hosts)} by ${secretName}`)],
    ['Address', (status?.loadBalancer?.ingress ?? []).map(({ ip, hostname }: Json) => ip ?? hostname)],
  ],
  HorizontalPodAutoscaler: ({ spec, status }) => [
    ['Replicas', share(status?.currentReplicas, status?.desiredReplicas)],
    ['Bounds', `${spec?.minReplicas ?? 1} to ${spec?.maxReplicas}`],
    ['Metrics', metrics(spec?.metrics, status?.currentMetrics)],
    ['Last scaled', status?.lastScaleTime],
  ],
  ResourceQuota: ({ spec, status }) =>
    Object.entries(spec?.hard ?? {}).map(([name, hard]) => [name, share(status?.used?.[name], hard)]),
  ValidatingWebhookConfiguration: webhooks,
  MutatingWebhookConfiguration: webhooks,
  CustomResourceDefinition: ({ spec }) => [
    ['Kind', spec?.names?.kind],
    ['Group', spec?.group],
    ['Short names', spec?.names?.shortNames],
    ['Scope', spec?.scope],
    [
      'Versions',
      (spec?.versions ?? []).map(
        ({ name, served, storage }: Json) =>
          `${name}${storage ? ' (stored)' : ''}${served ? '' : ' (not served)'}`,
      ),
    ],
  ],
  Namespace: ({ status }) => [['Phase', status?.phase]],
  Secret: ({ type }) => [['Type', type]],
  ConfigMap: () => [],
};

const plainMax = 12;

/** Plain values of spec and status: for kinds that nothing is known about. */
function plainFacts({ spec, status }: ApiObject): Row[] {
  const values = (of: Json): Row[] =>
    Object.entries(of ?? {})
      .filter(([, value]) => ['string', 'number', 'boolean'].includes(typeof value))
      .map(([name, value]) => [name, value] as const);
  return [...values(spec), ...values(status)].slice(0, plainMax);
}

export function factsOf(object: ApiObject): readonly Fact[] {
  const rows = (byKind[object.kind ?? ''] ?? plainFacts)(object);
  return rows.map(([label, value]) => ({ label, value: text(value) })).filter(({ value }) => value !== '');
}
