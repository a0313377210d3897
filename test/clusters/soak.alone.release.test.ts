/**
 * A cluster under random disturbances: pods are scaled, deleted, killed and failed, nodes are lost, deleted,
 * cordoned, tainted and brought back. Proves that afterwards the state matches the specs, that nothing was
 * created twice or left over, and that an idle cluster writes nothing.
 */
import { afterAll, beforeAll, expect, it } from 'vitest';
import { type Cluster, start } from '../../src/cluster/index.ts';
import { Client, type Json, strategicPatch, type WatchEvent, type WatchReader } from '../support/http.ts';
import { PodLedger } from '../support/pod-ledger.ts';
import { randomFrom } from '../support/workload.ts';

const seed = Number(process.env.WHERRY_SEED ?? 20261115);
const nodeCount = 8;
/** A node that is silent for this long is lost; its pods are evicted a second later. */
const nodeGraceMs = 4_000;
const weatherMs = 18_000;
/** Between two disturbances. */
const pauseMs = 40;
const convergeMaxMs = 120_000;
/** How long nothing must be written, and how long it may take until then. */
const quietMs = 4_000;
const settleMaxMs = 60_000;
const namespaces = ['blue', 'green'];
const apps = ['web', 'api', 'cache'];

const random = randomFrom(seed);
const pick = <T>(list: readonly T[]): T | undefined => list[random(list.length)];
const sleep = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

let cluster: Cluster;
const errors: string[] = [];
const api = new Client(() => cluster.url);

beforeAll(async () => {
  cluster = await start({
    store: 'memory',
    simulatedNodes: nodeCount,
    controllerSettings: { nodeGraceMs },
    onError: (error) => errors.push(error.message),
  });
  await cluster.nodesReady;
});
afterAll(() => cluster?.close());

const at = (namespace: string, resource: string, name = ''): string =>
  `/api/v1/namespaces/${namespace}/${resource}${name && `/${name}`}`;
const jobsAt = (namespace: string, name = ''): string =>
  `/apis/batch/v1/namespaces/${namespace}/jobs${name && `/${name}`}`;
const items = async (path: string): Promise<Json[]> => (await api.get(path)).body.items;

/** A refusal because of a concurrent change is fine; any other is not. */
async function did(reply: Promise<{ status: number; text: string }>, fine = [404, 409]): Promise<number> {
  const { status, text } = await reply;
  if (status >= 400 && !fine.includes(status)) throw new Error(text);
  return status;
}

const template = (labels: object, spec: object = {}, annotations: object = {}): object => ({
  metadata: { labels, annotations },
  spec: {
    terminationGracePeriodSeconds: 1,
    containers: [{ name: 'c', image: 'i:1', ports: [{ containerPort: 80 }] }],
    tolerations: ['not-ready', 'unreachable'].map((key) => ({
      key: `node.kubernetes.io/${key}`,
      operator: 'Exists',
      effect: 'NoExecute',
      tolerationSeconds: 1,
    })),
    ...spec,
  },
});

const controller = (app: string, replicas: number): object => ({
  metadata: { name: app },
  spec: { replicas, selector: { app }, template: template({ app }) },
});

let jobs = 0;
function job(): object {
  const completions = 1 + random(6);
  const indexed = random(2) === 0;
  return {
    metadata: { name: `job-${++jobs}` },
    spec: {
      completions,
      parallelism: 1 + random(3),
      completionMode: indexed ? 'Indexed' : 'NonIndexed',
      backoffLimit: 1000,
      // Pods ended by a lost node do not count as failures of the job.
      podFailurePolicy: {
        rules: [{ action: 'Ignore', onPodConditions: [{ type: 'DisruptionTarget', status: 'True' }] }],
      },
      template: template({}, { restartPolicy: 'Never' }, { 'wherry.dev/simulated-seconds': `${random(3)}` }),
    },
  };
}

const nodes = Array.from({ length: nodeCount }, (_, i) => `simulated-${i + 1}`);
const lost = new Set<string>();
/** Nodes that stay lost. */
const gone = new Set<string>();

async function recover(name: string): Promise<void> {
  // A running agent does not recreate a deleted node; a starting one does.
  await cluster.simulated.stop(name);
  await cluster.simulated.start(name);
  lost.delete(name);
}

type Blow = (namespace: string, app: string) => Promise<unknown>;

const anyPod = async (namespace: string): Promise<string> => {
  const pod = pick(await items(at(namespace, 'pods')));
  return at(namespace, 'pods', pod?.metadata.name ?? 'none');
};

