/** The methods of CRI (`runtime.v1`) used here, and the fields used of their messages. */
import type { MessageOf, MessageTable } from '../../../grpc/message-table.ts';

const none = {} as const;
const value = { value: [1, 'int'] } as const;
const id = { id: [1, 'text'] } as const;
const namespaces = {
  network: [1, 'int'],
  pid: [2, 'int'],
  ipc: [3, 'int'],
  targetId: [4, 'text'],
} as const;
const seLinux = { user: [1, 'text'], role: [2, 'text'], type: [3, 'text'], level: [4, 'text'] } as const;
const profile = { type: [1, 'int'], localhostRef: [2, 'text'] } as const;
const image = { image: [1, 'text'] } as const;
const podMetadata = {
  name: [1, 'text'],
  uid: [2, 'text'],
  namespace: [3, 'text'],
  attempt: [4, 'int'],
} as const;
const sandboxConfig = {
  metadata: [1, podMetadata],
  hostname: [2, 'text'],
  logDirectory: [3, 'text'],
  labels: [6, 'map'],
  linux: [
    8,
    {
      cgroupParent: [1, 'text'],
      securityContext: [
        2,
        {
          namespaces: [1, namespaces],
          seLinux: [2, seLinux],
          privileged: [6, 'flag'],
          seccomp: [9, profile],
        },
      ],
      sysctls: [3, 'map'],
    },
  ],
} as const;
const resources = {
  cpuPeriod: [1, 'int'],
  cpuQuota: [2, 'int'],
  cpuShares: [3, 'int'],
  memoryLimit: [4, 'int'],
  oomScore: [5, 'int'],
  unified: [9, 'map'],
  memorySwapLimit: [10, 'int'],
} as const;
const containerConfig = {
  metadata: [1, { name: [1, 'text'], attempt: [2, 'int'] }],
  image: [2, image],
  command: [3, 'text', '*'],
  workingDir: [5, 'text'],
  env: [6, { key: [1, 'text'], value: [2, 'text'] }, '*'],
  mounts: [
    7,
    {
      path: [1, 'text'],
      source: [2, 'text'],
      readOnly: [3, 'flag'],
      propagation: [5, 'int'],
      image: [9, image],
      imageSubPath: [10, 'text'],
    },
    '*',
  ],
  labels: [9, 'map'],
  logPath: [11, 'text'],
  stdin: [12, 'flag'],
  stdinOnce: [13, 'flag'],
  tty: [14, 'flag'],
  linux: [
    15,
    {
      resources: [1, resources],
      securityContext: [
        2,
        {
          capabilities: [1, { add: [1, 'text', '*'], drop: [2, 'text', '*'] }],
          privileged: [2, 'flag'],
          namespaces: [3, namespaces],
          seLinux: [4, seLinux],
          user: [5, value],
          username: [6, 'text'],
          readOnlyRoot: [7, 'flag'],
          groups: [8, 'int', '*'],
          noNewPrivileges: [11, 'flag'],
          group: [12, value],
          maskedPaths: [13, 'text', '*'],
          readOnlyPaths: [14, 'text', '*'],
          seccomp: [15, profile],
          appArmor: [16, profile],
        },
      ],
    },
  ],
  stopSignal: [18, 'int'],
} as const;
const stats = {
  attributes: [1, { id: [1, 'text'], labels: [3, 'map'] }],
  cpu: [2, { nanoseconds: [2, value] }],
  memory: [3, { workingSet: [2, value], pageFaults: [6, value], majorPageFaults: [7, value] }],
} as const;
const url = { url: [1, 'text'] } as const;
const usedDisk = { place: [2, { folder: [1, 'text'] }] } as const;

const runtime = 'RuntimeService';
const images = 'ImageService';

