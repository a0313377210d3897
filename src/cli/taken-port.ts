/** What a person can do about a start that failed because a port is taken: who has it, and which option takes another. */
import { StartError, type StartOptions } from '../cluster/index.ts';
import { allRecords } from '../cluster/named/cluster-record.ts';
import { runningProcess } from '../cluster/named/cluster-state.ts';

type Ports = Pick<StartOptions, 'port' | 'secure' | 'ingress' | 'node'>;

/** Options with the ports that they name. */
function flaggedPorts({ port, secure, ingress, node }: Ports): [string, unknown][] {
  return [
    ['port', port ?? 8080],
    ['secure-port', typeof secure === 'object' ? secure.port : undefined],
    ['ingress-port', ingress?.port],
    ['ingress-tls-port', ingress?.tlsPort],
    ['kubelet-port', typeof node === 'object' ? node.kubeletPort : undefined],
  ];
}

/** The running cluster of this user that listens there. */
const clusterAt = (port: number): string | undefined =>
  allRecords().find(
    (record) =>
      [record.url, record.secureUrl].some((url) => url !== undefined && new URL(url).port === String(port)) &&
      runningProcess(record) !== undefined,
  )?.name;

/** The error with what can be done, when it is about a port of these options; any other unchanged. */
export function withPortAdvice(error: unknown, command: 'up' | 'serve' | 'node', options: Ports): unknown {
  const { message, cause } = error as Error;
  const { code, port } = (cause ?? {}) as { code?: string; port?: number };
  if (!(error instanceof StartError) || code !== 'EADDRINUSE' || port === undefined) return error;
  const flag = flaggedPorts(options).find(([, one]) => one === port)?.[0];
  const name = clusterAt(port);
  const who = name === undefined ? message : message.replace('another process', `the cluster ${name}`);
  return new StartError(flag === undefined ? who : `${who}; wherry ${command} --${flag} 0 takes a free one`, {
    cause,
  });
}
