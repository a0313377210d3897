/** Proves answers that manifests of public projects need: defaults that they rely on, and refusals in Kubernetes' words and order. */
import { describe, expect, it } from 'vitest';
import type { Pod } from '../generated/types.ts';
import type { Kind } from '../kind/kind.ts';
import { mutatingAdmissionPolicyBinding } from './admissionregistration/mutating-admission-policy-binding.ts';
import { validatingAdmissionPolicy } from './admissionregistration/validating-admission-policy.ts';
import { validatingWebhookConfiguration } from './admissionregistration/validating-webhook-configuration.ts';
import { customResourceDefinition } from './apiextensions/custom-resource-definition.ts';
import { batchJob } from './batch/batch-job.ts';
import { cronJob } from './batch/cron-job.ts';
import { pod } from './core/pod.ts';
import { created, createErrors, read } from './kind.fixture.ts';
import { networkingIngress } from './networking/networking-ingress.ts';
import { podDisruptionBudget } from './policy/pod-disruption-budget.ts';

const errors = (kind: Kind, body: object): string[] =>
  createErrors(kind, body).map(({ field, message }) => `${field}: ${message}`);
const containers = [{ name: 'c', image: 'i' }];
const template = { spec: { restartPolicy: 'Never', containers } };

describe('jobs', () => {
  const podFailurePolicy = { rules: [{ action: 'Ignore', onPodConditions: [{ type: 'DisruptionTarget' }] }] };
  const defaulted = {
    rules: [{ action: 'Ignore', onPodConditions: [{ type: 'DisruptionTarget', status: 'True' }] }],
  };

  it('take a condition of failed pods without a status for one that is true', () => {
    const spec = { template, podFailurePolicy };
    expect(read(batchJob, { spec })).toMatchObject({ spec: { podFailurePolicy: defaulted } });
    expect(errors(batchJob, { metadata: { name: 'j' }, spec })).toEqual([]);
    expect(read(cronJob, { spec: { schedule: '* * * * *', jobTemplate: { spec } } })).toMatchObject({
      spec: { jobTemplate: { spec: { podFailurePolicy: defaulted } } },
    });
  });
});

describe('pods', () => {
  const podWith = (spec: object, annotations = {}) => ({
    metadata: { name: 'p', annotations },
    spec: { containers, ...spec },
  });

  it('take AppArmor profiles from annotations, and warn of these', () => {
    const annotation = 'container.apparmor.security.beta.kubernetes.io/c';
    const profileOf = (body: object) =>
      (created(pod, body) as Pod).spec?.containers?.[0]?.securityContext?.appArmorProfile;
    const local = { type: 'Localhost', localhostProfile: 'x' };
    expect(profileOf(podWith({}, { [annotation]: 'localhost/x' }))).toEqual(local);
    const own = { securityContext: { appArmorProfile: { type: 'Unconfined' } } };
    const both = podWith({ containers: [{ ...containers[0], ...own }] }, { [annotation]: 'localhost/x' });
    expect(profileOf(both)).toEqual({ type: 'Unconfined' });
    expect(profileOf(podWith({ os: { name: 'windows' } }, { [annotation]: 'localhost/x' }))).toBeUndefined();
    const warnings = (body: object) => pod.warnings!(created(pod, body) as Pod, undefined).join();
    expect(warnings(podWith({}, { [annotation]: 'localhost/x' }))).toContain('deprecated since v1.30');
    expect(warnings(both)).not.toContain('deprecated since v1.30');
  });

  it('name the operators behind a gate in the error about one of them', () => {
    const said = (operator: string) => errors(pod, podWith({ tolerations: [{ key: 'a', operator }] }));
    const text = 'spec.tolerations[0].operator: Unsupported value: ';
    expect(said('Gt')).toEqual([`${text}"Gt": supported values: "Equal", "Exists", "Lt", "Gt"`]);
    expect(said('Nope')).toEqual([`${text}"Nope": supported values: "Equal", "Exists"`]);
  });

  it('have host processes only, or none, on the network of the node', () => {
    const hostProcess = (is: boolean) => ({ securityContext: { windowsOptions: { hostProcess: is } } });
    const mixed =
      'If pod contains any hostProcess containers then all containers must be HostProcess containers';
    const network =
      'spec.hostNetwork: Invalid value: false: hostNetwork must be true if pod contains any hostProcess containers';
    const two = [
      { ...containers[0], ...hostProcess(true) },
      { name: 'd', image: 'i' },
    ];
    expect(errors(pod, podWith({ containers: two }))).toEqual([`spec: Invalid value: "": ${mixed}`, network]);
    expect(errors(pod, podWith({ containers: two, hostNetwork: true, ...hostProcess(true) }))).toEqual([]);
    expect(errors(pod, podWith({ containers: two, hostNetwork: true, ...hostProcess(false) }))).toEqual([
      'spec.containers[0].securityContext.windowsOptions.hostProcess: Invalid value: true: pod hostProcess value must be identical if both are specified, was false',
      `spec: Invalid value: "": ${mixed}`,
    ]);
    expect(errors(pod, podWith(hostProcess(false)))).toEqual([]);
  });
});

describe('others', () => {
  it('refuse an empty type of a path as unsupported, and a missing one as required', () => {
    const backend = { service: { name: 'x', port: { number: 80 } } };
    const said = (more: object) =>
      errors(networkingIngress, {
        metadata: { name: 'i' },
        spec: { rules: [{ http: { paths: [{ path: '/', backend, ...more }] } }] },
      });
    const field = 'spec.rules[0].http.paths[0].pathType: ';
    expect(said({})).toEqual([`${field}Required value: pathType must be specified`]);
    expect(said({ pathType: '' })).toEqual([
      `${field}Unsupported value: "": supported values: "Exact", "ImplementationSpecific", "Prefix"`,
    ]);
  });

  it('show the budget as Go prints it', () => {
    const spec = { minAvailable: 1, maxUnavailable: '20%', selector: { matchLabels: { a: 'b' } } };
    expect(errors(podDisruptionBudget, { metadata: { name: 'p' }, spec })).toEqual([
      'spec: Invalid value: {"MinAvailable":1,"Selector":{"matchLabels":{"a":"b"}},"MaxUnavailable":"20%","UnhealthyPodEvictionPolicy":null}: minAvailable and maxUnavailable cannot be both set',
    ]);
  });

  it('name the versions of a definition before its names', () => {
    const said = createErrors(customResourceDefinition, { metadata: { name: 'xs.example.com' }, spec: {} });
    const fields = said.map(({ field }) => field);
    expect(fields.slice(0, 5)).toEqual([
      'metadata.name',
      'spec.group',
      'spec.scope',
      'spec.versions',
      'spec.names.plural',
    ]);
    expect(said[3]!.message).toBe(
      'Invalid value: []: must have exactly one version marked as storage version',
    );
  });

  it.each([validatingAdmissionPolicy, mutatingAdmissionPolicyBinding, validatingWebhookConfiguration])(
    'warn of names that belong to files: $kind',
    (kind: Kind) => {
      const warnings = (name: string) => kind.warnings!(created(kind, { metadata: { name } }), undefined);
      expect(warnings('a.static.k8s.io')).toEqual([
        'metadata.name: names ending with ".static.k8s.io" are reserved for static manifest-based configurations and cannot be managed via the API',
      ]);
      expect(warnings('a.example.com')).toEqual([]);
    },
  );
});
