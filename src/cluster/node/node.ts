/** A node of this machine: an agent with the runtime, the network and the folder it needs. */
import { rm } from 'node:fs/promises';
import { hostname } from 'node:os';
import path from 'node:path';
import { StatusError } from '../../api/errors/errors.ts';
import type { ObjectReference, Secret } from '../../api/generated/types.ts';
import { isSubdomain1123 } from '../../api/values/names.ts';
import { userAgentOf } from '../../api/values/release.ts';
import { Client, type ClientOptions } from '../../client/client.ts';
import { secrets } from '../../client/resources.ts';
import { wallClock } from '../../clock.ts';
import type { Agent } from '../../node/agent/agent.ts';
import type { KubeletListening } from '../../node/agent/kubelet-server.ts';
import type { NodeNetwork } from '../../node/agent/node-network.ts';
import type { NodeVersion } from '../../node/agent/node-version.ts';
import type { LogFolder } from '../../node/logs/log-folder.ts';
import { isEveryAddress, isOwnAddress, machineAddress } from '../../node/machine/machine-address.ts';
import type { ApiDoor } from '../../node/network/service-proxy.ts';
import type { ImageTable } from '../../node/runtime/images.ts';
import type { ProcessRuntime } from '../../node/runtime/process/process-runtime.ts';
import type { RuntimeChoice } from '../../node/runtime/runtime-choice.ts';
import { policyFeature } from '../../registry/admission/policy-enforcement.ts';
import { claimFolder, releaseFolder } from '../../store/owner.ts';
import type { Timers } from '../../timers.ts';
import { checkNodeGroups, taintsOf } from '../options/node-groups.ts';
import { machineOptions, type NodeOptions, rangeOptions } from '../options/nodes.ts';
import { defaultOf } from '../options/option.ts';
import { checkNodeOptionNames } from '../options/option-check.ts';
import { doorAt } from '../shared/api-address.ts';
import { Closers } from '../shared/closers.ts';
import { type LoggedEvent, logConfiguration, logEvent } from '../shared/log.ts';
import { checkPorts } from '../shared/ports.ts';
import { StartError } from '../shared/start-error.ts';
import { makeTemporaryFolder } from '../shared/temporary-folder.ts';

export interface RunningNode {
  /** Name of the node object. */
  readonly name: string;
  /** How pods are run here: address, network, services; a few lines for people. */
  readonly description: string;
  /** Ends the containers. Pods stay in the API; the next node of this name runs them again. */
  close(): Promise<void>;
}

/** A node whose agent is created but not started. */
export interface OpenNode extends RunningNode {
  readonly agent: Agent;
  /** With `silently` nothing is written to the API, as if the machine had lost power. */
  close(how?: { readonly silently?: boolean }): Promise<void>;
  /** Resolves when the node is registered and its pods are looked after. */
  start(): Promise<void>;
}

/** Checks options before anything is started; throws a `StartError`. */
export async function checkNodeOptions(options: NodeOptions): Promise<void> {
  const { images, podRange, name, folder, logLinks, taints, capacity, nodePortHost = '0.0.0.0' } = options;
  const [problem] = name === undefined ? [] : isSubdomain1123(name);
  if (problem) throw new StartError(`the node cannot be called ${JSON.stringify(name)}: ${problem}`);
  if (folder !== undefined && logLinks !== undefined && path.resolve(folder) === path.resolve(logLinks))
    throw new StartError(`links to logs cannot be made in ${folder}, where the logs are`);
  if (!isEveryAddress(nodePortHost) && !isOwnAddress(nodePortHost))
    throw new StartError(`${nodePortHost} is not an address of this machine, where node ports could listen`);
  // Load the checks only when there is something to check, to keep the start fast.
  if (taints ?? capacity) checkNodeGroups([{ ...(taints && { taints }), ...(capacity && { capacity }) }]);
  if (podRange === undefined && images === undefined) return;
  const { ImageTable, parsePodRange } = await import('./node-parts.ts');
  await orSentence(ImageTable.open(images).then(() => podRange && parsePodRange(podRange)));
}

/** Turns a failure into a `StartError`, with `words` before its message if given. */
async function orSentence<T>(work: Promise<T>, words?: string): Promise<T> {
  try {
    return await work;
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    throw new StartError(words === undefined ? message : `${words} (${code ?? message})`, { cause: error });
  }
}