const blows: Record<string, Blow> = {
  scale: (namespace, app) =>
    did(api.patch(at(namespace, 'replicationcontrollers', app), { spec: { replicas: random(13) } })),
  delete: async (namespace) => did(api.delete(await anyPod(namespace))),
  kill: async (namespace) => did(api.delete(await anyPod(namespace), { gracePeriodSeconds: 0 })),
  fail: async (namespace) =>
    // Refused if the pod has less time left already.
    did(api.patch(await anyPod(namespace), { spec: { activeDeadlineSeconds: 1 } }), [404, 409, 422]),
  restart: async (namespace) => {
    const spec = { containers: [{ name: 'c', image: `i:${random(1000)}` }] };
    return did(api.patch(await anyPod(namespace), { spec }, strategicPatch));
  },
  'lose a node': async () => {
    const up = nodes.filter((name) => !lost.has(name) && !gone.has(name));
    if (up.length < 4) return recover(pick([...lost])!);
    const name = pick(up)!;
    lost.add(name);
    return cluster.simulated.stop(name);
  },
  'recover a node': async () => {
    const name = pick([...lost]);
    if (name) await recover(name);
  },
  'delete a node': async () => {
    const name = pick(nodes.filter((one) => !gone.has(one)))!;
    lost.add(name);
    return did(api.delete(`/api/v1/nodes/${name}`));
  },
  'cordon a node': () =>
    did(api.patch(`/api/v1/nodes/${pick(nodes)}`, { spec: { unschedulable: random(2) === 0 || null } })),
  'taint a node': () => {
    const taints = random(2) ? [{ key: 'away', effect: 'NoExecute' }] : null;
    return did(api.patch(`/api/v1/nodes/${pick(nodes)}`, { spec: { taints } }));
  },
  'replace a controller': async (namespace, app) => {
    const path = at(namespace, 'replicationcontrollers', app);
    const propagationPolicy = pick(['Background', 'Foreground', 'Orphan']);
    const { replicas } = (await api.get(path)).body.spec;
    await did(api.delete(path, { propagationPolicy }));
    while ((await did(api.get(path))) !== 404) await sleep(20);
    await did(api.post(at(namespace, 'replicationcontrollers'), controller(app, replicas)));
  },
  'delete endpoints': (namespace, app) => did(api.delete(at(namespace, 'endpoints', app))),
  'begin a job': (namespace) => did(api.post(jobsAt(namespace), job())),
  'delete a job': async (namespace) => {
    const name = pick(await items(jobsAt(namespace)))?.metadata.name ?? 'none';
    return did(api.delete(jobsAt(namespace, name), { propagationPolicy: 'Background' }));
  },
};

/** Disturbances, some listed several times to happen more often. */
const often = ['scale', 'scale', 'scale', 'delete', 'delete', 'kill', 'lose a node', 'recover a node'];
const weather = [...Object.keys(blows), ...often].filter((name) => name !== 'delete a job' || random(2));

/** Resolves with a promise for the end of all disturbances: some of them need nodes that are lost. */
async function storm(): Promise<{ over: Promise<void> }> {
  const endMs = Date.now() + weatherMs;
  /** Only one disturbance per object at a time. */
  const busy = new Set<string>();
  const underWay: Promise<unknown>[] = [];
  let failed: unknown;
  while (Date.now() < endMs && !failed) {
    const [blow, namespace, app] = [pick(weather)!, pick(namespaces)!, pick(apps)!];
    const key = blow.includes('node') ? 'node' : `${namespace}/${app}`;
    if (!busy.has(key)) {
      busy.add(key);
      const done = blows[blow]!(namespace, app).finally(() => busy.delete(key));
      underWay.push(done.catch((error) => (failed = new Error(`${blow}: ${error.message}`))));
    }
    await sleep(random(2 * pauseMs));
  }
  const over = Promise.all(underWay).then(() => {
    if (failed) throw failed;
  });
  over.catch(() => undefined);
  return { over };
}

/** Makes all nodes healthy again, except those that stay lost. */
async function clearSkies(): Promise<void> {
  const victim = pick(nodes)!;
  gone.add(victim);
  await cluster.simulated.stop(victim);
  await did(api.delete(`/api/v1/nodes/${victim}`));
  for (const name of nodes) {
    if (gone.has(name)) continue;
    if (lost.has(name)) await recover(name);
    await did(api.patch(`/api/v1/nodes/${name}`, { spec: { unschedulable: null, taints: null } }));
  }
}

const isTrue = ({ status }: Json, type: string): boolean =>
  status.conditions?.some((one: Json) => one.type === type && one.status === 'True') ?? false;
