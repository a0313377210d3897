/** A node of this machine: an agent with the runtime, the network and the folder it needs. */
import { rm } from 'node:fs/promises';
import { hostname, networkInterfaces } from 'node:os';
import path from 'node:path';
import { StatusError } from '../api/errors.ts';
import type { Secret } from '../api/generated/types.ts';
import { isSubdomain1123 } from '../api/names.ts';
import { Client, type ClientOptions } from '../client/client.ts';
import { secrets } from '../client/resources.ts';
import type { Agent } from '../node/agent/agent.ts';
import type { KubeletListening } from '../node/agent/kubeletserver.ts';
import type { NodeNetwork, PodNetworkMode } from '../node/agent/nodenetwork.ts';
import { checkNodeOptionNames } from './optioncheck.ts';
import { StartError } from './starterror.ts';
import { makeTemporaryFolder } from './temporaryfolder.ts';

export const defaultServiceRange = '10.0.0.0/24';

export interface NodeOptions {
  /** Default: the name of the machine. */
  readonly name?: string;
  /** Where pods, volumes and logs are kept. Default: a temporary folder that goes with the node. */
  readonly folder?: string;
  /** The address of the node, and of pods that share its network. Default: the first that is not loopback. */
  readonly address?: string;
  /** How pods are connected. Default `host`: they share the network of the machine. */
  readonly podNetwork?: PodNetworkMode;
  /** Addresses for pods that have networks of their own. */
  readonly podRange?: string;
  /** Addresses that services get, as the server has it. Default `10.0.0.0/24`. */
  readonly serviceRange?: string;
  /**
   * A folder that gets links to the logs of containers, in `pods` and `containers` as log shippers expect them in
   * /var/log. Default: one of the node's own.
   */
  readonly logLinks?: string;
  /** A file that maps image names to commands. */
  readonly images?: string;
  /** Serve the kubelet API over TLS on this port too; 0 takes any free one. Default: no. */
  readonly kubeletPort?: number;
  readonly labels?: Readonly<Record<string, string>>;
  readonly now?: () => number;
  readonly onError?: (error: Error) => void;
}

export interface RunningNode {
  readonly name: string;
  readonly agent: Agent;
  /** How pods are run here, for people. */
  readonly description: string;
  /** Resolves when the node is registered and its pods are looked after. */
  start(): Promise<void>;
  close(): Promise<void>;
}

/** What can be found wrong before anything is started; throws a `StartError`. */
export async function checkNodeOptions(options: NodeOptions): Promise<void> {
  const { images, podRange, name, folder, logLinks } = options;
  const [problem] = name === undefined ? [] : isSubdomain1123(name);
  if (problem) throw new StartError(`the node cannot be called ${JSON.stringify(name)}: ${problem}`);
  if (folder !== undefined && logLinks !== undefined && path.resolve(folder) === path.resolve(logLinks))
    throw new StartError(`links to logs cannot be made in ${folder}, where the logs are`);
  // Loaded only by those who have something to check: a start is to be quick.
  if (podRange === undefined && images === undefined) return;
  const { ImageTable, parsePodRange } = await import('./nodeparts.ts');
  await orSentence(ImageTable.open(images).then(() => podRange && parsePodRange(podRange)));
}

/** For failures whose message says what to do about them, or with words in front that do. */
async function orSentence<T>(work: Promise<T>, words?: string): Promise<T> {
  try {
    return await work;
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    throw new StartError(words === undefined ? message : `${words} (${code ?? message})`, { cause: error });
  }
}

