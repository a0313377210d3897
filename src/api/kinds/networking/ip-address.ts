/** IPAddress: an address of a service, and what it belongs to. The name is the address. */

import { child, type FieldError, invalid, required } from '../../errors/field-error.ts';
import type { IPAddress } from '../../generated/types.ts';
import { defineKind } from '../../kind/kind.ts';
import { innerForm } from '../../model/inner-form.ts';
import { modelOf } from '../../model/model.ts';
import { ageCell, nameColumn } from '../../rules/shared/columns.ts';
import { collect, type Findings, problemsOf } from '../../rules/shared/findings.ts';
import { semanticEqual } from '../../text/object.ts';
import { isCanonicalIP } from '../../values/addresses.ts';
import { isPathSegment, isSubdomain1123 } from '../../values/names.ts';

function* parentErrors({ spec }: IPAddress): Findings {
  const path = 'spec.parentRef';
  if (!spec?.parentRef) return yield required(path);
  const { group, resource, name, namespace } = spec.parentRef;
  if (group) yield* problemsOf(child(path, 'group'), group, isSubdomain1123(group));
  for (const [part, value] of Object.entries({ resource, name }))
    if (value) yield* problemsOf(child(path, part), value, isPathSegment(value));
    else yield required(child(path, part));
  if (namespace) yield* problemsOf(child(path, 'namespace'), namespace, isPathSegment(namespace));
}

function changeErrors({ spec }: IPAddress, old: IPAddress): FieldError[] {
  if (semanticEqual(spec?.parentRef, old.spec?.parentRef)) return [];
  const shown = spec?.parentRef && innerForm(modelOf('ParentReference', 'networking-v1'), spec.parentRef);
  return [invalid('spec.parentRef', shown, 'field is immutable')];
}

/** `services/default/web`, `gateways.example.com/front`. */
function parentCell({ spec }: IPAddress): string {
  const { group, resource, namespace, name } = spec?.parentRef ?? {};
  const kind = (group ? `${resource}.${group}` : (resource ?? '')).toLowerCase();
  return [kind, ...(namespace ? [namespace] : []), name ?? ''].join('/');
}

export const ipAddress = defineKind<IPAddress>({
  kind: 'IPAddress',
  resource: 'ipaddresses',
  singular: 'ipaddress',
  shortNames: ['ip'],
  group: 'networking.k8s.io',
  version: 'v1',
  table: 'networking-v1',
  namespaced: false,
  nameRule: (name) => isCanonicalIP(name),
  prefixIsName: true,

  validate: (address) => collect(parentErrors(address)),
  validateUpdate: changeErrors,

  columns: [nameColumn, { name: 'ParentRef', description: 'The object that has the address.' }],
  // As in Kubernetes, there is one cell more than columns.
  cells: (address) => [address.metadata.name, parentCell(address), ageCell(address)],
});
