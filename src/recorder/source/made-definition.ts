/** A definition for a kind whose own definition may not be read, made from what discovery says. */
import type { NamedObject } from '../dump/stored-form.ts';
import type { SourceKind } from './source-kinds.ts';

/** Marks it for people. */
const mark = 'wherry.dev/made-from-discovery';
/** Times of conditions are needed; nobody knows when it was accepted. */
const unknownTime = '1970-01-01T00:00:00Z';

export function madeDefinition(source: SourceKind): NamedObject {
  const { group, version, resource, kind, namespaced, singular, shortNames } = source;
  const names = {
    plural: resource,
    singular: singular ?? kind.toLowerCase(),
    kind,
    listKind: `${kind}List`,
    ...(shortNames.length ? { shortNames } : {}),
  };
  const condition = (type: string, reason: string) => ({
    type,
    status: 'True',
    lastTransitionTime: unknownTime,
    reason,
    message: 'made from discovery',
  });
  return {
    kind: 'CustomResourceDefinition',
    apiVersion: 'apiextensions.k8s.io/v1',
    metadata: {
      name: `${resource}.${group}`,
      uid: `made-${resource}.${group}`,
      creationTimestamp: unknownTime,
      annotations: { [mark]: 'true' },
    },
    spec: {
      group,
      scope: namespaced ? 'Namespaced' : 'Cluster',
      names,
      versions: [
        {
          name: version,
          served: true,
          storage: true,
          schema: { openAPIV3Schema: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true } },
        },
      ],
    },
    status: {
      acceptedNames: names,
      conditions: [
        condition('NamesAccepted', 'NoConflicts'),
        condition('Established', 'InitialNamesAccepted'),
      ],
      storedVersions: [version],
    },
  };
}