/** An agent that is ready to be started. */
export async function openNode(client: Client, options: NodeOptions): Promise<RunningNode> {
  const { Agent, ImageTable, LogFolder, makeFolders, NodeNetwork, ProcessRuntime } = await import(
    './nodeparts.ts'
  );
  const now = options.now ?? Date.now;
  const onError = options.onError ?? (() => undefined);
  const name = options.name ?? defaultName();
  const temporary = options.folder === undefined;
  const folder = options.folder ?? (await makeTemporaryFolder());
  const logs = path.resolve(options.logLinks ?? path.join(folder, 'log'));
  const removeTemporary = async (): Promise<void> => {
    if (temporary) await rm(folder, { recursive: true, force: true });
  };
  const address = options.address ?? machineAddress();
  let network: NodeNetwork | undefined;
  try {
    await orSentence(makeFolders(folder, 0o700), `the folder ${folder} of the node cannot be made`);
    await orSentence(makeFolders(logs, 0o755), `the folder ${logs} for links to logs cannot be made`);
    const images = await orSentence(ImageTable.open(options.images));
    const opening = NodeNetwork.open({
      mode: options.podNetwork ?? 'host',
      nodeName: name,
      address,
      folder,
      podRange: options.podRange,
      serviceRange: options.serviceRange ?? defaultServiceRange,
      onError,
    });
    network = await orSentence(opening);
    const logFolder = new LogFolder(logs, path.join(folder, 'pods'), now, onError);
    const runtime = new ProcessRuntime({ folder, network: network.pods, images, logFolder, now, onError });
    const agent = new Agent({
      nodeName: name,
      client,
      runtime,
      network,
      folder,
      logFolder,
      address,
      hostname: hostname(),
      labels: options.labels,
      kubelet:
        options.kubeletPort === undefined
          ? undefined
          : await listening(client, name, address, options.kubeletPort),
      now,
      onError,
    });
    const opened = network;
    return {
      name,
      agent,
      description: [`Node ${name} at ${address}`, ...opened.describe()].join('\n'),
      start: async () => {
        await opened.start(client);
        await agent.start();
      },
      close: async () => {
        await agent.close();
        await opened.close();
        await removeTemporary();
        await logFolder.prune();
      },
    };
  } catch (error) {
    await network?.close();
    await removeTemporary();
    throw error;
  }
}

/** With a certificate of the cluster's node authority, which is made when nobody has needed it before. */
async function listening(
  client: Client,
  name: string,
  address: string,
  port: number,
): Promise<KubeletListening> {
  const { authorityData, authorityOf, issueServingCertificate, makeNodeAuthority, nodeAuthoritySecret } =
    await import('../client/nodecertificates.ts');
  const { namespace } = nodeAuthoritySecret;
  const stored = () => client.get(secrets, namespace, nodeAuthoritySecret.name);
  const secret = await stored().catch(async (error: unknown) => {
    if (!(error instanceof StatusError && error.code === 404)) throw error;
    const data = authorityData(await makeNodeAuthority(Date.now()));
    const made: Secret = { metadata: { name: nodeAuthoritySecret.name }, type: 'Opaque', data };
    // When another was faster, theirs counts.
    return client.create(secrets, namespace, made).catch(stored);
  });
  const authority = authorityOf(secret.data);
  if (!authority)
    throw new Error(`the secret ${namespace}/${nodeAuthoritySecret.name} does not hold certificates`);
  const tls = await issueServingCertificate(authority.ca, { names: [name, hostname()], ips: [address] });
  return { host: address, port, tls: { ...tls, ca: authority.ca.cert } };
}

/** Node names are DNS names; names of machines need not be. */
function defaultName(): string {
  const name = hostname()
    .toLowerCase()
    .replace(/[^a-z0-9.-]+/g, '-')
    .replace(/^[^a-z0-9]+|[^a-z0-9]+$/g, '')
    .slice(0, 63);
  return name || 'node';
}

/** Bridges of nodes on this machine. */
const ownInterface = /^wh[0-9a-f]{8}/;

/** An address that others can use, where the machine has one. */
export function machineAddress(): string {
  for (const [name, addresses] of Object.entries(networkInterfaces()))
    for (const { address, family, internal } of addresses ?? [])
      if (!ownInterface.test(name) && family === 'IPv4' && !internal && !address.startsWith('169.254.'))
        return address;
  return '127.0.0.1';
}

/** Runs a node that belongs to a server elsewhere. */
export async function startNode(
  url: string,
  options: NodeOptions,
  access: ClientOptions = {},
): Promise<RunningNode> {
  checkNodeOptionNames(options);
  await checkNodeOptions(options);
  const client = new Client(url, { userAgent: 'wherry-node', ...access });
  let node: RunningNode | undefined;
  try {
    node = await openNode(client, options);
    await node.start();
  } catch (error) {
    await node?.close();
    client.close();
    const { code, message } = error as NodeJS.ErrnoException;
    if (code === 'ECONNREFUSED' || code === 'ENOTFOUND' || code === 'EAI_AGAIN')
      throw new StartError(`${url} cannot be reached: ${message}`, { cause: error });
    throw error;
  }
  const started = node;
  return {
    ...started,
    close: async () => {
      await started.close();
      client.close();
    },
  };
}
