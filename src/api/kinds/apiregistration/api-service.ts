/** APIService: a version of a group, and who serves it: this server, or another one behind a service of the cluster. */
import { child, index, invalid, notSupported, required } from '../../errors/field-error.ts';
import type { APIService, APIServiceSpec } from '../../generated/types.ts';
import { defineKind } from '../../kind/kind.ts';
import { status } from '../../kind/subresource.ts';
import { servicePortDefault, servicePortErrors } from '../../rules/admission/webhook-client.ts';
import { ageCell, ageColumn, nameColumn } from '../../rules/shared/columns.ts';
import { base64Bytes } from '../../rules/shared/config-data.ts';
import { collect, type Findings, problemsOf } from '../../rules/shared/findings.ts';
import { isLabel1035, isPathSegment, isSubdomain1123 } from '../../values/names.ts';

const groupPriorityMax = 20_000;
const versionPriorityMax = 1_000;

/** The name of the APIService of a version: `v1.` for the core, `v1.apps`. */
export const apiServiceName = (group: string, version: string): string => `${version}.${group}`;

function* serviceErrors({ metadata: { name = '' }, spec = {} }: APIService): Findings {
  const { group = '', version = '', groupPriorityMinimum = 0, versionPriority = 0 } = spec;
  const wanted = apiServiceName(group, version);
  if (name !== wanted)
    yield invalid(
      'metadata.name',
      name,
      `must be \`spec.version+"."+spec.group\`: ${JSON.stringify(wanted)}`,
    );
  if (group) yield* problemsOf('spec.group', group, isSubdomain1123(group));
  else if (version !== 'v1')
    yield required('spec.group', 'only v1 may have an empty group and it better be legacy kube');
  yield* problemsOf('spec.version', version, isLabel1035(version));
  if (groupPriorityMinimum <= 0 || groupPriorityMinimum > groupPriorityMax)
    yield invalid(
      'spec.groupPriorityMinimum',
      groupPriorityMinimum,
      `must be positive and less than ${groupPriorityMax}`,
    );
  if (versionPriority <= 0 || versionPriority > versionPriorityMax)
    yield invalid(
      'spec.versionPriority',
      versionPriority,
      `must be positive and less than ${versionPriorityMax}`,
    );
  yield* spec.service ? remoteErrors(spec) : localErrors(spec);
}

function* localErrors({ caBundle, insecureSkipTLSVerify }: APIServiceSpec): Findings {
  if (caBundle)
    yield invalid(
      'spec.caBundle',
      `${base64Bytes(caBundle)} bytes`,
      'local APIServices may not have a caBundle',
    );
  if (insecureSkipTLSVerify)
    yield invalid(
      'spec.insecureSkipTLSVerify',
      insecureSkipTLSVerify,
      'local APIServices may not have insecureSkipTLSVerify',
    );
}

function* remoteErrors({ service = {}, caBundle, insecureSkipTLSVerify }: APIServiceSpec): Findings {
  const path = 'spec.service';
  if (!service.namespace) yield required(child(path, 'namespace'));
  if (!service.name) yield required(child(path, 'name'));
  yield* servicePortErrors(service.port ?? servicePortDefault, path);
  if (insecureSkipTLSVerify && caBundle)
    yield invalid(
      'spec.insecureSkipTLSVerify',
      insecureSkipTLSVerify,
      'may not be true if caBundle is present',
    );
}

const conditionStatuses = ['True', 'False', 'Unknown'];

function* statusErrors({ status }: APIService): Findings {
  for (const [i, condition] of (status?.conditions ?? []).entries()) {
    const path = child(index('status.conditions', i), 'status');
    if (!conditionStatuses.includes(condition.status ?? ''))
      yield notSupported(path, condition.status ?? '', conditionStatuses);
  }
}

/** The condition of versions that this server itself serves: they are always available. */
export const localCondition = (now: string) => ({
  type: 'Available',
  status: 'True',
  lastTransitionTime: now,
  reason: 'Local',
  message: 'Local APIServices are always available',
});

export const isAvailable = ({ status }: APIService): boolean =>
  status?.conditions?.some(({ type, status: value }) => type === 'Available' && value === 'True') ?? false;

function availableCell({ status }: APIService): string | undefined {
  const condition = status?.conditions?.find(({ type }) => type === 'Available');
  if (!condition) return 'Unknown';
  const { status: value, reason } = condition;
  return value === 'True' || !reason ? value : `${value} (${reason})`;
}

export const apiService = defineKind<APIService>({
  kind: 'APIService',
  resource: 'apiservices',
  singular: 'apiservice',
  categories: ['api-extensions'],
  group: 'apiregistration.k8s.io',
  version: 'v1',
  table: 'apiregistration-v1',
  namespaced: false,
  subresources: [status({ validate: (service) => collect(statusErrors(service)) })],
  nameRule: (name) => isPathSegment(name),

  defaults({ spec }) {
    if (spec?.service) spec.service.port ??= servicePortDefault;
  },
  prepareForCreate(service, { now }) {
    service.status = service.spec?.service ? {} : { conditions: [localCondition(now)] };
  },
  prepareForUpdate(service, _old, { now }) {
    const known = service.status?.conditions?.some(({ reason }) => reason === 'Local');
    if (!service.spec?.service && !known) service.status = { conditions: [localCondition(now)] };
  },

  validate: (service) => collect(serviceErrors(service)),

  columns: [
    nameColumn,
    { name: 'Service', description: 'The reference to the service that hosts this API endpoint.' },
    { name: 'Available', description: 'Whether this service is available.' },
    ageColumn,
  ],
  cells: (service) => [
    service.metadata.name,
    service.spec?.service ? `${service.spec.service.namespace}/${service.spec.service.name}` : 'Local',
    availableCell(service),
    ageCell(service),
  ],
});
