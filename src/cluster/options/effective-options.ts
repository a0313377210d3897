/** What a cluster is run with, defaults included, as its log tells it. */
import path from 'node:path';
import { defaultHistory } from '../../registry/view/history.ts';
import type { LimitKeeper } from '../../server/http/limits.ts';
import { defaultServiceRange } from '../node/node.ts';
import { isShared, storeKind } from '../store/store-choice.ts';
import type { StartOptions } from './start-options.ts';

export const defaultNodePortRange = '30000-32767';

export function effectiveOptions(
  options: StartOptions,
  url: string,
  controllers: readonly { readonly name: string }[],
  { limits }: LimitKeeper,
): Readonly<Record<string, unknown>> {
  const {
    dataDir,
    history,
    leaderElection = isShared(options),
    simulatedNodes = 0,
    ingress,
    auditLog,
  } = options;
  return {
    url,
    store: storeKind(options),
    etcd: options.etcd,
    dataDir: dataDir === undefined ? undefined : path.resolve(dataDir),
    history: { ...defaultHistory, ...history },
    serviceClusterIPRange: options.serviceClusterIPRange ?? defaultServiceRange,
    serviceNodePortRange: options.serviceNodePortRange ?? defaultNodePortRange,
    controllers: controllers.map(({ name }) => name).join(','),
    leaderElection,
    node: Boolean(options.node),
    simulatedNodes,
    ingress,
    auditLog,
    limits,
  };
}
