/** Proves that bodies full of errors get an answer of bounded size, and do not crash validation. */
import { afterAll, expect, test } from 'vitest';
import type { Kind } from '../kind/kind.ts';
import { autoscalingV2 } from './autoscaling/autoscaling-v2.ts';
import { batchJob } from './batch/batch-job.ts';
import { configMap } from './core/config-map.ts';
import { endpoints } from './core/endpoints.ts';
import { limitRange } from './core/limit-range.ts';
import { namespace } from './core/namespace.ts';
import { node } from './core/node.ts';
import { persistentVolume } from './core/persistent-volume.ts';
import { persistentVolumeClaim } from './core/persistent-volume-claim.ts';
import { resourceQuota } from './core/resource-quota.ts';
import { secret } from './core/secret.ts';
import { ingress } from './extensions/ingress.ts';
import { createErrors, statusErrors } from './kind.fixture.ts';

/** More than the maximum number of call arguments. */
const count = 125_000;
const errorsMax = 1000;

const repeat = (item: unknown): unknown[] => Array.from({ length: count }, () => item);

/** By their values: reading a body copies them, so kinds share them. */
const maps = new Map<string, Record<string, string>>();
function map(value: string): Record<string, string> {
  const known = maps.get(value);
  if (known) return known;
  const made: Record<string, string> = {};
  for (let i = 0; i < count; i++) made[`!${i}`] = value;
  maps.set(value, made);
  return made;
}
afterAll(() => maps.clear());

test.each<[string, Kind, object]>([
  ['config map', configMap, { data: map('') }],
  ['secret', secret, { data: map('') }],
  ['endpoints', endpoints, { subsets: [{ addresses: repeat({}) }] }],
  ['limit range', limitRange, { spec: { limits: repeat({}) } }],
  ['limit range names', limitRange, { spec: { limits: [{ type: 'Pod', max: map('1') }] } }],
  ['quota', resourceQuota, { spec: { hard: map('1') } }],
  ['quota scopes', resourceQuota, { spec: { scopeSelector: { matchExpressions: repeat({}) } } }],
  ['namespace', namespace, { spec: { finalizers: repeat('x') } }],
  ['node', node, { spec: { taints: repeat({}) } }],
  ['node resources', node, { status: { capacity: map('-1') } }],
  ['volume', persistentVolume, { spec: { accessModes: repeat('x') } }],
  ['volume capacity', persistentVolume, { spec: { capacity: map('0') } }],
  ['claim', persistentVolumeClaim, { spec: { accessModes: repeat('x') } }],
  ['ingress', ingress, { spec: { rules: [{ http: { paths: repeat({}) } }] } }],
  ['job policy', batchJob, { spec: { podFailurePolicy: { rules: repeat({}) } } }],
  [
    'job exit codes',
    batchJob,
    { spec: { podFailurePolicy: { rules: [{ onExitCodes: { values: repeat(1) } }] } } },
  ],
  ['autoscaler metrics', autoscalingV2, { spec: { metrics: repeat({}) } }],
  ['autoscaler policies', autoscalingV2, { spec: { behavior: { scaleUp: { policies: repeat({}) } } } }],
])('%s', (_, kind, body) => {
  expect(createErrors(kind, body)).toHaveLength(errorsMax);
});

test.each<[string, Kind, object]>([
  ['quota', resourceQuota, { status: { used: map('1') } }],
  ['node', node, { status: { addresses: repeat({}) } }],
  ['claim', persistentVolumeClaim, { status: { capacity: map('-1') } }],
  ['ingress', ingress, { status: { loadBalancer: { ingress: repeat({ ip: 'x' }) } } }],
  ['job', batchJob, { status: { uncountedTerminatedPods: { failed: repeat('x') } } }],
])('status of %s', (_, kind, body) => {
  expect(statusErrors(kind, body)).toHaveLength(errorsMax);
});
