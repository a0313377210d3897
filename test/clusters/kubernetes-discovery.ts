/** What a kube-apiserver 1.36.4 answers in discovery, as digests of the answers with sorted members. */
export const digests: Readonly<Record<string, string>> = {
  '/apis': '598acdf6353b',
  '/api/v1': '198382da8249',
  '/apis/apiregistration.k8s.io/v1': '9720fbbe597c',
  '/apis/apps/v1': 'a667eb22d7bb',
  '/apis/events.k8s.io/v1': 'ca20b2329b9b',
  '/apis/authentication.k8s.io/v1': '4d2be3788acd',
  '/apis/authorization.k8s.io/v1': '31e22500fca9',
  '/apis/autoscaling/v2': '4a89f406b26d',
  '/apis/autoscaling/v1': 'bf03913cc231',
  '/apis/batch/v1': 'c611fad773f6',
  '/apis/certificates.k8s.io/v1': '6c5197b85605',
  '/apis/networking.k8s.io/v1': 'e3bda84f2652',
  '/apis/policy/v1': '2528fd6bbd6c',
  '/apis/rbac.authorization.k8s.io/v1': '8d01ac0db912',
  '/apis/storage.k8s.io/v1': 'b5e3c88851e7',
  '/apis/admissionregistration.k8s.io/v1': '04c102accf22',
  '/apis/apiextensions.k8s.io/v1': '54d1901ec518',
  '/apis/scheduling.k8s.io/v1': '598dd491b727',
  '/apis/coordination.k8s.io/v1': '88cc7b035238',
  '/apis/node.k8s.io/v1': 'dfa918a679d5',
  '/apis/discovery.k8s.io/v1': 'ee10b4b80c6e',
  '/apis/resource.k8s.io/v1': '0dc55b4fe5c1',
  '/apis/flowcontrol.apiserver.k8s.io/v1': '8e18a2e1ba1a',
  '/api, aggregated': '82e24495865c',
  '/apis, aggregated': '779b4570aa81',
};

export function sorted(value: any): any {
  if (Array.isArray(value)) return value.map(sorted);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.keys(value)
      .sort()
      .map((name) => [name, sorted(value[name])]),
  );
}
