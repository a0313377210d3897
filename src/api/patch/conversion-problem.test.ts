// Proves what is said about objects that do not fit their model: the words of Kubernetes' converter.
import { expect, test } from 'vitest';
import { modelOf } from '../model/model.ts';
import { conversionProblem } from './conversion-problem.ts';

const digits = "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'";

test.each<[model: string, value: Record<string, unknown>, problem: string | undefined]>([
  ['Pod', { metadata: { name: 'x' }, spec: { priority: 1, hostNetwork: true } }, undefined],
  ['Pod', { spec: null, status: { podIPs: null } }, undefined],
  ['Pod', { spec: 'x' }, 'cannot restore struct from: string'],
  ['Pod', { spec: 1 }, 'cannot restore struct from: int64'],
  ['Pod', { spec: 1.5 }, 'cannot restore struct from: float64'],
  ['Pod', { spec: [] }, 'cannot restore struct from: slice'],
  ['Pod', { metadata: { labels: 'x' } }, 'cannot restore map from string'],
  ['Pod', { metadata: { labels: { a: 1 } } }, 'cannot convert int64 to string'],
  ['Pod', { metadata: { labels: { a: true } } }, 'unrecognized type: string'],
  ['Pod', { metadata: { labels: { a: 1.5 } } }, 'unrecognized type: string'],
  ['Pod', { metadata: { labels: { a: {} } } }, 'unrecognized type: string'],
  ['Pod', { metadata: { labels: { a: [] } } }, 'unrecognized type: string'],
  ['Pod', { metadata: { finalizers: 'x' } }, 'cannot restore slice from string'],
  ['Pod', { metadata: { finalizers: {} } }, 'cannot restore slice from map'],
  ['Pod', { metadata: { finalizers: [1] } }, 'cannot convert int64 to string'],
  ['Pod', { metadata: { uid: 1 } }, 'cannot convert int64 to types.UID'],
  ['Pod', { metadata: { generation: '1' } }, 'unrecognized type: int64'],
  [
    'Pod',
    { metadata: { creationTimestamp: 1 } },
    'json: cannot unmarshal number into Go value of type string',
  ],
  [
    'Pod',
    { metadata: { creationTimestamp: {} } },
    'json: cannot unmarshal object into Go value of type string',
  ],
  ['Pod', { spec: { priority: 'x' } }, 'unrecognized type: int32'],
  ['Pod', { spec: { priority: true } }, 'unrecognized type: int32'],
  ['Pod', { spec: { priority: [] } }, 'unrecognized type: int32'],
  ['Pod', { spec: { priority: {} } }, 'unrecognized type: int32'],
  ['Pod', { spec: { priority: 1.5 } }, 'cannot convert float64 to int32'],
  ['Pod', { spec: { terminationGracePeriodSeconds: 1.5 } }, 'cannot convert float64 to int64'],
  ['Pod', { spec: { hostNetwork: 'true' } }, 'unrecognized type: bool'],
  ['Pod', { spec: { hostNetwork: 1 } }, 'unrecognized type: bool'],
  ['Pod', { spec: { restartPolicy: 1 } }, 'cannot convert int64 to v1.RestartPolicy'],
  ['Pod', { spec: { containers: [{ image: {} }] } }, 'unrecognized type: string'],
  ['Pod', { spec: { containers: [{ imagePullPolicy: 1 }] } }, 'cannot convert int64 to v1.PullPolicy'],
  ['Pod', { spec: { containers: ['x'] } }, 'cannot restore struct from: string'],
  ['Pod', { spec: { containers: [null] } }, undefined],
  ['Pod', { spec: { containers: [{ resources: { limits: { cpu: 'x' } } }] } }, digits],
  ['Pod', { spec: { containers: [{ resources: { limits: { cpu: {} } } }] } }, digits],
  ['Pod', { spec: { containers: [{ resources: { limits: { cpu: null } } }] } }, undefined],
  [
    'Service',
    { spec: { ports: [{ targetPort: true }] } },
    'json: cannot unmarshal bool into Go value of type int32',
  ],
  ['Service', { spec: { type: 1 } }, 'cannot convert int64 to v1.ServiceType'],
  ['Service', { spec: { ports: [{ port: '80' }] } }, 'unrecognized type: int32'],
  ['Secret', { data: { a: '=' } }, 'error decoding from json: illegal base64 data at input byte 0'],
  ['Secret', { data: { a: 1 } }, 'cannot restore slice from int64'],
  // The first one counts, in the order of the fields.
  ['Pod', { spec: { priority: 'x', containers: 'x' } }, 'cannot restore slice from string'],
])('%s %j', (model, value, problem) => {
  expect(conversionProblem(modelOf(model), value)).toBe(problem);
});
