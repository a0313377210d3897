import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import { describe, expect, it } from 'vitest';
import { parseListeners, takenPorts } from './taken-ports.ts';

const table = `  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode
   0: 0100007F:1F90 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 1 1 0 100 0 0 10 0
   1: 00000000:0050 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 2 1 0 100 0 0 10 0
   2: 0100007F:1F91 0100007F:1F90 01 00000000:00000000 00:00000000 00000000     0        0 3 1 0 100 0 0 10 0
   3: 00000000000000000000000001000000:0051 00000000000000000000000000000000:0000 0A 0:0 0:0 0 0
   4: 0000000000000000FFFF00000100007F:0052 00000000000000000000000000000000:0000 0A 0:0 0:0 0 0
   5: 00000000000000000000000000000000:0053 00000000000000000000000000000000:0000 0A 0:0 0:0 0 0
 nonsense`;

describe('taken ports', () => {
  it('are read from the tables of the system', () => {
    // Established connections do not count; loopback is recognised in both address families.
    expect(parseListeners(table)).toEqual([
      { loopback: true, port: 8080 },
      { loopback: false, port: 80 },
      { loopback: true, port: 81 },
      { loopback: true, port: 82 },
      { loopback: false, port: 83 },
    ]);
  });

  it('are those a pod declares and somebody has, each protocol for itself', async () => {
    const server = createServer().listen(0, '127.0.0.1');
    await once(server, 'listening');
    const { port } = server.address() as AddressInfo;
    const socket = createSocket('udp4').bind(0, '127.0.0.1');
    await once(socket, 'listening');
    const udp = socket.address().port;
    const pod = (protocol: string, ...ports: number[]) => ({
      metadata: { name: 'p' },
      spec: {
        containers: [{ name: 'c', ports: ports.map((containerPort) => ({ containerPort, protocol })) }],
      },
    });
    expect(await takenPorts(pod('TCP', port, port))).toEqual([port]);
    expect(await takenPorts(pod('UDP', udp))).toEqual(process.platform === 'linux' ? [udp] : []);
    expect(await takenPorts(pod('SCTP', port))).toEqual([]);
    server.close();
    socket.close();
    await once(server, 'close');
    expect(await takenPorts(pod('TCP', port))).toEqual([]);
  });
});
