/** What the kubelet API answers to plain requests: pods, logs, statistics, health. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { availableParallelism } from 'node:os';
import type { Pod } from '../../api/generated/types.ts';
import { residentBytes } from '../../platform.ts';
import { clientGone, departures } from '../../streams/dial/departures.ts';
import { attemptOf, LogRefusal, logQueryOf } from '../logs/container-logs.ts';
import { memoryBytes } from '../machine/machine.ts';
import { capture } from '../pods/capture.ts';
import { type KubeletHost, KubeletRefusal, notFound, runningOf, targetOf } from './kubelet-sessions.ts';
import { localVolumes } from './local-volume-route.ts';
import { nodeLogs } from './node-logs.ts';
import { type PodStats, resourceMetrics } from './stats.ts';

/** Maximum output of `/run` in an answer. */
const runBytesMax = 16 * 1024 * 1024;
const metricsType = 'text/plain; version=0.0.4; charset=utf-8';

export interface Asked {
  readonly host: KubeletHost;
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  /** The segments after the route's name. */
  readonly path: readonly string[];
  readonly query: URLSearchParams;
}

interface KubeletRoute {
  readonly methods: readonly string[];
  readonly answer: (asked: Asked) => Promise<void> | void;
}

const reading = ['GET'];

const routes: Partial<Record<string, KubeletRoute>> = {
  healthz: { methods: reading, answer: health },
  pods: { methods: reading, answer: ({ host, response }) => json(response, podList(allPods(host))) },
  runningpods: {
    methods: reading,
    answer: ({ host, response }) => json(response, podList(runningPods(host))),
  },
  containerLogs: { methods: reading, answer: logs },
  logs: { methods: ['GET', 'HEAD'], answer: nodeLogs },
  localvolumes: {
    methods: ['GET', 'PUT', 'DELETE'],
    answer: async (asked) => json(asked.response, await localVolumes(asked)),
  },
  run: { methods: ['POST'], answer: run },
  stats: { methods: ['GET', 'POST'], answer: stats },
  spec: { methods: reading, answer: machine },
  metrics: { methods: reading, answer: metrics },
};

export async function answer(
  host: KubeletHost,
  request: IncomingMessage,
  response: ServerResponse,
  path: readonly string[],
  query: URLSearchParams,
): Promise<void> {
  const route = Object.hasOwn(routes, path[0] ?? '') ? routes[path[0]!]! : undefined;
  if (!route) throw notFound();
  if (!route.methods.includes(request.method ?? ''))
    throw new KubeletRefusal(405, 'Method Not Allowed', route.methods.join(', '));
  // Discard the request body: these routes take none.
  request.resume();
  await route.answer({ host, request, response, path: path.slice(1), query });
}

function json(response: ServerResponse, body: unknown): void {
  text(response, JSON.stringify(body), 'application/json');
}

function text(response: ServerResponse, body: string, type = 'text/plain; charset=utf-8'): void {
  response.writeHead(200, { 'Content-Type': type, 'Content-Length': Buffer.byteLength(body) }).end(body);
}

function health({ response, path }: Asked): void {
  if (path.length > 1 || (path[0] !== undefined && !['ping', 'log', 'syncloop'].includes(path[0])))
    throw notFound();
  text(response, 'ok');
}

const podList = (items: readonly Pod[]) => ({ kind: 'PodList', apiVersion: 'v1', metadata: {}, items });

const allPods = ({ workers }: KubeletHost): Pod[] => [...workers()].map(({ pod }) => pod);

/** Pods with a running container, showing only the running containers; for debugging without the API. */
const runningPods = ({ workers }: KubeletHost): Pod[] =>
  [...workers()].flatMap((worker): Pod[] => {
    const { metadata, spec } = worker.pod;
    const containers = [...(spec?.initContainers ?? []), ...(spec?.containers ?? [])].filter(
      ({ name }) => worker.containerOf(name!)?.running,
    );
    if (!containers.length) return [];
    const { name, namespace, uid } = metadata;
    return [
      {
        metadata: { name, namespace, uid },
        spec: { containers: containers.map(({ name, image }) => ({ name, image })) },
      },
    ];
  });

async function logs({ host, response, path, query }: Asked): Promise<void> {
  const [namespace, name, container] = path;
  for (const [part, called] of [
    [namespace, 'podNamespace'],
    [name, 'podID'],
    [container, 'container name'],
  ])
    if (!part) throw new KubeletRefusal(400, `{"message": "Missing ${called}."}`);
  if (path.length > 3) throw notFound();
  try {
    await sendLog(host, response, namespace!, name!, container!, query);
  } catch (error) {
    if (error instanceof LogRefusal) throw new KubeletRefusal(error.code, error.message);
    throw error;
  }
}

async function sendLog(
  host: KubeletHost,
  response: ServerResponse,
  namespace: string,
  name: string,
  container: string,
  query: URLSearchParams,
): Promise<void> {
  const { previous, ...wanted } = logQueryOf(query, host.now());
  const worker = host.find(namespace, name);
  if (!worker) throw new LogRefusal(404, `pod "${name}" does not exist`);
  if (!worker.containerOf(container))
    throw new LogRefusal(404, `container "${container}" not found in pod "${name}"`);
  const status = worker.statusOf(container);
  const attempt = attemptOf(status, container, name, previous);
  const log = worker.runtime.log(worker.uid, container, attempt);
  const gone = new AbortController();
  response.once('close', () => departures.add(() => gone.abort(clientGone)));
  response.writeHead(200, { 'Content-Type': 'text/plain' });
  // Send the headers now: with a log that is quiet, the client would otherwise take the server for dead.
  response.flushHeaders();
  if (!log) {
    response.end(`unable to retrieve container logs for ${status?.containerID ?? container}`);
    return;
  }
  for await (const piece of log.read(wanted, gone.signal)) {
    if (gone.signal.aborted) return;
    if (!response.write(piece)) await writable(response, gone.signal);
  }
  response.end();
}

