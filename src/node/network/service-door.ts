/** Opens listening sockets for services, in the machine's network namespace or in the one for services. */

import { createSocket, type Socket as DatagramSocket } from 'node:dgram';
import { createServer, isIPv6, type Server } from 'node:net';
import { platform } from '../../platform.ts';
import type { NodeBridge } from './node-bridge.ts';
import type { Subnet } from './subnet.ts';

export interface ServiceDoor {
  listen(ip: string, port: number): Promise<Server>;
  bind(ip: string, port: number): Promise<DatagramSocket>;
}

export const hostDoor: ServiceDoor = {
  listen: (host, port) =>
    new Promise((resolve, reject) => {
      const server = createServer();
      server.once('error', reject).listen({ host, port, exclusive: true }, () => {
        server.off('error', reject);
        resolve(server);
      });
    }),
  bind: (address, port) =>
    new Promise((resolve, reject) => {
      const socket = createSocket(isIPv6(address) ? 'udp6' : 'udp4');
      const failed = (error: Error): void => {
        socket.close();
        reject(error);
      };
      socket.once('error', failed).bind({ address, port, exclusive: true }, () => {
        socket.off('error', failed);
        resolve(socket);
      });
    }),
};

/** The door for cluster IPs, and a sentence about which clients reach them. */
export interface ClusterDoor {
  /** The door; undefined when cluster IPs cannot be served here. */
  readonly door: ServiceDoor | undefined;
  readonly words: string;
}

export function clusterDoor(range: Subnet, bridge: NodeBridge | undefined): ClusterDoor {
  if (range.isLoopback && platform.isLinux) {
    const pods = bridge ? ', but not in pods with a network of their own' : '';
    return { door: hostDoor, words: `cluster IPs (${range.text}) answer on this machine${pods}` };
  }
  if (bridge && !range.isLoopback) {
    const problem = bridge.hostRouteProblem;
    const where = problem ? `in pods only: ${problem}` : 'on this machine and in its pods';
    return { door: bridge.sockets, words: `cluster IPs (${range.text}) answer ${where}` };
  }
  const hint =
    platform.isLinux && !bridge ? '; those of a range such as 127.9.0.0/24 would without them' : '';
  const why = bridge ? '' : `, which takes the rights of root on Linux${hint}`;
  return {
    door: undefined,
    words: `cluster IPs (${range.text}) do not answer${why}; node ports, variables and the API's proxy work`,
  };
}
