/** CSIDriver: what a driver of the container storage interface can do, and wants of nodes. */
import { child, duplicate, type FieldError, index, invalid, notSupported } from '../../errors/field-error.ts';
import type { CSIDriver, CSIDriverSpec, TokenRequestV1 } from '../../generated/types.ts';
import { defineKind } from '../../kind/kind.ts';
import { ageCell, ageColumn, nameColumn } from '../../rules/shared/columns.ts';
import { collect, type Findings } from '../../rules/shared/findings.ts';
import { orUnset } from '../../rules/storage/volume-access.ts';
import { semanticEqual } from '../../text/object.ts';

const groupPolicies = ['File', 'None', 'ReadWriteOnceWithFSType'];
const lifecycleModes = ['Persistent', 'Ephemeral'];
const expirationSecondsMin = 600;
const expirationSecondsMax = 2 ** 32;
const updatePeriodSecondsMin = 10;

function* specErrors(spec: CSIDriverSpec, isNew: boolean): Findings {
  const { fsGroupPolicy, tokenRequests = [], nodeAllocatableUpdatePeriodSeconds: period } = spec;
  if (fsGroupPolicy !== undefined && !groupPolicies.includes(fsGroupPolicy))
    yield notSupported('spec.fsGroupPolicy', fsGroupPolicy, groupPolicies);
  yield* tokenErrors(tokenRequests);
  // Checked at creation only, because these fields cannot change later.
  if (isNew)
    for (const mode of spec.volumeLifecycleModes ?? [])
      if (!lifecycleModes.includes(mode))
        yield notSupported('spec.volumeLifecycleModes', mode, lifecycleModes);
  if (period !== undefined && period < updatePeriodSecondsMin)
    yield invalid(
      'spec.nodeAllocatableUpdatePeriodSeconds',
      period,
      `must be greater than or equal to ${updatePeriodSecondsMin} seconds`,
    );
  const secrets = spec.serviceAccountTokenInSecrets;
  if (secrets !== undefined && tokenRequests.length === 0)
    yield invalid(
      'spec.serviceAccountTokenInSecrets',
      secrets,
      'serviceAccountTokenInSecrets is set but no tokenRequests are specified',
    );
}

function* tokenErrors(requests: readonly TokenRequestV1[]): Findings {
  const audiences = new Set<string>();
  for (const [i, { audience = '', expirationSeconds }] of requests.entries()) {
    const path = index('spec.tokenRequests', i);
    if (audiences.has(audience)) {
      yield duplicate(child(path, 'audience'), audience);
      continue;
    }
    audiences.add(audience);
    if (expirationSeconds === undefined) continue;
    const secondsPath = child(path, 'expirationSeconds');
    if (expirationSeconds < expirationSecondsMin)
      yield invalid(secondsPath, expirationSeconds, 'may not specify a duration less than 10 minutes');
    if (expirationSeconds > expirationSecondsMax)
      yield invalid(secondsPath, expirationSeconds, 'may not specify a duration larger than 2^32 seconds');
  }
}

function changeErrors({ spec = {} }: CSIDriver, { spec: old = {} }: CSIDriver): FieldError[] {
  const errors: FieldError[] = [];
  // Kubernetes has a misprint in this path.
  if (spec.attachRequired !== old.attachRequired)
    errors.push(invalid('spec.attachedRequired', spec.attachRequired, 'field is immutable'));
  if (!semanticEqual(spec.volumeLifecycleModes, old.volumeLifecycleModes))
    errors.push(invalid('spec.volumeLifecycleModes', spec.volumeLifecycleModes, 'field is immutable'));
  return errors;
}

function warnings({ spec = {} }: CSIDriver, old: CSIDriver | undefined): string[] {
  if (!spec.tokenRequests?.length || spec.serviceAccountTokenInSecrets !== undefined) return [];
  if (old && semanticEqual(spec.tokenRequests, old.spec?.tokenRequests)) return [];
  return [
    'spec.serviceAccountTokenInSecrets is unset; if supported by this CSI driver, set to true to prevent possible logging of tokens in volume attributes',
  ];
}

export const csiDriver = defineKind<CSIDriver>({
  kind: 'CSIDriver',
  resource: 'csidrivers',
  singular: 'csidriver',
  group: 'storage.k8s.io',
  version: 'v1',
  table: 'storage-v1',
  namespaced: false,
  versionRequired: true,
  deletion: { returnsObject: true },
  generationOf: 'spec',

  defaults(driver) {
    const spec = (driver.spec ??= {});
    spec.attachRequired ??= true;
    spec.podInfoOnMount ??= false;
    spec.storageCapacity ??= false;
    spec.fsGroupPolicy ??= 'ReadWriteOnceWithFSType';
    spec.volumeLifecycleModes ??= ['Persistent'];
    spec.requiresRepublish ??= false;
    spec.seLinuxMount ??= false;
  },
  // As in Kubernetes, where the first change of a driver makes its generation 1.
  prepareForCreate({ metadata }) {
    metadata.generation = undefined;
  },

  validate: ({ spec = {} }, old) => collect(specErrors(spec, old === undefined)),
  validateUpdate: changeErrors,
  warnings,

  columns: [
    nameColumn,
    { name: 'AttachRequired', type: 'boolean', description: 'Whether volumes are attached to nodes first.' },
    { name: 'PodInfoOnMount', type: 'boolean', description: 'Whether the driver is told about the pod.' },
    { name: 'StorageCapacity', type: 'boolean', description: 'Whether the driver tells what is left.' },
    { name: 'TokenRequests', description: 'Audiences of the tokens that the driver gets.' },
    {
      name: 'RequiresRepublish',
      type: 'boolean',
      description: 'Whether it is called again from time to time.',
    },
    { name: 'Modes', description: 'Which kinds of volumes it has.' },
    ageColumn,
  ],
  cells: (driver) => {
    const { spec = {} } = driver;
    return [
      driver.metadata.name,
      spec.attachRequired ?? true,
      spec.podInfoOnMount ?? false,
      spec.storageCapacity ?? false,
      orUnset(spec.tokenRequests?.map(({ audience }) => audience ?? '').join(',')),
      spec.requiresRepublish ?? false,
      (spec.volumeLifecycleModes ?? []).join(','),
      ageCell(driver),
    ];
  },
});
