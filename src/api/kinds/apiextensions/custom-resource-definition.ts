/** CustomResourceDefinition: a kind that users define. `extensions/definitions/` serves it. */
import type {
  CustomResourceDefinition,
  CustomResourceDefinitionCondition,
  CustomResourceDefinitionVersion,
} from '../../generated/types.ts';
import { defineKind } from '../../kind/kind.ts';
import { status } from '../../kind/subresource.ts';
import { defaultClientConfig } from '../../rules/admission/webhook-client.ts';
import { definitionErrors, definitionUpdateErrors } from '../../rules/definition/definition.ts';
import { acceptedNamesErrors } from '../../rules/definition/definition-names.ts';
import { schemasPreparation, unknownFormatWarnings } from '../../rules/definition/definition-schemas.ts';
import { withCondition } from '../../rules/shared/condition.ts';
import { collect } from '../../rules/shared/findings.ts';

/** On a definition that is being deleted, until all its objects are gone. */
export const cleanupFinalizer = 'customresourcecleanup.apiextensions.k8s.io';

/** The condition of a type, if it is set. */
export const definitionCondition = (
  { status }: CustomResourceDefinition,
  type: string,
): CustomResourceDefinitionCondition | undefined =>
  status?.conditions?.find((condition) => condition.type === type);

export const storageVersionOf = ({
  spec,
}: CustomResourceDefinition): CustomResourceDefinitionVersion | undefined =>
  spec?.versions?.find(({ storage }) => storage);

function defaults(definition: CustomResourceDefinition): void {
  const { spec = {}, status } = definition;
  const { names = {} } = spec;
  if (names.kind) {
    names.singular ||= names.kind.toLowerCase();
    names.listKind ||= `${names.kind}List`;
  }
  spec.conversion ??= {};
  spec.conversion.strategy ||= 'None';
  const client = spec.conversion.webhook?.clientConfig;
  if (client) defaultClientConfig(client);
  if (!status?.storedVersions?.length) noteStorageVersion(definition);
}

/** The storage version is among those that objects may be stored as. */
function noteStorageVersion(definition: CustomResourceDefinition): void {
  const name = storageVersionOf(definition)?.name;
  if (!name) return;
  definition.status ??= {};
  const stored = definition.status.storedVersions ?? [];
  if (!stored.includes(name)) definition.status.storedVersions = [...stored, name];
}

export const customResourceDefinition = defineKind<CustomResourceDefinition>({
  kind: 'CustomResourceDefinition',
  resource: 'customresourcedefinitions',
  singular: 'customresourcedefinition',
  shortNames: ['crd', 'crds'],
  categories: ['api-extensions'],
  group: 'apiextensions.k8s.io',
  version: 'v1',
  table: 'apiextensions-v1',
  hashedVersion: 'apiextensions.k8s.io/v1beta1',
  namespaced: false,
  subresources: [status({ validate: ({ status = {} }) => acceptedNamesErrors(status.acceptedNames ?? {}) })],
  generationOf: 'spec',
  versionRequired: true,
  anyFinalizer: true,

  defaults,
  prepareForCreate(definition) {
    definition.status = {};
    noteStorageVersion(definition);
  },
  prepareForUpdate: noteStorageVersion,
  preparation: schemasPreparation,
  validate: (definition, old) => collect(definitionErrors(definition, old)),
  validateUpdate: (definition, old) => collect(definitionUpdateErrors(definition, old)),
  warnings: unknownFormatWarnings,
  deletion: {
    checksUidFirst: true,
    mark({ metadata, status }, { now }) {
      if (!metadata.finalizers?.includes(cleanupFinalizer))
        metadata.finalizers = [...(metadata.finalizers ?? []), cleanupFinalizer];
      if (!status) return;
      const condition = {
        type: 'Terminating',
        status: 'True',
        reason: 'InstanceDeletionPending',
        message: 'CustomResourceDefinition marked for deletion; CustomResource deletion will begin soon',
      };
      if (!status.conditions?.some(({ type, status: is }) => type === 'Terminating' && is === 'True'))
        status.conditions = withCondition(status.conditions, condition, now);
    },
  },
});
