/** The effective options of a cluster, defaults included, for its log. */
import path from 'node:path';
import { defaultHistory } from '../registry/view/history.ts';
import type { LimitKeeper } from '../server/http/limits.ts';
import { isMachine } from './options/node-groups.ts';
import { defaultOf } from './options/option.ts';
import { servingOptions } from './options/serving.ts';
import type { StartOptions } from './options/start-options.ts';
import { isShared, storeKind } from './store/store-choice.ts';

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
    nodes = [],
    ingress,
    auditLog,
  } = options;
  return {
    url,
    store: storeKind(options),
    etcd: options.etcd,
    dataDir: dataDir === undefined ? undefined : path.resolve(dataDir),
    history: { ...defaultHistory, ...history },
    serviceClusterIPRange: options.serviceClusterIPRange ?? defaultOf(servingOptions.serviceClusterIPRange),
    serviceNodePortRange: options.serviceNodePortRange ?? defaultOf(servingOptions.serviceNodePortRange),
    controllers: controllers.map(({ name }) => name).join(','),
    leaderElection,
    node: Boolean(options.node) || nodes.some(isMachine),
    simulatedNodes: nodes.reduce((sum, { simulated = 0 }) => sum + simulated, simulatedNodes),
    ingress,
    auditLog,
    limits,
  };
}
