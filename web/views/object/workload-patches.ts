/** Patches of workloads, of one as of many. */

export const mergePatch = 'application/merge-patch+json';

/** The kinds whose pods a controller replaces when their template changes. */
export const rolling: ReadonlySet<string> = new Set([
  'deployments.apps',
  'statefulsets.apps',
  'daemonsets.apps',
]);

/** What `kubectl rollout restart` sends. */
export const restartPatch = (): object => ({
  spec: {
    template: {
      metadata: { annotations: { 'kubectl.kubernetes.io/restartedAt': new Date().toISOString() } },
    },
  },
});
