/** The options of the store `etcd`: their check, and the files they name. */
import { readFile } from 'node:fs/promises';
import type { ConnectionTls } from '../../grpc/connection.ts';
import { StartError } from '../shared/start-error.ts';
import { defaultOf } from './option.ts';
import { type EtcdOptions, etcdPrefix } from './store.ts';

export function checkedEtcd(options: EtcdOptions | undefined): {
  servers: readonly string[];
  prefix: string;
} {
  const { servers = [], prefix = defaultOf(etcdPrefix), certFile, keyFile } = options ?? {};
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
