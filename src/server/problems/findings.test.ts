/** Proves what is found about an object for every failure that controllers write into objects. */
import { X509Certificate } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { makeAuthority } from '../../pki/authority.ts';
import { timelessCertificate } from '../../pki/costly-key.fixture.ts';
import { secretFindings } from './certificate-findings.ts';
import {
  apiServiceFindings,
  attachmentFindings,
  claimFindings,
  customFindings,
  definitionFindings,
  namespaceFindings,
  nodeFindings,
  quotaFindings,
  signingFindings,
  volumeFindings,
} from './cluster-findings.ts';
import type { Examine } from './finding.ts';
import { webhookFindings } from './webhook-findings.ts';
import {
  autoscalerFindings,
  budgetFindings,
  cronJobFindings,
  daemonSetFindings,
  deploymentFindings,
  jobFindings,
  replicaSetFindings,
  serviceFindings,
  statefulSetFindings,
} from './workload-findings.ts';

const time = '2026-01-01T00:00:00Z';
const timeMs = Date.parse(time);
const metadata = { name: 'x', namespace: 'shop', uid: 'u', creationTimestamp: time };
const condition = (type: string, status: string, reason?: string, message?: string) => ({
  type,
  status,
  reason,
  message,
  lastTransitionTime: time,
});
const texts = (examine: Examine, object: object) => examine({ metadata, ...object }).map(({ text }) => text);
const severities = (examine: Examine, object: object) =>
  examine({ metadata, ...object }).map(({ severity }) => severity);

