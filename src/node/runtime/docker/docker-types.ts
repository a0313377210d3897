/** The parts of Docker's answers that are used here. */

export interface DockerInfo {
  readonly ServerVersion?: string;
  readonly OSType?: string;
  readonly Architecture?: string;
  readonly DockerRootDir?: string;
  readonly CgroupVersion?: string;
}

export interface DockerVersion {
  readonly Version?: string;
  readonly Arch?: string;
  readonly Components?: readonly { readonly Name?: string }[] | null;
}

export interface ListedContainer {
  readonly Id: string;
  readonly Names?: readonly string[] | null;
  readonly ImageID?: string;
  /** `created`, `running`, `exited` and so on. */
  readonly State?: string;
  readonly Labels?: Readonly<Record<string, string>> | null;
}

export interface InspectedContainer {
  readonly Id: string;
  readonly Created?: string;
  readonly State: {
    readonly Status?: string;
    readonly Running?: boolean;
    readonly Pid?: number;
    readonly ExitCode?: number;
    readonly OOMKilled?: boolean;
    readonly Error?: string;
    readonly StartedAt?: string;
    readonly FinishedAt?: string;
  };
  readonly Config?: {
    readonly Labels?: Readonly<Record<string, string>> | null;
    readonly Tty?: boolean;
    readonly StdinOnce?: boolean;
    readonly StopSignal?: string;
  };
  readonly NetworkSettings?: {
    readonly IPAddress?: string;
    readonly Networks?: Readonly<Record<string, { readonly IPAddress?: string }>> | null;
    readonly Ports?: Readonly<
      Record<string, readonly { readonly HostIp?: string; readonly HostPort?: string }[] | null>
    > | null;
  };
}

export interface InspectedImage {
  readonly Id: string;
  readonly RepoDigests?: readonly string[] | null;
  readonly Size?: number;
  readonly Config?: {
    readonly Entrypoint?: readonly string[] | string | null;
    readonly Cmd?: readonly string[] | null;
    readonly Env?: readonly string[] | null;
    readonly WorkingDir?: string;
    readonly User?: string;
  } | null;
}

export interface ContainerStats {
  readonly cpu_stats?: { readonly cpu_usage?: { readonly total_usage?: number } };
  readonly memory_stats?: { readonly usage?: number; readonly stats?: Readonly<Record<string, number>> };
}

export interface DockerEvent {
  readonly Action?: string;
  readonly Actor?: { readonly ID?: string };
  readonly timeNano?: number;
}
