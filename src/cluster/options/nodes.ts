/** Nodes: what runs pods on this machine, how a node joins a server, and nodes that only pretend. */
import type { PodNetworkMode } from '../../node/agent/node-network.ts';
import type { RuntimeMode } from '../../node/runtime/runtime-choice.ts';
import type { LogOptions } from '../shared/log.ts';
import { imageEntries, type RegistryAccess, registryAccess } from './image-shapes.ts';
import { type Lifecycle, lifecycles } from './lifecycles.ts';
import { type NodeGroup, nodeGroups, simulatedNodesMax } from './node-groups.ts';
import { nodeToken } from './node-token.ts';
import { alsoInFile, group, handedIn, type OptionsOf, onlyInFile, optionFor } from './option.ts';
import { address, count, file, filled, folder, on, oneOf, port, text, wordFor } from './values.ts';

const onlyUp = optionFor('up');
const onlyNode = optionFor('node');
const option = optionFor('up', 'node');

const runtimes = ['auto', 'process', 'docker', 'cri', 'simulated'] as const;
const socket = filled('FILE', 'name a file, or be off');

const joinOptions = {
  /** A bootstrap token, such as `wherry token create` makes. */
  token: onlyNode<string | undefined>({
    flag: 'token',
    needed: ['node'],
    value: nodeToken,
    text: 'with which the node joins a server over https, or where it is: a path such as ./token, or - for\nstandard input; wherry token create prints the whole command',
  }),
  /** `sha256:` and the SHA-256 of the public key of the cluster's authority, in hex. Default: the token is trusted. */
  caHash: onlyNode<string | undefined>({
    flag: 'ca-hash',
    needed: ['node'],
    value: {
      shown: 'HASH',
      form: 'text',
      read: ([given = ''], flag, refuse) =>
        /^sha256:[0-9a-f]{64}$/i.test(given)
          ? given
          : refuse(`${flag} must be sha256: and 64 digits from 0 to f`),
    },
    text: "sha256: and the hash of the key of the cluster's authority, which proves that the server is it",
  }),
  /** A file with the authority, in PEM, instead of asking the server for it. */
  caFile: onlyNode<string | undefined>({
    flag: 'ca-file',
    value: text('FILE'),
    text: "the cluster's authority itself, instead of asking the server for it",
  }),
  /** Called with what the operator should know, such as that the node waits to be approved. Default: nothing. */
  tell: handedIn<(message: string) => void>(),
};

export type NodeJoin = OptionsOf<typeof joinOptions>;

/** Flags of `wherry node` beside the options of its node. */
export const nodeServerFlag = {
  server: onlyNode<string>({
    flag: 'server',
    needed: ['node'],
    value: text('URL'),
    text: 'the server the node belongs to, such as http://127.0.0.1:8080',
  }),
};

export const nodeFolderFlag = {
  dataDir: onlyNode<string>({
    flag: 'data-dir',
    needed: ['node'],
    value: text('FOLDER'),
    text: 'where pods, logs and the certificates of the node are kept',
    default: '.wherry',
    preset: true,
  }),
};

export const joiningOptions = {
  /** How the node joins a server over TLS. Not needed any more once it has a certificate in its folder. */
  join: group<NodeJoin>(joinOptions, { isGiven: ({ command }) => command === 'node' }),
};

export const versionOptions = {
  /** The minor of Kubernetes that the node says it is, from `1.22` to `1.36`. Default: that of its server. */
  kubernetes: onlyNode<string>({
    flag: 'kubernetes',
    value: text('MINOR'),
    text: 'the minor of Kubernetes that the node says it is, 1.22 to 1.36 (default: that of its server)',
  }),
};

export const rangeOptions = {
  /** IPv4 range that services get their addresses from, the same as the server's. Default `10.0.0.0/24`. */
  serviceRange: onlyNode<string>({
    flag: 'service-cluster-ip-range',
    value: text('RANGE'),
    text: 'addresses that services get, as the server has it',
    default: '10.0.0.0/24',
  }),
};

