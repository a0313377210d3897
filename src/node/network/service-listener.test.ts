/** Proves that a listener follows its targets, however quickly they change. */
import { EventEmitter } from 'node:events';
import type { Server } from 'node:net';
import { expect, it } from 'vitest';
import { ServiceListener } from './service-listener.ts';
import type { ServiceEntry } from './service-ports.ts';

const target = (port: number) => ({ ip: '10.1.1.1', port, shared: false });
const entry = (...ports: number[]): ServiceEntry => ({
  key: 'k',
  subject: 'service default/web',
  entrance: 'cluster',
  protocol: 'TCP',
  ip: '10.2.2.2',
  port: 80,
  affinityKey: 'a',
  affinityMs: undefined,
  targets: ports.map(target),
  isApi: false,
});

it('stops listening when the last of several updates in one tick takes all targets away', async () => {
  const open = new Set<Server>();
  const listen = async (): Promise<Server> => {
    const server = Object.assign(new EventEmitter(), {
      close: () => open.delete(server as unknown as Server),
    }) as unknown as Server;
    open.add(server);
    return server;
  };
  const listener = new ServiceListener(entry(1, 2), {
    addresses: () => ['10.2.2.2'],
    door: () => ({ listen, bind: () => Promise.reject(new Error('no datagrams here')) }),
    serve: () => undefined,
    choose: () => undefined,
    onError: (error) => {
      throw error;
    },
  });
  await listener.settled();
  expect(open.size).toBe(1);
  listener.update(entry(1));
  listener.update(entry());
  await listener.settled();
  expect(open.size).toBe(0);
  listener.update(entry(3));
  await listener.settled();
  expect(open.size).toBe(1);
  await listener.close();
  expect(open.size).toBe(0);
});