/** How the kubelet API of a node is served at an address and a port. */
type Listen = (name: string, address: string, port: number) => Promise<KubeletListening>;

/** Options of a node in the same process as its server, which also passes the timers of its clock. */
interface LocalNodeOptions extends NodeOptions {
  readonly version?: NodeVersion | undefined;
  readonly timers?: Timers;
  readonly apiDoor?: ApiDoor | undefined;
}

/** @param seesAllPods whether the client may read the pods of all nodes; one with credentials of a node may not */
export async function openNode(
  client: Client,
  options: LocalNodeOptions,
  listen?: Listen,
  seesAllPods: boolean = listen === undefined,
): Promise<OpenNode> {
  const closers = new Closers();
  const signed: Listen = (name, address, port) =>
    listening(client, name, address, port, options.now ?? wallClock);
  try {
    return await openParts(client, options, listen ?? signed, seesAllPods, closers);
  } catch (error) {
    await closers.close().catch(options.onError ?? (() => undefined));
    throw error;
  }
}

const eventOf = (type: string, about: ObjectReference, reason: string, message: string): LoggedEvent => {
  const { kind = '', namespace, name = '' } = about;
  return { type, reason, message, kind, namespace, name };
};

/** Values that the parts of a node share. */
interface NodeBase {
  readonly client: Client;
  readonly options: LocalNodeOptions;
  readonly name: string;
  readonly address: string;
  /** The folder, as an absolute path, which mounts need. */
  readonly folder: string;
  readonly logFolder: LogFolder;
  readonly now: () => number;
  readonly onError: (error: Error) => void;
}

type NodeParts = typeof import('./node-parts.ts');

async function openParts(
  client: Client,
  options: LocalNodeOptions,
  listen: Listen,
  seesAllPods: boolean,
  closers: Closers,
): Promise<OpenNode> {
  const parts = await import('./node-parts.ts');
  const base = await openFolders(client, options, parts, closers);
  const { name, address, folder, logFolder, now, onError } = base;
  const images = await orSentence(parts.ImageTable.open(options.images));
  const opening = parts.NodeNetwork.open({
    mode: options.podNetwork ?? 'host',
    nodeName: name,
    address,
    folder,
    podRange: options.podRange,
    nodePortHost: options.nodePortHost,
    serviceRange: ipv4Of(options.serviceRange ?? defaultOf(rangeOptions.serviceRange)),
    seesAllPods,
    apiDoor: options.apiDoor,
    now,
    onError,
  });
  const network = await orSentence(opening);
  closers.add(() => network.close());
  const { kubeletPort } = options;
  const kubelet = kubeletPort === undefined ? undefined : await listen(name, address, kubeletPort);
  const runtime = new parts.ProcessRuntime({
    folder,
    network: network.pods,
    images,
    logFolder,
    now,
    onError,
  });
  const runtimes = runtimesOf(base, parts, network, runtime, images);
  const agent = agentOf(base, parts, { runtime, runtimes, network, kubelet, followsObjects: seesAllPods });
  closers.add(() => agent.close());
  const available: string[] = [];
  return {
    name,
    agent,
    get description() {
      const last = available.length ? [`runtimes: ${available.join(', ')}`] : [];
      return [`Node ${name} at ${address}`, ...network.describe(), ...last].join('\n');
    },
    start: async () => {
      await network.start(client);
      if (closers.closing) return;
      await agent.start();
      available.push(...(await runtimes.available()));
    },
    close: async (how) => {
      if (how?.silently) await agent.close(how);
      await closers.close();
    },
  };
}

async function openFolders(
  client: Client,
  options: LocalNodeOptions,
  parts: NodeParts,
  closers: Closers,
): Promise<NodeBase> {
  const now = options.now ?? wallClock;
  const onError = options.onError ?? (() => undefined);
  const temporary = options.folder === undefined ? await makeTemporaryFolder() : undefined;
  const folder = path.resolve(options.folder ?? temporary!);
  const logs = path.resolve(options.logLinks ?? path.join(folder, 'log'));
  const podFolders = [path.join(folder, 'pods'), path.join(folder, 'cri', 'pods')];
  const logFolder = new parts.LogFolder(logs, podFolders, now, onError);
  closers.add(async () => {
    if (temporary !== undefined) await rm(temporary, { recursive: true, force: true });
    // The logs in a temporary folder are gone now, and dangling links to them can be removed.
    await logFolder.prune();
  });
  await orSentence(parts.makeFolders(folder, 0o700), `the folder ${folder} of the node cannot be made`);
  // Claim the folder: two agents on one folder would end each other's containers. A temporary folder is claimed when it
  // is made.
  if (temporary === undefined) {
    claimFolder(folder);
    closers.add(() => releaseFolder(folder));
  }
  await orSentence(parts.makeFolders(logs, 0o755), `the folder ${logs} for links to logs cannot be made`);
  const name = options.name ?? defaultName();
  const address = options.address ?? machineAddress();
  return { client, options, name, address, folder, logFolder, now, onError };
}

