/** Proves that every kind that makes pods warns of its template alike: when it is made, and when the template changes. */
import { describe, expect, it } from 'vitest';
import { type Json, mergePatch, useCluster } from '../support/http.ts';

const client = useCluster({ like: 'kubernetes', controllers: false });
const labels = { app: 'warned' };
const env = (...values: string[]) => values.map((value) => ({ name: 'TWICE', value }));
const template = (...values: string[]) => ({
  metadata: { labels },
  spec: {
    nodeSelector: { 'beta.kubernetes.io/os': 'linux' },
    containers: [{ name: 'c', image: 'i:1', env: env(...values) }],
  },
});
const warnings = ({ headers }: { headers: Json }): string[] =>
  [headers.warning ?? []]
    .flat()
    .join(', ')
    .match(/(?<=299 - ")(?:[^"\\]|\\.)*/g) ?? [];

describe.each([
  ['/apis/apps/v1', 'deployments'],
  ['/apis/apps/v1', 'replicasets'],
  ['/apis/apps/v1', 'daemonsets'],
  ['/apis/apps/v1', 'statefulsets'],
  ['/api/v1', 'replicationcontrollers'],
])('in %s, %s', (prefix, resource) => {
  const home = `${prefix}/namespaces/default/${resource}`;
  const selector = prefix === '/api/v1' ? labels : { matchLabels: labels };
  const at = 'spec.template.spec';

  it('warn of what is deprecated and hidden in the template', async () => {
    const expected = [
      `${at}.nodeSelector[beta.kubernetes.io/os]: deprecated since v1.14; use \\"kubernetes.io/os\\" instead`,
      `${at}.containers[0].env[1]: hides previous definition of \\"TWICE\\", which may be dropped when using apply`,
    ];
    const made = await client.post(home, {
      metadata: { name: 'warned' },
      spec: { selector, template: template('1', '2') },
    });
    expect([made.status, warnings(made)]).toEqual([201, expected]);
    // The template stays as it is.
    const labelled = await client.patch(`${home}/warned`, { metadata: { labels: { a: 'b' } } }, mergePatch);
    expect([labelled.status, warnings(labelled)]).toEqual([200, []]);
    const spec = { template: template('1', '3') };
    const changed = await client.patch(`${home}/warned`, { spec }, mergePatch);
    expect([changed.status, warnings(changed)]).toEqual([200, expected]);
  });
});