export const machineOptions = {
  /** Name of the node object. Default: the name of the machine. */
  name: option<string>({
    flag: 'node-name',
    needed: ['node'],
    value: text('NAME'),
    text: 'name of the node (default: the name of the machine)',
  }),
  /** A file that maps image names to commands, or the map itself. */
  images: alsoInFile(
    option<string | Readonly<Record<string, unknown>>>({
      flag: 'images',
      needed: ['up', 'node'],
      value: text('FILE'),
      text: 'maps names of images to commands',
    }),
    imageEntries,
  ),
  /**
   * Credentials for registries, by their hosts, with which the node pulls images of every pod: `{ 'ghcr.io': { username,
   * password } }`. Default: those of the pods alone.
   */
  registries: onlyInFile<Readonly<Record<string, RegistryAccess>>>(
    'registries',
    registryAccess,
    'credentials for registries, by their hosts, with which images of every pod are pulled',
  ),
  /**
   * What runs pods that name no runtime class. Default `auto`: processes of this machine, and containers for images that
   * are not mapped to commands, if a container engine answers.
   */
  runtime: option<RuntimeMode>({
    flag: 'runtime',
    needed: ['up', 'node'],
    value: {
      shown: 'KIND',
      form: 'text',
      completes: runtimes,
      read: ([given = ''], flag, refuse) =>
        runtimes.find((runtime) => runtime === given) ??
        refuse(`${flag} must be ${runtimes.slice(0, -1).join(', ')} or ${runtimes.at(-1)}, not ${given}`),
    },
    text: 'what runs pods that name no runtime class: process, docker, cri, simulated; auto: containers\nfor images that are not mapped to commands if a container engine answers, else processes\n',
    default: 'auto',
  }),
  /**
   * The socket of Docker or Podman; `off` to use neither. Default: that of `DOCKER_HOST`, else the first that exists
   * where Docker, Docker Desktop, Colima and Podman have theirs.
   */
  dockerSocket: option<string>({
    flag: 'docker-socket',
    value: socket,
    text: 'socket of Docker or Podman; off: use neither (default: where they have theirs)',
  }),
  /**
   * The socket of an engine that speaks CRI, such as containerd or CRI-O; `off` to use none. Default: the first that exists
   * where these two have theirs.
   */
  criSocket: option<string>({
    flag: 'cri-socket',
    value: socket,
    text: 'socket of containerd, CRI-O or another engine that speaks CRI; off: use none (default: where\nthey have theirs)',
  }),
  /** Folder for pods, volumes and logs. Default: a temporary one, deleted when the node closes. */
  folder: handedIn<string>(),
  /** Folder for the volumes that are made for claims. Default: `volumes` in `folder`. */
  volumes: option<string>({
    flag: 'volumes',
    value: folder,
    text: 'where volumes for claims are made (default: volumes in the data folder)',
  }),
  /**
   * A folder that gets links to the logs of containers, in `pods` and `containers` as log shippers expect them in
   * /var/log. Default: one of the node's own.
   */
  logLinks: option<string>({
    flag: 'log-links',
    value: folder,
    text: 'make links to the logs of containers in FOLDER/pods and FOLDER/containers, as log\nshippers expect them in /var/log',
  }),
  /** Address of the node, and of pods that share its network. Default: the first that is not loopback. */
  address: handedIn<string>(),
  /** How pods are connected. Default `host`: they share the network of the machine. */
  podNetwork: option<PodNetworkMode>({
    flag: 'pod-network',
    needed: ['node'],
    value: oneOf('KIND', 'auto', 'netns', 'host'),
    text: "netns: each pod has an address of its own (Linux, as root); host: pods share the\nmachine's network; auto: the best this machine allows",
    default: 'auto',
    preset: true,
  }),
  /** IPv4 range for pods with networks of their own. Default `10.217.0.0/16`. */
  podRange: option<string>({
    flag: 'pod-range',
    value: text('RANGE'),
    text: 'addresses of pods that have their own',
    default: '10.217.0.0/16',
  }),
  /** Address of node ports of services; any of this machine, `0.0.0.0` for all. Default `127.0.0.1`. */
  nodePortHost: option<string>({
    flag: 'node-port-host',
    value: address,
    text: 'address of node ports of services; any of this machine, 0.0.0.0 for all',
    default: '127.0.0.1',
  }),
  /** Port on which the kubelet API is served over TLS; 0 takes any free one. Default: it is not served. */
  kubeletPort: option<number>({
    flag: 'kubelet-port',
    needed: ['node'],
    value: port,
    text: 'port of the node agent, over TLS (default: up none, node 10250)',
  }),
  /** Labels of the node object, beside those that every node has. */
  labels: handedIn<Readonly<Record<string, string>>>(),
  /** Taints of a node object that is made: `key=value:NoSchedule`, `key:NoExecute`. Default: none. */
  taints: handedIn<readonly string[]>(),
  /** What the node has, in place of what the machine has: `{ cpu: '4', 'example.com/gpu': '2' }`. */
  capacity: handedIn<Readonly<Record<string, string>>>(),
};

