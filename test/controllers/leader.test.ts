/** Controllers with leader election still run, and their lease names the holder. */
import { expect, it } from 'vitest';
import { useCluster } from '../support/http.ts';
import { until } from './objects.ts';

const api = useCluster({ leaderElection: true });

it('a server alone is elected at once', async () => {
  const lease = await until(
    api,
    '/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/wherry-controllers',
    (one) => Boolean(one.spec.holderIdentity),
  );
  expect(lease.spec).toMatchObject({ leaseDurationSeconds: 15, leaseTransitions: 0 });
  await api.post('/api/v1/namespaces', { metadata: { name: 'mine' } });
  await until(api, '/api/v1/namespaces/mine/serviceaccounts/default', () => true);
});
