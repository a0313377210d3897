/**
 * The ingress of this process: a controller that is a client of the server, and dials endpoints from this
 * machine.
 */
import { isIPv6 } from 'node:net';
import { StatusError } from '../../api/errors/errors.ts';
import { userAgentOf } from '../../api/values/release.ts';
import { Client } from '../../client/client.ts';
import { ingressClasses } from '../../client/resources.ts';
import { IngressController } from '../../ingress/controller.ts';
import { ownIngressClass } from '../../ingress/served.ts';
import { isEveryAddress, machineAddress } from '../../node/machine/machine-address.ts';
import { dialTcp } from '../../streams/dial/dialing.ts';
import { isAllowedTarget } from '../../streams/dial/target-address.ts';
import type { IngressOptions } from '../options/nodes.ts';
import type { ApiAddress } from '../shared/api-address.ts';
import { Closers } from '../shared/closers.ts';

export interface RunningIngress {
  readonly description: string;
  close(): Promise<void>;
}

/** The default address: others reach the ingress only if its owner says so. */
const loopback = '127.0.0.1';

export async function startIngress(
  api: ApiAddress,
  { port, tlsPort, host = loopback }: IngressOptions,
  { now, onError }: { now: () => number; onError: (error: Error) => void },
): Promise<RunningIngress> {
  const closers = new Closers();
  const client = new Client(api.url, { userAgent: userAgentOf('wherry-ingress') }, api);
  closers.add(() => client.close());
  const machine = machineAddress();
  const address = isEveryAddress(host) ? machine : host;
  const controller = new IngressController({
    client,
    host,
    port,
    tlsPort,
    address,
    // Besides allowed addresses, the machine's own may be dialled, because pods on its network have it.
    dial: async ({ ip, port }) => {
      if (ip !== machine && !isAllowedTarget(ip)) throw new Error(`address ${ip} is not allowed`);
      return dialTcp([ip], port);
    },
    now,
    onError,
  });
  closers.add(() => controller.close());
  try {
    await ensureClass(client);
    await controller.start();
  } catch (error) {
    await closers.close().catch(onError);
    throw error;
  }
  const name = isIPv6(address) ? `[${address}]` : address;
  const secure = controller.tlsPort === undefined ? '' : ` and https://${name}:${controller.tlsPort}`;
  return {
    description: `ingress at http://${name}:${controller.port}${secure}`,
    close: () => closers.close(),
  };
}

/** Creates the class of this controller, unless a class of that name exists. */
async function ensureClass(client: Client): Promise<void> {
  try {
    await client.create(ingressClasses, undefined, ownIngressClass());
  } catch (error) {
    if (!(error instanceof StatusError && error.code === 409)) throw error;
  }
}
