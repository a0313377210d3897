/** Proves which services are reported as answered by nobody, and which are meant to be so. */
import { expect, it } from 'vitest';
import type { Any } from './finding.ts';
import { UnansweredServices } from './unanswered-services.ts';
import { serviceFindings } from './workload-findings.ts';

const at = (second: number) => new Date(Date.UTC(2026, 0, 1, 0, 0, second)).toISOString();
const metadata = { name: 'web', namespace: 'shop', uid: 's', creationTimestamp: at(0) };
const labels = { app: 'web', tier: 'front' };

function told(
  spec: object,
  { slices = [], pods = [], workloads = [], second = 600, troubled = [] as string[] } = {} as Any,
): unknown[] {
  const object = { apiVersion: 'v1', kind: 'Service', ...metadata };
  const found = serviceFindings({ metadata, spec })
    .filter(({ selects }) => selects)
    .map((finding) => ({ object, finding }));
  const services = new UnansweredServices(found);
  for (const slice of slices) services.takeSlice(slice);
  for (const pod of pods) services.takePod('shop', pod.metadata.labels, () => pod);
  for (const workload of workloads) services.takeWorkload('shop', workload);
  return services
    .found(Date.parse(at(second)), new Set(troubled))
    .map(({ finding }) => `${finding.since.slice(17, 19)} ${finding.text}`);
}

const selector = { app: 'web' };
const pod = (ready: boolean, second: number, status = {}) => ({
  metadata: { uid: 'p', labels },
  status: {
    conditions: [{ type: 'Ready', status: ready ? 'True' : 'False', lastTransitionTime: at(second) }],
    ...status,
  },
});
const slice = (ready: boolean, second: number) => ({
  metadata: {
    namespace: 'shop',
    labels: { 'kubernetes.io/service-name': 'web' },
    managedFields: [{ time: at(second) }],
  },
  endpoints: [{ conditions: { ready } }],
});
const noPod = 'the selector app=web fits no pod';
const noneReady = 'the selector fits no pod that is ready';

it.each<[string, object, object, string[]]>([
  ['that fits no pod', { selector }, {}, [`00 ${noPod}`]],
  ['whose last pod has gone', { selector }, { slices: [slice(false, 30)] }, [`30 ${noPod}`]],
  ['that has only begun', { selector }, { second: 59 }, []],
  ['with pods of which none is ready', { selector }, { pods: [pod(false, 20)] }, [`20 ${noneReady}`]],
  ['with a pod that is not ready yet', { selector }, { pods: [pod(false, 20)], second: 70 }, []],
  ['with a ready pod', { selector }, { pods: [pod(false, 20), pod(true, 30)] }, []],
  ['with a ready endpoint', { selector }, { slices: [slice(false, 1), slice(true, 1)] }, []],
  [
    'with a pod that has ended',
    { selector },
    { pods: [pod(false, 1, { phase: 'Failed' })] },
    [`00 ${noPod}`],
  ],
  ['whose pod is known not to be well', { selector }, { pods: [pod(false, 20)], troubled: ['p'] }, []],
  [
    'whose pods were scaled to zero',
    { selector },
    { workloads: [{ spec: { template: { metadata: { labels } } } }] },
    [],
  ],
  [
    'beside another workload',
    { selector },
    { workloads: [{ spec: { template: { metadata: { labels: { app: 'wep' } } } } }] },
    [`00 ${noPod}`],
  ],
  ['without a selector', {}, {}, []],
  ['for a name elsewhere', { type: 'ExternalName', selector }, {}, []],
])('a service %s', (_, spec, given, expected) => {
  expect(told(spec, given)).toEqual(expected);
});