const watchingOptions = {
  /** The clock, in milliseconds since 1970. Default: the clock of the system. */
  now: handedIn<() => number>(),
  /** Called with what happens on the node: configuration, events of its pods. Default: no log. */
  log: handedIn<LogOptions>(),
  /** Called with failures of the node itself. Default: they are dropped. */
  onError: handedIn<(error: Error) => void>(),
};

export const nodeOptions = {
  ...machineOptions,
  ...versionOptions,
  ...rangeOptions,
  ...joiningOptions,
  ...watchingOptions,
};

export type NodeOptions = OptionsOf<typeof nodeOptions>;

const ingressOptions = {
  /** Port for HTTP; 0 takes any free one. */
  port: onlyUp<number>({
    flag: 'ingress-port',
    needed: ['up'],
    value: port,
    text: 'let traffic reach services as ingresses say, on this port',
  }),
  /** Port for HTTPS, with certificates from secrets. Default: HTTP only. */
  tlsPort: onlyUp<number>({
    flag: 'ingress-tls-port',
    value: port,
    text: 'the same over HTTPS, with certificates from secrets',
  }),
  /** Address to listen on; any of this machine, `0.0.0.0` for all. Default `127.0.0.1`. */
  host: onlyUp<string>({
    flag: 'ingress-host',
    value: address,
    text: 'address for both; any of this machine, 0.0.0.0 for all',
    default: '127.0.0.1',
  }),
};

export type IngressOptions = OptionsOf<typeof ingressOptions, 'port'>;

/** What a cluster has on this machine. */
export const localOptions = {
  /** Run an ingress controller on these ports. Default: none runs. */
  ingress: group<IngressOptions>(ingressOptions, {
    isGiven: ({ flags, refuse }) =>
      flags.includes('ingress-port') || (flags.length > 0 && refuse(`--${flags[0]} needs --ingress-port`)),
  }),
  /** How many simulated nodes there are, which do not run pods but report them as running. Default 0. */
  simulatedNodes: optionFor(
    'up',
    'test',
  )<number>({
    flag: 'simulated-nodes',
    needed: ['up', 'test'],
    value: count('N', simulatedNodesMax),
    text: 'nodes that only pretend to run pods, instead of this machine',
  }),
  /**
   * Nodes of this process, beside those of `node` and `simulatedNodes`: groups of simulated ones and, as a group without
   * `simulated`, this machine, with labels, taints and capacities.
   */
  nodes: onlyInFile<readonly NodeGroup[]>(
    'nodes',
    nodeGroups,
    'the nodes of the cluster: this machine, simulated ones, or both, with labels, taints and capacities',
  ),
  /**
   * What happens to simulated pods and nodes as time passes: slow starts, crashes, evictions, nodes that come and go. A
   * file with a list, or the list. Times are milliseconds in a program.
   */
  lifecycles: alsoInFile(
    optionFor(
      'up',
      'test',
    )<string | readonly Lifecycle[]>({
      flag: 'lifecycles',
      value: file,
      text: 'what happens to simulated pods and nodes as time passes',
    }),
    lifecycles,
  ),
  /**
   * Make a default StorageClass, `local-path`, at the first start: claims that name no class get a folder on the disk of
   * the node where their pod runs. Default: where this process has nodes.
   */
  defaultStorageClass: onlyUp<boolean>({
    flag: 'default-storage-class',
    value: wordFor('NAME', { 'local-path': true, off: false }),
    text: "local-path: claims that name no class get a folder on the node's disk; off: no class is made\n",
    default: 'local-path',
    preset: true,
  }),
};

/** For the command alone, where simulated nodes are in the place of this machine. */
export const machineFlag = {
  withMachine: onlyUp<boolean>({
    flag: 'with-machine',
    value: on,
    text: 'with --simulated-nodes: this machine runs pods, too',
  }),
};
