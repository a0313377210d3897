/** The options of the store `etcd`: their check, and the files they name. */
import { readFile } from 'node:fs/promises';
import type { ConnectionTls } from '../../grpc/connection.ts';
import { StartError } from '../shared/start-error.ts';

/** The etcd that holds the objects, for the store `etcd`. */
export interface EtcdOptions {
  /** Addresses of its members, such as `http://127.0.0.1:2379`; one is in use, the others if it fails. */
  readonly servers: readonly string[];
  /** File with the authorities that sign the members' certificates, in PEM. Default: those that Node trusts. */
  readonly caFile?: string;
  /** Files with the certificate and key that this server shows to etcd, in PEM. Default: it shows none. */
  readonly certFile?: string;
  readonly keyFile?: string;
  /** What all keys begin with. Servers with the same prefix are one cluster. Default `/registry`. */
  readonly prefix?: string;
  /** Members of another etcd, which keeps events. Default: events are with all other objects. */
  readonly eventServers?: readonly string[] | undefined;
}

const defaultEtcdPrefix = '/registry';

export function checkedEtcd(options: EtcdOptions | undefined): {
  servers: readonly string[];
  prefix: string;
} {
  const { servers = [], prefix = defaultEtcdPrefix, certFile, keyFile } = options ?? {};
  if (servers.length === 0) throw new StartError('the etcd store needs the addresses of its members');
  for (const server of servers)
    if (!URL.canParse(server) || !/^https?:\/\/[^/]+\/?$/.test(server))
      throw new StartError(
        `a member of etcd is given as http://HOST:PORT or https://HOST:PORT, not ${JSON.stringify(server)}`,
      );
  if (!/^\/[^\0/]/.test(prefix) || prefix.includes('\0'))
    throw new StartError(
      `the prefix in etcd must begin with a slash and have a name, not ${JSON.stringify(prefix)}`,
    );
  if ((certFile === undefined) !== (keyFile === undefined))
    throw new StartError('a certificate for etcd needs its key, and a key its certificate');
  return { servers, prefix };
}

export async function readTls({ caFile, certFile, keyFile }: EtcdOptions): Promise<ConnectionTls> {
  const read = async (file: string | undefined): Promise<Buffer | undefined> => {
    try {
      return file === undefined ? undefined : await readFile(file);
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException;
      throw new StartError(`the file ${file} for etcd cannot be read (${code})`, { cause: error });
    }
  };
  const [ca, cert, key] = await Promise.all([read(caFile), read(certFile), read(keyFile)]);
  return { ca, cert, key };
}
