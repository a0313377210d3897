/** In which order clients find groups and versions: the numbers of kube-apiserver for what this server serves itself. */

export interface Priority {
  readonly group: number;
  readonly version: number;
}

/** By group, in the order of discovery. */
const groups: Readonly<Record<string, number>> = {
  '': 18_000,
  apps: 17_800,
  'events.k8s.io': 17_750,
  'authentication.k8s.io': 17_700,
  'authorization.k8s.io': 17_600,
  autoscaling: 17_500,
  batch: 17_400,
  'certificates.k8s.io': 17_300,
  'networking.k8s.io': 17_200,
  policy: 17_100,
  'rbac.authorization.k8s.io': 17_000,
  'storage.k8s.io': 16_800,
  'admissionregistration.k8s.io': 16_700,
  'apiextensions.k8s.io': 16_700,
  'apiregistration.k8s.io': 16_700,
  'scheduling.k8s.io': 16_600,
  'coordination.k8s.io': 16_500,
  'node.k8s.io': 16_300,
  'discovery.k8s.io': 16_200,
  'resource.k8s.io': 16_200,
  'flowcontrol.apiserver.k8s.io': 16_100,
  'metrics.k8s.io': 100,
  // Last, because clients take a kind from the first group that has it, and its kinds are also elsewhere.
  extensions: 1,
};

/** Versions that do not have the usual number. */
const versions: Readonly<Record<string, number>> = {
  v1: 1,
  'autoscaling/v2': 30,
  'batch/v1beta1': 9,
  'policy/v1beta1': 9,
  'flowcontrol.apiserver.k8s.io/v1': 21,
  'metrics.k8s.io/v1beta1': 100,
  'extensions/v1beta1': 1,
};

const usualVersion = 15;
const customPriority: Priority = { group: 1_000, version: 100 };

/** Of a version that this server serves. */
export function localPriority(apiVersion: string): Priority {
  const slash = apiVersion.indexOf('/');
  const group = groups[apiVersion.slice(0, Math.max(slash, 0))];
  if (group === undefined) return customPriority;
  return { group, version: versions[apiVersion] ?? usualVersion };
}