const isActive = ({ metadata, status }: Json): boolean =>
  !metadata.deletionTimestamp && !['Succeeded', 'Failed'].includes(status.phase);
const controllerOf = ({ metadata }: Json): string =>
  metadata.ownerReferences?.find((one: Json) => one.controller)?.uid ?? '';
const nameOf = ({ metadata }: Json): string => `${metadata.namespace ?? ''}/${metadata.name}`;

/** All differences from the expected state. */
async function complaints(): Promise<string[]> {
  const [pods, controllers, allJobs, nodeObjects, endpoints] = await Promise.all([
    items('/api/v1/pods'),
    items('/api/v1/replicationcontrollers'),
    items('/apis/batch/v1/jobs'),
    items('/api/v1/nodes'),
    items('/api/v1/endpoints'),
  ]);
  const wrong: string[] = [];
  const sound = new Set(nodeObjects.filter((node) => isTrue(node, 'Ready')).map((one) => one.metadata.name));
  for (const name of nodes)
    if (sound.has(name) === gone.has(name)) wrong.push(`node ${name}: ready ${sound.has(name)}`);
  for (const node of nodeObjects)
    if (node.spec.taints) wrong.push(`node ${node.metadata.name}: ${JSON.stringify(node.spec.taints)}`);
  const owners = new Set([...controllers, ...allJobs].map(({ metadata }) => metadata.uid));
  for (const pod of pods) {
    // A pod that had ended when its controller released it has no owner from then on.
    const letGo = !isActive(pod) && !pod.metadata.ownerReferences;
    if (!letGo && !owners.has(controllerOf(pod))) wrong.push(`pod ${nameOf(pod)} has no living owner`);
    if (pod.metadata.deletionTimestamp) wrong.push(`pod ${nameOf(pod)} is not gone`);
    else if (isActive(pod) && !(pod.status.phase === 'Running' && isTrue(pod, 'Ready')))
      wrong.push(`pod ${nameOf(pod)} on ${pod.spec.nodeName}: ${JSON.stringify(pod.status)}`);
    if (isActive(pod) && !sound.has(pod.spec.nodeName))
      wrong.push(`pod ${nameOf(pod)} is on ${pod.spec.nodeName}`);
  }
  for (const one of controllers) wrong.push(...wrongWith(one, pods));
  for (const one of allJobs) wrong.push(...wrongWithJob(one, pods));
  for (const one of endpoints.filter(({ metadata }) => namespaces.includes(metadata.namespace)))
    wrong.push(...wrongWithEndpoints(one, pods));
  for (const name of sound) wrong.push(...(await wrongWithAgent(name as string, pods)));
  return wrong;
}

function wrongWith(one: Json, pods: Json[]): string[] {
  const { spec, status, metadata } = one;
  const own = pods.filter((pod) => controllerOf(pod) === metadata.uid && isActive(pod));
  const counts = [own.length, status.replicas, status.readyReplicas ?? 0, status.availableReplicas ?? 0];
  return counts.every((count) => count === spec.replicas)
    ? []
    : [`controller ${nameOf(one)} of ${spec.replicas}: ${counts}`];
}

function wrongWithJob(one: Json, pods: Json[]): string[] {
  const { spec, status, metadata } = one;
  const succeeded = pods.filter(
    (pod) => controllerOf(pod) === metadata.uid && pod.status.phase === 'Succeeded',
  );
  const right =
    isTrue(one, 'Complete') &&
    status.succeeded === spec.completions &&
    (status.active ?? 0) === 0 &&
    // A completed pod may have been deleted.
    succeeded.length <= spec.completions;
  return right ? [] : [`job ${nameOf(one)}: ${JSON.stringify({ status, pods: succeeded.length })}`];
}

function wrongWithEndpoints(one: Json, pods: Json[]): string[] {
  const ready = pods
    .filter(({ metadata }) => metadata.namespace === one.metadata.namespace)
    .filter(({ metadata }) => metadata.labels?.app === one.metadata.name)
    .filter((pod) => isActive(pod) && isTrue(pod, 'Ready'))
    .map(({ status }) => status.podIP);
  const told = (one.subsets ?? []).flatMap((subset: Json) => subset.addresses ?? []);
  const unready = (one.subsets ?? []).flatMap((subset: Json) => subset.notReadyAddresses ?? []);
  const same = JSON.stringify(told.map(({ ip }: Json) => ip).sort()) === JSON.stringify(ready.sort());
  return same && unready.length === 0 ? [] : [`endpoints ${nameOf(one)}: ${JSON.stringify(one.subsets)}`];
}

