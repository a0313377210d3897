/** The kinds that people look at most, in the order of the navigation. */

export const kindSections: readonly { readonly title: string; readonly ids: readonly string[] }[] = [
  {
    title: 'Workloads',
    ids: [
      'pods',
      'deployments.apps',
      'statefulsets.apps',
      'daemonsets.apps',
      'jobs.batch',
      'cronjobs.batch',
      'replicasets.apps',
    ],
  },
  { title: 'Network', ids: ['services', 'ingresses.networking.k8s.io', 'endpointslices.discovery.k8s.io'] },
  { title: 'Configuration', ids: ['configmaps', 'secrets'] },
  { title: 'Storage', ids: ['persistentvolumeclaims', 'persistentvolumes', 'storageclasses.storage.k8s.io'] },
  { title: 'Cluster', ids: ['nodes', 'namespaces', 'events'] },
];
export const usualKinds: ReadonlySet<string> = new Set(kindSections.flatMap(({ ids }) => ids));
