/** What the checks of `wherry doctor` ask the machine. Tests answer from a table. */

export interface EngineAnswer {
  readonly socket: string;
  /** What answered: its name and version. Absent: nothing did. */
  readonly name?: string;
  /** Whether this user may not open the socket. */
  readonly isForbidden?: boolean;
}

export interface FreeSpace {
  readonly bytes: number;
  /** The share of files that can still be made, from 0 to 1; 1 where the file system does not count them. */
  readonly fileShare: number;
}

export interface Probe {
  readonly platform: NodeJS.Platform;
  /** Such as `v20.19.0`. */
  readonly nodeVersion: string;
  /** Undefined where users have no numbers. */
  readonly user: number | undefined;
  readonly freeMemoryBytes: number;
  /** A small file; undefined when it cannot be read. */
  read(file: string): Promise<string | undefined>;
  /** Whether files can be made in a folder, or, while it does not exist, in the nearest above it. */
  isWritable(folder: string): Promise<boolean>;
  freeSpace(folder: string): Promise<FreeSpace | undefined>;
  /** The standard output of a program; undefined when there is no such program, or it fails. */
  run(program: string, ...args: string[]): Promise<string | undefined>;
  /** Why a port of the loopback address cannot be listened at; undefined: it can. */
  portProblem(port: number): Promise<string | undefined>;
  /** The process that uses a data folder. */
  ownerOf(dataDir: string): Promise<number | undefined>;
  /** The sockets of container engines that exist, with what answers there. */
  engines(): Promise<readonly EngineAnswer[]>;
}
