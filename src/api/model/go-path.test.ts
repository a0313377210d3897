/** Proves that values of the wrong type are refused in Go's words, with the structs that no document shows. */
import { expect, test } from 'vitest';
import { decodeObject } from './decode.ts';
import { modelOf } from './model.ts';

const inPod = (spec: object) => ({ spec });
const inContainer = (fields: object) => inPod({ containers: [{ name: 'hull' }, fields] });
const inVolume = (source: object) => inPod({ volumes: [source] });

test.each([
  ['Pod', 'core-v1', inVolume({ nfs: 5 }), 'Volume.spec.volumes.VolumeSource.nfs of type v1.NFSVolumeSource'],
  ['Pod', 'core-v1', inVolume({ name: 5 }), 'Volume.spec.volumes.name of type string'],
  [
    'Pod',
    'core-v1',
    inVolume({ configMap: { name: 5 } }),
    'ConfigMapVolumeSource.spec.volumes.VolumeSource.configMap.LocalObjectReference.name of type string',
  ],
  [
    'Pod',
    'core-v1',
    inContainer({ startupProbe: { grpc: { port: 'x' } } }),
    'GRPCAction.spec.containers.startupProbe.ProbeHandler.grpc.port of type int32',
  ],
  [
    'Pod',
    'core-v1',
    inPod({ ephemeralContainers: [{ resources: { requests: 5 } }] }),
    'ResourceRequirements.spec.ephemeralContainers.EphemeralContainerCommon.resources.requests of type v1.ResourceList',
  ],
  [
    'PersistentVolume',
    'core-v1',
    { spec: { local: { path: 5 } } },
    'LocalVolumeSource.spec.PersistentVolumeSource.local.path of type string',
  ],
  [
    'ValidatingAdmissionPolicy',
    'admissionregistration-v1',
    { spec: { matchConstraints: { resourceRules: [{ scope: 5 }] } } },
    'NamedRuleWithOperations.spec.matchConstraints.resourceRules.RuleWithOperations.Rule.scope of type v1.ScopeType',
  ],
  [
    'ValidatingAdmissionPolicy',
    'admissionregistration-v1',
    { spec: { matchConstraints: { resourceRules: [{ operations: 5 }] } } },
    'NamedRuleWithOperations.spec.matchConstraints.resourceRules.RuleWithOperations.operations of type []v1.OperationType',
  ],
  [
    'Ingress',
    'networking-v1-ingress',
    { spec: { rules: [{ http: 5 }] } },
    'IngressRule.spec.rules.IngressRuleValue.http of type v1.HTTPIngressRuleValue',
  ],
  [
    'DeviceClass',
    'resource-v1',
    { spec: { config: [{ opaque: { driver: 5 } }] } },
    'OpaqueDeviceConfiguration.spec.config.DeviceConfiguration.opaque.driver of type string',
  ],
])('%s of %s: %j', (kind, table, value, words) => {
  const text = JSON.stringify(value).includes('"x"') ? 'string' : 'number';
  const decode = () => decodeObject(modelOf(kind, table), value);
  expect(decode).toThrow(`json: cannot unmarshal ${text} into Go struct field ${words}`);
});

test('bytes may be a list of numbers', () => {
  const decode = (value: unknown) => decodeObject(modelOf('Secret'), { data: { key: value } });
  const words = (shown: string) => `cannot unmarshal ${shown} into Go struct field Secret.data`;
  expect(decode([65, 66, null])).toMatchObject({ data: { key: 'QUIA' } });
  expect(() => decode([65, 300])).toThrow(`${words('number 300')} of type uint8`);
  expect(() => decode(['x'])).toThrow(`${words('string')} of type uint8`);
  expect(() => decode(5)).toThrow(words('number'));
});

test('fields that nobody knows are named as in the document', () => {
  const unknown: string[] = [];
  decodeObject(modelOf('Pod'), inVolume({ hostPath: { mast: 5 } }), unknown);
  expect(unknown).toEqual(['spec.volumes[0].hostPath.mast']);
});
