/** A node of this machine: an agent with the runtime, the network and the folder it needs. */
import { mkdtemp, rm } from 'node:fs/promises';
import { hostname, networkInterfaces, tmpdir } from 'node:os';
import path from 'node:path';
import { StatusError } from '../api/errors.ts';
import type { Secret } from '../api/generated/types.ts';
import { Client, type ClientOptions } from '../client/client.ts';
import { secrets } from '../client/resources.ts';
import type { Agent } from '../node/agent/agent.ts';
import type { KubeletListening } from '../node/agent/kubeletserver.ts';
import type { PodNetworkMode } from '../node/agent/nodenetwork.ts';

export const defaultServiceRange = '10.0.0.0/24';

export interface NodeOptions {
  /** Name of the node object. Default: the name of the machine. */
  readonly name?: string;
  /** Folder for pods, volumes and logs. Default: a temporary one, deleted when the node closes. */
  readonly folder?: string;
  /** Address of the node, and of pods that share its network. Default: the first that is not loopback. */
  readonly address?: string;
  /** How pods are connected. Default `host`: they share the network of the machine. */
  readonly podNetwork?: PodNetworkMode;
  /** IPv4 range for pods with networks of their own. Default `10.217.0.0/16`. */
  readonly podRange?: string;
  /** IPv4 range that services get their addresses from, the same as the server's. Default `10.0.0.0/24`. */
  readonly serviceRange?: string;
  /** A file that maps image names to commands. */
  readonly images?: string;
  /** Port on which the kubelet API is served over TLS; 0 takes any free one. Default: it is not served. */
  readonly kubeletPort?: number;
  /** Labels of the node object, beside those that every node has. */
  readonly labels?: Readonly<Record<string, string>>;
  /** The clock, in milliseconds since 1970. Default: the clock of the system. */
  readonly now?: () => number;
  /** Called with failures of the node itself. Default: they are dropped. */
  readonly onError?: (error: Error) => void;
}

export interface RunningNode {
  /** Name of the node object. */
  readonly name: string;
  /** How pods are run here: address, network, services; a few lines for people. */
  readonly description: string;
  /** Ends the containers. Pods stay in the API; the next node of this name runs them again. */
  close(): Promise<void>;
}

/** A node whose agent is there and not started yet. */
export interface OpenNode extends RunningNode {
  readonly agent: Agent;
  /** Resolves when the node is registered and its pods are looked after. */
  start(): Promise<void>;
}

export async function openNode(client: Client, options: NodeOptions): Promise<OpenNode> {
  const [{ Agent }, { ProcessRuntime }, { NodeNetwork }, { ImageTable }] = await Promise.all([
    import('../node/agent/agent.ts'),
    import('../node/runtime/processruntime.ts'),
    import('../node/agent/nodenetwork.ts'),
    import('../node/runtime/images.ts'),
  ]);
  const now = options.now ?? Date.now;
  const onError = options.onError ?? (() => undefined);
  const name = options.name ?? defaultName();
  const temporary = options.folder === undefined;
  // Mounts need whole paths.
  const folder = path.resolve(options.folder ?? (await mkdtemp(path.join(tmpdir(), 'wherry-node-'))));
  const address = options.address ?? machineAddress();
  const images = await ImageTable.open(options.images);
  const network = await NodeNetwork.open({
    mode: options.podNetwork ?? 'host',
    nodeName: name,
    address,
    folder,
    podRange: options.podRange,
    serviceRange: options.serviceRange ?? defaultServiceRange,
    onError,
  });
  const runtime = new ProcessRuntime({ folder, network: network.pods, images, now, onError });
  const agent = new Agent({
    nodeName: name,
    client,
    runtime,
    network,
    folder,
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
  return {
    name,
    agent,
    description: [`Node ${name} at ${address}`, ...network.describe()].join('\n'),
    start: async () => {
      await network.start(client);
      await agent.start();
    },
    close: async () => {
      await agent.close();
      await network.close();
      if (temporary) await rm(folder, { recursive: true, force: true });
    },
  };
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

/** Runs a node that belongs to a server elsewhere. Resolves when the node is registered. */
export async function startNode(
  url: string,
  options: NodeOptions,
  access: ClientOptions = {},
): Promise<RunningNode> {
  const client = new Client(url, { userAgent: 'wherry-node', ...access });
  const node = await openNode(client, options);
  try {
    await node.start();
  } catch (error) {
    await node.close();
    client.close();
    throw error;
  }
  const { name, description } = node;
  return {
    name,
    description,
    close: async () => {
      await node.close();
      client.close();
    },
  };
}