/** Methods by name: the service, the request and the answer. */
export const methods = {
  Version: [runtime, none, { name: [2, 'text'], version: [3, 'text'] }],
  Status: [
    runtime,
    { verbose: [1, 'flag'] },
    {
      status: [1, { conditions: [1, { type: [1, 'text'], status: [2, 'flag'], message: [4, 'text'] }, '*'] }],
      info: [2, 'map'],
    },
  ],
  RunPodSandbox: [runtime, { config: [1, sandboxConfig] }, id],
  StopPodSandbox: [runtime, id, none],
  RemovePodSandbox: [runtime, id, none],
  PodSandboxStatus: [
    runtime,
    { id: [1, 'text'], verbose: [2, 'flag'] },
    { status: [1, { state: [3, 'int'], network: [5, { ip: [1, 'text'] }] }], info: [2, 'map'] },
  ],
  ListPodSandbox: [
    runtime,
    { filter: [1, { labels: [3, 'map'] }] },
    { items: [1, { id: [1, 'text'], state: [3, 'int'], labels: [5, 'map'] }, '*'] },
  ],
  CreateContainer: [
    runtime,
    { sandbox: [1, 'text'], config: [2, containerConfig], sandboxConfig: [3, sandboxConfig] },
    id,
  ],
  StartContainer: [runtime, id, none],
  StopContainer: [runtime, { id: [1, 'text'], timeout: [2, 'int'] }, none],
  RemoveContainer: [runtime, id, none],
  ListContainers: [
    runtime,
    { filter: [1, { labels: [4, 'map'] }] },
    {
      containers: [
        1,
        {
          id: [1, 'text'],
          sandbox: [2, 'text'],
          imageRef: [5, 'text'],
          state: [6, 'int'],
          labels: [8, 'map'],
          imageId: [10, 'text'],
        },
        '*',
      ],
    },
  ],
  ContainerStatus: [
    runtime,
    { id: [1, 'text'], verbose: [2, 'flag'] },
    {
      status: [
        1,
        {
          id: [1, 'text'],
          state: [3, 'int'],
          startedAt: [5, 'nanoseconds'],
          finishedAt: [6, 'nanoseconds'],
          exitCode: [7, 'int'],
          reason: [10, 'text'],
          message: [11, 'text'],
          logPath: [15, 'text'],
        },
      ],
      info: [2, 'map'],
    },
  ],
  UpdateContainerResources: [runtime, { id: [1, 'text'], linux: [2, resources] }, none],
  ReopenContainerLog: [runtime, id, none],
  ExecSync: [
    runtime,
    { id: [1, 'text'], command: [2, 'text', '*'], timeout: [3, 'int'] },
    { stdout: [1, 'bytes'], stderr: [2, 'bytes'], exitCode: [3, 'int'] },
  ],
  Exec: [
    runtime,
    {
      id: [1, 'text'],
      command: [2, 'text', '*'],
      tty: [3, 'flag'],
      stdin: [4, 'flag'],
      stdout: [5, 'flag'],
      stderr: [6, 'flag'],
    },
    url,
  ],
  // The fields are in another order than those of Exec.
  Attach: [
    runtime,
    { id: [1, 'text'], stdin: [2, 'flag'], tty: [3, 'flag'], stdout: [4, 'flag'], stderr: [5, 'flag'] },
    url,
  ],
  ListContainerStats: [
    runtime,
    { filter: [1, { id: [1, 'text'], labels: [3, 'map'] }] },
    { stats: [1, stats, '*'] },
  ],
  PullImage: [
    images,
    {
      image: [1, image],
      auth: [
        2,
        {
          username: [1, 'text'],
          password: [2, 'text'],
          identityToken: [5, 'text'],
        },
      ],
    },
    { ref: [1, 'text'] },
  ],
  ImageStatus: [
    images,
    { image: [1, image], verbose: [2, 'flag'] },
    {
      image: [
        1,
        {
          id: [1, 'text'],
          tags: [2, 'text', '*'],
          digests: [3, 'text', '*'],
          size: [4, 'int'],
          uid: [5, value],
          username: [6, 'text'],
          pinned: [8, 'flag'],
        },
      ],
      info: [2, 'map'],
    },
  ],
  RemoveImage: [images, { image: [1, image] }, none],
  ImageFsInfo: [images, none, { disks: [1, usedDisk, '*'] }],
} as const satisfies Record<string, readonly [string, MessageTable, MessageTable]>;

export type Method = keyof typeof methods;
export type Request<M extends Method> = MessageOf<(typeof methods)[M][1]>;
export type Answer<M extends Method> = MessageOf<(typeof methods)[M][2]>;
export type SandboxConfig = MessageOf<typeof sandboxConfig>;
export type ContainerConfig = MessageOf<typeof containerConfig>;
export type Resources = MessageOf<typeof resources>;
export type ContainerState = NonNullable<Answer<'ContainerStatus'>['status']>;
export type ContainerStats = MessageOf<typeof stats>;

/** A stream that not every version of an engine has. */
export const containerEvents = {
  path: '/runtime.v1.RuntimeService/GetContainerEvents',
  event: { id: [1, 'text'], type: [2, 'int'] },
} as const;