/** Checks that an agent has exactly the pods bound to its node. */
async function wrongWithAgent(node: string, pods: Json[]): Promise<string[]> {
  const bound = pods.filter(({ spec }) => spec.nodeName === node).map(nameOf);
  const kept = (await items(`/api/v1/nodes/${node}/proxy/pods`)).map(nameOf);
  const same = JSON.stringify(bound.sort()) === JSON.stringify(kept.sort());
  return same ? [] : [`the agent of ${node} keeps ${kept}, and should keep ${bound}`];
}

async function converge(): Promise<void> {
  const endMs = Date.now() + convergeMaxMs;
  for (;;) {
    const wrong = await complaints();
    if (wrong.length === 0) return;
    if (Date.now() > endMs)
      throw new Error(`after seed ${seed} this is still wrong:\n${wrong.slice(0, 20).join('\n')}`);
    await sleep(250);
  }
}

/** A watch of every resource from now on. */
class Silence {
  readonly changes: string[] = [];
  #leases = 0;
  #awaited: { readonly leases: number; resolve(): void } | undefined;
  #lastMs = Date.now();
  readonly #watches: WatchReader[] = [];

  async open(): Promise<void> {
    const groups = (await api.get('/apis')).body.groups as Json[];
    const versions = ['/api/v1', ...groups.map((one) => `/apis/${one.preferredVersion.groupVersion}`)];
    const from = await revision();
    for (const version of versions) {
      const resources = (await api.get(version)).body.resources as Json[];
      for (const { name } of resources.filter(({ verbs }) => verbs.includes('watch')))
        this.#watches.push(await this.#follow(`${version}/${name}`, from));
    }
  }

  async #follow(path: string, from: number): Promise<WatchReader> {
    const watch = await api.watch(`${path}?watch=true&resourceVersion=${from}`);
    let over = false;
    void watch.ended.then(() => {
      over = true;
    });
    void (async () => {
      // No events are expected: ignore the reader's time limit.
      while (!over)
        await watch.next().then(
          (event) => this.#take(path, event),
          () => undefined,
        );
    })();
    return watch;
  }

  #take(path: string, { type, object }: WatchEvent): void {
    if (path.endsWith('/leases')) {
      this.#leases++;
      if (this.#leases === this.#awaited?.leases) this.#awaited.resolve();
      return;
    }
    this.changes.push(`${type} ${path} ${nameOf(object)}`);
    this.#lastMs = Date.now();
  }

  get leases(): number {
    return this.#leases;
  }

  /** Resolves when this many more leases have been renewed. */
  renewals(count: number): Promise<void> {
    return new Promise((resolve) => {
      this.#awaited = { leases: this.#leases + count, resolve };
    });
  }

  get silentMs(): number {
    return Date.now() - this.#lastMs;
  }

  close(): void {
    for (const watch of this.#watches) watch.close();
  }
}

const revision = async (): Promise<number> =>
  Number((await api.get('/api/v1/configmaps')).body.metadata.resourceVersion);

it('a cluster comes to what its specs say, and then to rest', { timeout: 300_000 }, async () => {
  for (const namespace of namespaces) {
    await did(api.post('/api/v1/namespaces', { metadata: { name: namespace } }), []);
    for (const app of apps) {
      await did(api.post(at(namespace, 'replicationcontrollers'), controller(app, 4)), []);
      const spec = { selector: { app }, ports: [{ port: 80 }] };
      await did(api.post(at(namespace, 'services'), { metadata: { name: app }, spec }), []);
    }
  }
  const ledger = await PodLedger.open(api);
  const { over } = await storm();
  await clearSkies();
  await over;
  await converge();
  const surplus = await ledger.close();
  expect(ledger.created, 'pods that were made').toBeGreaterThan(50);
  expect(surplus, `pods that nobody needed, with seed ${seed}`).toEqual([]);

  const silence = new Silence();
  await silence.open();
  const giveUpMs = Date.now() + settleMaxMs;
  while (silence.silentMs < quietMs && Date.now() < giveUpMs) await sleep(50);
  const before = { changes: silence.changes.length, leases: silence.leases, revision: await revision() };
  // The nodes renew their leases, and nothing else is written meanwhile.
  await silence.renewals(nodeCount / 2);
  const after = { leases: silence.leases, revision: await revision() };
  expect(silence.changes.slice(before.changes), `changes in the end, with seed ${seed}`).toEqual([]);
  // The two figures are not read at the same moment.
  expect(after.revision - before.revision).toBeLessThanOrEqual(after.leases - before.leases + nodeCount);
  silence.close();
  expect(await complaints()).toEqual([]);
  expect(errors, `failures on the way, with seed ${seed}`).toEqual([]);
});
