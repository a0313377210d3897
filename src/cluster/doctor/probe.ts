/** The questions that the checks of `wherry doctor` ask the machine. Tests answer them from a table. */

export interface EngineAnswer {
  readonly socket: string;
  /** Name and version of the engine; absent when it does not answer. */
  readonly name?: string;
  /** Whether this user may not open the socket. */
  readonly isForbidden?: boolean;
}

export interface FreeSpace {
  readonly bytes: number;
  /** The share of files that can still be created, from 0 to 1; 1 where the file system does not count them. */
  readonly fileShare: number;
}

export interface Probe {
  readonly platform: NodeJS.Platform;
  /** Node's version, such as `v20.19.0`. */
  readonly nodeVersion: string;
  /** The user id; undefined on systems without user ids. */
  readonly user: number | undefined;
  readonly freeMemoryBytes: number;
  /** A small file; undefined when it cannot be read. */
  read(file: string): Promise<string | undefined>;
  /** Whether files can be created in a folder, or, if it does not exist, in its nearest existing parent. */
  isWritable(folder: string): Promise<boolean>;
  freeSpace(folder: string): Promise<FreeSpace | undefined>;
  /** The standard output of a program; undefined when there is no such program, or it fails. */
  run(program: string, ...args: string[]): Promise<string | undefined>;
  /** Why the port cannot be used on loopback; undefined when it can. */
  portProblem(port: number): Promise<string | undefined>;
  /** The process that uses a data folder. */
  ownerOf(dataDir: string): Promise<number | undefined>;
  /** The existing sockets of container engines, and which engine answers. */
  engines(): Promise<readonly EngineAnswer[]>;
}