describe('other kinds', () => {
  it.each<[string, Examine, object, string[]]>([
    [
      'a rollout that was given up',
      deploymentFindings,
      {
        spec: { replicas: 3 },
        status: {
          readyReplicas: 1,
          conditions: [condition('Progressing', 'False', 'ProgressDeadlineExceeded', 'has timed out')],
        },
      },
      ['the rollout was given up with 1 of 3 pods ready: has timed out'],
    ],
    [
      'a replica set that is refused',
      deploymentFindings,
      { status: { conditions: [condition('Progressing', 'False', 'ReplicaSetCreateError', 'no quota')] } },
      ['its replica set cannot be created: no quota'],
    ],
    [
      'a job whose pods are refused',
      jobFindings,
      { spec: { parallelism: 2 }, status: { startTime: time } },
      ['0 of 2 pods exist'],
    ],
    [
      'a job that is suspended',
      jobFindings,
      { spec: { suspend: true, parallelism: 2 }, status: { startTime: time } },
      [],
    ],
    [
      'pods that are refused',
      deploymentFindings,
      { status: { conditions: [condition('ReplicaFailure', 'True', 'FailedCreate', 'exceeded quota')] } },
      ['pods cannot be created: exceeded quota'],
    ],
    [
      'a deployment that is well',
      deploymentFindings,
      { status: { conditions: [condition('Progressing', 'True'), condition('Available', 'True')] } },
      [],
    ],
    [
      'a replica set',
      replicaSetFindings,
      { status: { conditions: [condition('ReplicaFailure', 'True', 'FailedCreate', 'forbidden')] } },
      ['pods cannot be created: forbidden'],
    ],
    [
      'a stateful set',
      statefulSetFindings,
      { spec: { replicas: 3 }, status: { replicas: 1 } },
      ['1 of 3 pods exist'],
    ],
    [
      'a stateful set that is whole',
      statefulSetFindings,
      { spec: { replicas: 3 }, status: { replicas: 3 } },
      [],
    ],
    [
      'a daemon set',
      daemonSetFindings,
      { status: { desiredNumberScheduled: 2, currentNumberScheduled: 1 } },
      ['1 of 2 pods exist'],
    ],
    [
      'a job',
      jobFindings,
      {
        status: {
          conditions: [
            condition(
              'Failed',
              'True',
              'BackoffLimitExceeded',
              'Job has reached the specified backoff limit',
            ),
          ],
        },
      },
      ['the job has failed (BackoffLimitExceeded): Job has reached the specified backoff limit'],
    ],
    [
      'a job that tries again',
      jobFindings,
      { spec: { backoffLimit: 4 }, status: { failed: 2 } },
      ['2 pods have failed, 4 may'],
    ],
    [
      'a job that made it',
      jobFindings,
      { status: { failed: 2, conditions: [condition('Complete', 'True')] } },
      [],
    ],
    [
      'an autoscaler',
      autoscalerFindings,
      {
        status: {
          conditions: [
            condition('AbleToScale', 'True'),
            condition('ScalingActive', 'False', 'FailedGetResourceMetric', 'no metrics'),
          ],
        },
      },
      ['cannot scale: no metrics'],
    ],
    [
      'an autoscaler that is off',
      autoscalerFindings,
      { status: { conditions: [condition('ScalingActive', 'False', 'ScalingDisabled')] } },
      [],
    ],
    [
      'a budget',
      budgetFindings,
      { status: { conditions: [condition('DisruptionAllowed', 'False', 'SyncFailed', 'no scale')] } },
      ['the budget cannot be worked out: no scale'],
    ],
    [
      'a budget that is used up',
      budgetFindings,
      { status: { conditions: [condition('DisruptionAllowed', 'False', 'InsufficientPods')] } },
      [],
    ],
    [
      'a node',
      nodeFindings,
      {
        status: {
          conditions: [
            condition('Ready', 'False', 'KubeletNotReady', 'no network'),
            condition('MemoryPressure', 'False'),
          ],
        },
      },
      ['the node is not ready: no network'],
    ],
    [
      'a silent node',
      nodeFindings,
      {
        status: {
          conditions: [
            condition('Ready', 'Unknown', 'NodeStatusUnknown', 'Kubelet stopped posting node status.'),
          ],
        },
      },
      ['the node does not report: Kubelet stopped posting node status.'],
    ],
    [
      'a full node',
      nodeFindings,
      {
        status: {
          conditions: [
            condition('Ready', 'True'),
            condition('DiskPressure', 'True', 'KubeletHasDiskPressure', 'disk is full'),
          ],
        },
      },
      ['DiskPressure: disk is full'],
    ],
    ['a claim', claimFindings, { status: { phase: 'Pending' } }, ['the claim has no volume']],
    [
      'a lost claim',
      claimFindings,
      { spec: { volumeName: 'v' }, status: { phase: 'Lost' } },
      ['the volume v of the claim is lost'],
    ],
    [
      'a claim of another size',
      claimFindings,
      { status: { phase: 'Bound', conditions: [condition('ControllerResizeError', 'True', '', 'no room')] } },
      ['the volume cannot be resized: no room'],
    ],
    ['a bound claim', claimFindings, { status: { phase: 'Bound' } }, []],
    [
      'a volume',
      volumeFindings,
      { status: { phase: 'Failed', message: 'not deleted' } },
      ['the volume has failed: not deleted'],
    ],
    [
      'an attachment',
      attachmentFindings,
      { status: { attachError: { message: 'busy', time } } },
      ['the volume cannot be attached: busy'],
    ],
    [
      'a namespace',
      namespaceFindings,
      {
        metadata: { ...metadata, deletionTimestamp: time },
        status: {
          conditions: [condition('NamespaceContentRemaining', 'True', 'x', 'pods. has 1 resource instances')],
        },
      },
      ['deletion does not end: pods. has 1 resource instances'],
    ],
    [
      'a quota',
      quotaFindings,
      {
        status: {
          hard: { pods: '10', cpu: '2', secrets: '0' },
          used: { pods: '10', cpu: '1500m', secrets: '0' },
        },
      },
      ['the quota is used up: pods 10 of 10'],
    ],
    [
      'an API',
      apiServiceFindings,
      { status: { conditions: [condition('Available', 'False', 'MissingEndpoints', 'no endpoints')] } },
      ['the API is not available: no endpoints'],
    ],
    [
      'a definition',
      definitionFindings,
      {
        status: {
          conditions: [
            condition('NamesAccepted', 'False', 'PluralConflict', 'taken'),
            condition('Established', 'False'),
          ],
        },
      },
      ['the names of the kind are taken: taken'],
    ],
    [
      'a definition that is deleted',
      definitionFindings,
      { metadata: { ...metadata, deletionTimestamp: time, finalizers: ['f'] } },
      ['deletion does not end: waits for finalizer f'],
    ],
    [
      'a signing request',
      signingFindings,
      {
        status: {
          conditions: [condition('Approved', 'True'), condition('Failed', 'True', 'x', 'bad usages')],
        },
      },
      ['the certificate was not signed: bad usages'],
    ],
    [
      'a signer that is silent',
      signingFindings,
      { spec: { signerName: 'a/b' }, status: { conditions: [condition('Approved', 'True')] } },
      ['approved, but the signer a/b has issued no certificate'],
    ],
    [
      'an own kind',
      customFindings,
      { status: { conditions: [condition('Ready', 'False', 'NoBackend', 'no backend')] } },
      ['not ready: no backend'],
    ],
    [
      'an own kind that is degraded',
      customFindings,
      { status: { conditions: [condition('Ready', 'True'), condition('Degraded', 'True', 'Slow')] } },
      ['Degraded: Slow'],
    ],
    ['an own kind that is odd', customFindings, { status: { conditions: 'none' } }, []],
  ])('%s', (_, examine, object, expected) => {
    expect(texts(examine, object)).toEqual(expected);
  });

  it('are told by warnings alone where the object says nothing', () => {
    const scheduled = '2026-01-02T00:00:00Z';
    const found = [
      ...cronJobFindings({ metadata, status: { lastScheduleTime: scheduled } }),
      ...cronJobFindings({ metadata }),
      ...serviceFindings({ metadata }),
      ...daemonSetFindings({ metadata, status: { desiredNumberScheduled: 0 } }),
    ];
    expect(found.map(({ isOnlyInEvents, since }) => [isOnlyInEvents, since])).toEqual([
      [true, scheduled],
      [true, time],
      [true, time],
      [true, time],
    ]);
  });

  it('certificates that end soon, and those that have ended', () => {
    const { cert } = makeAuthority('x', timeMs);
    const data = { 'tls.crt': Buffer.from(cert).toString('base64') };
    const endMs = Date.parse(new X509Certificate(cert).validTo);
    const at = (ms: number) => new Date(ms).toISOString().replace('.000', '');
    const found = secretFindings({ metadata, type: 'kubernetes.io/tls', data });
    expect(found.map(({ text, since }) => [text, since])).toEqual([
      [`the certificate ends on ${at(endMs)}`, at(endMs - 14 * 24 * 60 * 60_000)],
      [`the certificate has ended on ${at(endMs)}`, at(endMs + 1_000)],
    ]);
    expect(found[0]!.untilMs).toBe(endMs);
    expect(secretFindings({ metadata, type: 'kubernetes.io/tls', data: { 'tls.crt': 'x' } })).toEqual([]);
    // Its end is the thirteenth month: everybody's list of problems failed by it.
    const timeless = { 'tls.crt': Buffer.from(timelessCertificate).toString('base64') };
    expect(secretFindings({ metadata, type: 'kubernetes.io/tls', data: timeless })).toEqual([]);
    expect(secretFindings({ metadata, type: 'Opaque', data })).toEqual([]);
  });

  it('are errors where something does not work, and warnings where it may come right', () => {
    expect(severities(claimFindings, { status: { phase: 'Pending' } })).toEqual(['warning']);
    expect(severities(claimFindings, { status: { phase: 'Lost' } })).toEqual(['error']);
  });

  it('webhooks whose service answers nobody', () => {
    const service = { namespace: 'shop', name: 'hook' };
    const webhook = { metadata, webhooks: [{ name: 'w', clientConfig: { service }, failurePolicy: 'Fail' }] };
    const slice = (ready: boolean) => ({
      metadata: { labels: { 'kubernetes.io/service-name': 'hook' } },
      endpoints: [{ conditions: { ready } }],
    });
    const found = (isThere: boolean, slices: object[]) =>
      webhookFindings(webhook, { exists: () => isThere, slices: () => slices }).map(({ text }) => text);
    expect(found(false, [])).toEqual([
      'webhook w is not reached, requests that it looks at are refused: there is no service shop/hook',
    ]);
    expect(found(true, [slice(false)])).toEqual([
      'webhook w is not reached, requests that it looks at are refused: the service shop/hook has no ready endpoint',
    ]);
    expect(found(true, [slice(true)])).toEqual([]);
  });
});
