/**
 * The bootstrap signer: a machine that joins has nothing but a token. So the public ConfigMap
 * kube-public/cluster-info holds a signature of its kubeconfig for every signing token: with the token, the machine can verify that address
 * and authority are the cluster's.
 */
import { createHmac } from 'node:crypto';
import type { ConfigMap, Secret } from '../api/generated/types.ts';
import { semanticEqual } from '../api/text/object.ts';
import {
  type BootstrapToken,
  bootstrapTokenNamespace,
  bootstrapTokenOf,
} from '../api/values/bootstrap-token.ts';
import type { Registry } from '../registry/registry.ts';
import { clusterInfo } from '../registry/system/cluster-info.ts';
import { targetOf } from '../registry/target.ts';
import { modify } from '../registry/verbs/modify.ts';
import { Filter } from '../registry/view/filter.ts';
import { type Controller, ifUnchanged, observe, running, type SharedContext } from './shared/controller.ts';
import { WorkQueue } from './shared/work-queue.ts';
import { isBootstrapSecret } from './token-cleaner.ts';

const signaturePrefix = 'jws-kubeconfig-';
/** The only key of the queue. */
const sign = 'sign';

export const bootstrapSigner: Controller = {
  name: 'bootstrapsigner',
  housekeeping: true,
  writer: 'bootstrap-signer',
  start(context) {
    const queue: WorkQueue = new WorkQueue({
      timers: context.registry.timers,
      work: () => signClusterInfo(context, queue),
      onError: (_, error) => context.onError(error),
    });
    const observations = [
      observe(context, 'core/secrets', (entry, previous) => {
        if ((entry && isBootstrapSecret(entry)) || (previous && isBootstrapSecret(previous))) queue.add(sign);
      }),
      observe(context, 'core/configmaps', (entry) => {
        if (entry?.name === clusterInfo.name && entry.namespace === clusterInfo.namespace) queue.add(sign);
      }),
    ];
    return running(observations, [queue]);
  },
};

async function signClusterInfo(
  { registry, writing, request }: SharedContext,
  queue: WorkQueue,
): Promise<void> {
  const entry = registry.view.collection('core/configmaps').get(clusterInfo.namespace, clusterInfo.name);
  const tokens = signingTokens(registry);
  // The signature of a token is removed when the token expires.
  const ends = tokens.map(({ expiresMs }) => expiresMs ?? Number.POSITIVE_INFINITY);
  queue.addAfter(sign, Math.min(Number.POSITIVE_INFINITY, ...ends) - registry.sources.nowMs());
  if (!entry) return;
  const { data } = entry.peek() as ConfigMap;
  if (!data?.kubeconfig || semanticEqual(data, signed(data, tokens))) return;
  await ifUnchanged(
    modify(writing, request('update'), targetOf(entry), (current) => {
      const map = current.object() as ConfigMap;
      map.data = signed(map.data ?? {}, tokens);
      return map;
    }),
  );
}

function signingTokens(registry: Registry): BootstrapToken[] {
  const now = registry.sources.nowMs();
  const filter = new Filter(bootstrapTokenNamespace, undefined, undefined, undefined);
  return registry.view
    .collection('core/secrets')
    .select(filter)
    .entries.filter(isBootstrapSecret)
    .map((entry) => bootstrapTokenOf(entry.peek() as Secret))
    .filter((token): token is BootstrapToken => token?.signs === true)
    .filter(({ expiresMs }) => expiresMs === undefined || expiresMs > now);
}

/** The data with the signatures of these tokens, and no others. */
function signed(
  data: Readonly<Record<string, string>>,
  tokens: readonly BootstrapToken[],
): Record<string, string> {
  const others = Object.entries(data).filter(([key]) => !key.startsWith(signaturePrefix));
  const { kubeconfig = '' } = data;
  const signatures = tokens.map((token) => [
    signaturePrefix + token.id,
    detachedSignature(kubeconfig, token),
  ]);
  return Object.fromEntries([...others, ...signatures]);
}

/** A detached JSON Web Signature: without its content, which is stored beside it. */
function detachedSignature(content: string, { id, secret }: BootstrapToken): string {
  const header = Buffer.from(JSON.stringify({ alg: 'HS256', kid: id })).toString('base64url');
  const input = `${header}.${Buffer.from(content).toString('base64url')}`;
  return `${header}..${createHmac('sha256', secret).update(input).digest('base64url')}`;
}
