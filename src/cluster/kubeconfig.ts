/** Kubeconfigs for clients of a cluster. */

/**
 * Written as JSON, which is valid YAML. `insecure-skip-tls-verify` is for clients that otherwise refuse plain
 * HTTP.
 */
export const kubeconfigFor = (url: string): string =>
  `${JSON.stringify(
    {
      apiVersion: 'v1',
      kind: 'Config',
      clusters: [{ name: 'wherry', cluster: { server: url, 'insecure-skip-tls-verify': true } }],
      users: [{ name: 'wherry', user: {} }],
      contexts: [{ name: 'wherry', context: { cluster: 'wherry', user: 'wherry' } }],
      'current-context': 'wherry',
    },
    null,
    2,
  )}\n`;