const writable = (response: ServerResponse, gone: AbortSignal): Promise<void> =>
  new Promise((resolve) => {
    if (gone.aborted) return resolve();
    const done = (): void => {
      response.off('drain', done);
      gone.removeEventListener('abort', done);
      resolve();
    };
    response.once('drain', done);
    gone.addEventListener('abort', done, { once: true });
  });

async function run({ host, response, path, query }: Asked): Promise<void> {
  const { worker, container } = targetOf(host, path);
  const running = runningOf(worker, container, 'exec');
  const command = (query.get('cmd') ?? '').split(' ').filter(Boolean);
  if (!command.length) throw new KubeletRefusal(400, 'you must specify a command');
  const gone = new AbortController();
  response.once('close', () => departures.add(() => gone.abort(clientGone)));
  const { result, output } = await capture(running, command, { bytesMax: runBytesMax, gone: gone.signal });
  if (result.kind === 'failure') throw new KubeletRefusal(500, result.message);
  if (result.kind === 'exit')
    throw new KubeletRefusal(500, `command '${command.join(' ')}' exited with ${result.code}: ${output}`);
  text(response, output);
}

async function stats({ host, response, path, query }: Asked): Promise<void> {
  if (path[0] === 'summary' && path.length === 1) {
    const only = ['1', 'true'].includes(query.get('only_cpu_and_memory') ?? '');
    return json(response, await host.stats.summary(only));
  }
  const { node, pods } = await host.stats.summary(true);
  if (path.length === 0 || (path[0] === 'container' && path.length === 1))
    return json(response, oldStats('/', node.startTime, node));
  const container = containerStats(pods, path);
  json(response, oldStats(`/${container.name}`, container.startTime, container));
}

/** `{pod}/{container}` in the default namespace, or `{ns}/{pod}/{uid}/{container}`. */
function containerStats(pods: readonly PodStats[], path: readonly string[]) {
  const [namespace, name, uid, container] =
    path.length === 2 ? ['default', path[0], undefined, path[1]] : path;
  const pod = pods.find(
    ({ podRef }) =>
      podRef.namespace === namespace && podRef.name === name && (uid === undefined || podRef.uid === uid),
  );
  if (!pod) throw new KubeletRefusal(404, 'pod does not exist');
  const found = pod.containers.find((one) => one.name === container);
  if (!found) throw new KubeletRefusal(404, `container not found ("${container}")`);
  return found;
}

/** The statistics format of cAdvisor in Kubernetes 1.1, limited to the fields that clients read. */
const oldStats = (name: string, startTime: string, { cpu, memory }: Pick<PodStats, 'cpu' | 'memory'>) => ({
  name,
  spec: { creation_time: startTime, has_cpu: true, has_memory: true },
  stats: [
    {
      timestamp: cpu.time,
      cpu: { usage: { total: cpu.usageCoreNanoSeconds } },
      memory: { usage: memory.usageBytes, working_set: memory.workingSetBytes },
    },
  ],
});

function machine({ host, response, path }: Asked): void {
  if (path.length) throw notFound();
  const { machineID = '', systemUUID = '', bootID = '' } = host.node().status?.nodeInfo ?? {};
  json(response, {
    num_cores: availableParallelism(),
    memory_capacity: memoryBytes(),
    machine_id: machineID,
    system_uuid: systemUUID,
    boot_id: bootID,
  });
}

async function metrics({ host, response, path }: Asked): Promise<void> {
  const [which] = path;
  if (path.length > 1) throw notFound();
  if (which === undefined) return text(response, agentMetrics(host), metricsType);
  if (which !== 'resource' && which !== 'cadvisor') throw notFound();
  const body = resourceMetrics(await host.stats.summary(true));
  if (which === 'resource') return text(response, body, metricsType);
  const own = [
    ['machine_cpu_cores', 'Processors of the machine', availableParallelism()],
    ['machine_memory_bytes', 'Memory of the machine, in bytes', memoryBytes()],
  ] as const;
  text(response, own.map(gauge).join('') + body, metricsType);
}

const gauge = ([name, help, value]: readonly [string, string, number]): string =>
  `# HELP ${name} ${help}\n# TYPE ${name} gauge\n${name} ${value}\n`;

function agentMetrics(host: KubeletHost): string {
  const running = runningPods(host);
  const containers = running.reduce((sum, { spec }) => sum + (spec?.containers?.length ?? 0), 0);
  return (
    [
      ['kubelet_running_pods', 'Pods of which something runs', running.length],
      ['kubelet_running_containers', 'Containers that run', containers],
      ['kubelet_active_sessions', 'Sessions of exec, attach and port-forward', host.sessions.count],
      ['process_resident_memory_bytes', 'Memory of this process, in bytes', residentBytes()],
    ] as const
  )
    .map(gauge)
    .join('');
}