function runtimesOf(
  { client, options, address, folder, logFolder, now, onError }: NodeBase,
  parts: NodeParts,
  network: NodeNetwork,
  main: ProcessRuntime,
  images: ImageTable,
): RuntimeChoice {
  const engine = {
    network: network.pods,
    address,
    // A temporary folder is removed with the node, so no later agent could adopt its containers.
    lasting: options.folder !== undefined,
    secret: (namespace: string, secret: string) => client.get(secrets, namespace, secret),
    nodeSecrets: options.registries && [secretOf(options.registries)],
    now,
    onError,
  };
  return new parts.RuntimeChoice({
    mode: options.runtime ?? defaultOf(machineOptions.runtime),
    main,
    late: [
      parts.lateDocker(options.dockerSocket, { ...engine, folder: path.join(folder, 'docker') }),
      parts.lateCri(options.criSocket, { ...engine, folder: path.join(folder, 'cri'), logFolder }),
      parts.lateSimulation(now),
    ],
    isMapped: (image) => images.maps(image),
    handlerOf: (runtimeClass) => parts.handlerOf(client, runtimeClass),
    onError,
  });
}

/** Credentials in the form in which pods name theirs. */
function secretOf(registries: NonNullable<NodeOptions['registries']>): Secret {
  const data = Buffer.from(JSON.stringify({ auths: registries })).toString('base64');
  return { metadata: {}, type: 'kubernetes.io/dockerconfigjson', data: { '.dockerconfigjson': data } };
}

function agentOf(
  { client, options, name, address, folder, logFolder, now, onError }: NodeBase,
  parts: NodeParts,
  own: {
    readonly runtime: ProcessRuntime;
    readonly runtimes: RuntimeChoice;
    readonly network: NodeNetwork;
    readonly kubelet: KubeletListening | undefined;
    readonly followsObjects: boolean;
  },
): Agent {
  const { log } = options;
  return new parts.Agent({
    ...own,
    nodeName: name,
    client,
    folder,
    logFolder,
    volumes: new parts.LocalVolumes(options.volumes ?? path.join(folder, 'volumes')),
    address,
    hostname: hostname(),
    labels: options.labels,
    taints: taintsOf(options.taints),
    capacity: options.capacity,
    version: options.version,
    features: own.network.policyProblem === undefined ? [policyFeature] : [],
    now,
    timers: options.timers,
    onEvent: log && ((type, about, reason, message) => logEvent(log, eventOf(type, about, reason, message))),
    onError,
  });
}

/**
 * Serves the kubelet API with a certificate of the cluster's node authority, which is created if it does not
 * exist.
 */
async function listening(
  client: Client,
  name: string,
  address: string,
  port: number,
  now: () => number,
): Promise<KubeletListening> {
  const { authorityData, authorityOf, issueServingCertificate, makeNodeAuthority, nodeAuthoritySecret } =
    await import('../../pki/node-certificates.ts');
  const { namespace } = nodeAuthoritySecret;
  const stored = () => client.get(secrets, namespace, nodeAuthoritySecret.name);
  const secret = await stored().catch(async (error: unknown) => {
    if (!(error instanceof StatusError && error.code === 404)) throw error;
    const data = authorityData(await makeNodeAuthority(now()));
    const made: Secret = { metadata: { name: nodeAuthoritySecret.name }, type: 'Opaque', data };
    // If another process has created it first, that one is used.
    return client.create(secrets, namespace, made).catch(stored);
  });
  const authority = authorityOf(secret.data);
  if (!authority)
    throw new Error(`the secret ${namespace}/${nodeAuthoritySecret.name} does not hold certificates`);
  const tls = await issueServingCertificate(authority.ca, {
    names: [name, hostname()],
    ips: [address],
    nowMs: now(),
  });
  return { host: address, port, tls: { ...tls, ca: authority.ca.cert } };
}

/** The machine's name, made a valid DNS name. */
function defaultName(): string {
  const name = hostname()
    .toLowerCase()
    .replace(/[^a-z0-9.-]+/g, '-')
    .replace(/^[^a-z0-9]+|[^a-z0-9]+$/g, '')
    .slice(0, 63);
  return name || 'node';
}

/**
 * Runs a node that belongs to a server elsewhere. Resolves when the node is registered. A server over TLS knows the node
 * by a certificate, which the node asks for with the token in `join` when it has none yet; `access` names other
 * credentials.
 */
export async function startNode(
  url: string,
  options: NodeOptions,
  access: ClientOptions = {},
): Promise<RunningNode> {
  checkNodeOptionNames(options);
  await checkNodeOptions(options);
  const version = await versionOf(options.kubernetes);
  await checkPorts([{ host: options.address ?? machineAddress(), port: options.kubeletPort }]);
  const closers = new Closers();
  try {
    const joins = url.startsWith('https:') && !access.cert && !access.token;
    const node = joins
      ? await openJoined(url, { ...options, version }, closers)
      : await openKnown(url, { ...options, version }, access, closers);
    closers.add(() => node.close());
    const { log, onError: _error, join: _secret, ...rest } = options;
    if (log) logConfiguration(log, { server: url, ...rest, name: node.name });
    await node.start();
    const { name, description } = node;
    return { name, description, close: () => closers.close() };
  } catch (error) {
    await closers.close().catch(options.onError ?? (() => undefined));
    const { code, message } = error as NodeJS.ErrnoException;
    if (code === 'ECONNREFUSED' || code === 'ENOTFOUND' || code === 'EAI_AGAIN')
      throw new StartError(`${url} cannot be reached: ${message}`, { cause: error });
    throw error;
  }
}

/** What the node says that it is; undefined: what it is. */
async function versionOf(kubernetes: string | undefined): Promise<NodeVersion | undefined> {
  if (kubernetes === undefined) return undefined;
  const { Minor, minorProblem } = await import('../../api/minors/minor.ts');
  const problem = minorProblem(kubernetes);
  if (problem) throw new StartError(problem);
  const minor = new Minor(kubernetes);
  return {
    kubelet: minor.release,
    kubeProxy: minor.isOn('DisableNodeKubeProxyVersion') ? '' : minor.release,
    declaresFeatures: minor.isOn('NodeDeclaredFeatures'),
  };
}

function openKnown(
  url: string,
  options: LocalNodeOptions,
  access: ClientOptions,
  closers: Closers,
): Promise<OpenNode> {
  const client = new Client(url, { userAgent: userAgentOf('kubelet', options.version?.kubelet), ...access });
  closers.add(() => client.close());
  return openNode(client, { ...options, apiDoor: doorAt(url) }, undefined, !access.cert && !access.token);
}

async function temporaryFolder(closers: Closers): Promise<string> {
  const folder = await makeTemporaryFolder();
  closers.add(() => rm(folder, { recursive: true, force: true }));
  return folder;
}

async function openJoined(url: string, options: LocalNodeOptions, closers: Closers): Promise<OpenNode> {
  const { NodeIdentity, JoinError } = await import('./node-parts.ts');
  const folder = path.resolve(options.folder ?? (await temporaryFolder(closers)));
  const name = options.name ?? defaultName();
  const { onError = () => undefined } = options;
  const identity = await NodeIdentity.open({
    ...options.join,
    server: url,
    name,
    folder,
    userAgent: userAgentOf('kubelet', options.version?.kubelet),
    now: options.now ?? wallClock,
    tell: options.join?.tell ?? (() => undefined),
    onError,
  }).catch((error: unknown) => {
    throw error instanceof JoinError ? new StartError(error.message, { cause: error }) : error;
  });
  closers.add(() => identity.close());
  const known = { ...options, name, folder, apiDoor: doorAt(url) };
  const node = await openNode(identity.client, known, async (_name, address, port) =>
    identity.listening(address, port),
  );
  return {
    name,
    agent: node.agent,
    get description() {
      return node.description;
    },
    close: () => node.close(),
    start: async () => {
      await node.start();
      identity.keepServing(node.agent);
    },
  };
}

/** The IPv4 range, which pods of a node can reach: IPv6 addresses of services are only shown in the API. */
const ipv4Of = (ranges: string): string => ranges.split(',').find((range) => !range.includes(':')) ?? ranges;
