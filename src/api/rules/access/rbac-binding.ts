/** What both kinds of bindings share: the role that is granted, and the subjects that it is granted to. */

import { child, type FieldError, index, invalid, notSupported, required } from '../../errors/field-error.ts';
import type { RoleBinding, RoleRef, Subject } from '../../generated/types.ts';
import type { Column } from '../../kind/kind.ts';
import type { Cell } from '../../values/elapsed.ts';
import { isPathSegment, isSubdomain1123 } from '../../values/names.ts';
import { ageCell, ageColumn, nameColumn } from '../shared/columns.ts';
import { type Findings, problemsOf } from '../shared/findings.ts';
import { rbacForm, rbacGroup } from './rbac.ts';

const subjectKinds = ['ServiceAccount', 'User', 'Group'];

/** A binding of either kind: they have the same fields. */
type Binding = RoleBinding;

function defaultBinding(binding: Binding): void {
  binding.roleRef ??= {};
  binding.roleRef.apiGroup ||= rbacGroup;
  for (const subject of binding.subjects ?? [])
    if (subject.kind === 'User' || subject.kind === 'Group') subject.apiGroup ||= rbacGroup;
}

/** A service account subject without a namespace gets that of its binding, if there is one. */
export function* bindingErrors(
  binding: Binding,
  roleKinds: readonly string[],
  namespaced: boolean,
): Findings {
  yield* roleErrors(binding.roleRef ?? {}, roleKinds);
  for (const [position, subject] of (binding.subjects ?? []).entries())
    yield* subjectErrors(subject, namespaced, index('subjects', position));
}

function* roleErrors({ apiGroup = '', kind = '', name = '' }: RoleRef, kinds: readonly string[]): Findings {
  if (apiGroup !== rbacGroup) yield notSupported('roleRef.apiGroup', apiGroup, [rbacGroup]);
  if (!kinds.includes(kind)) yield notSupported('roleRef.kind', kind, kinds);
  if (!name) yield required('roleRef.name');
  else yield* problemsOf('roleRef.name', name, isPathSegment(name));
}

function* subjectErrors(subject: Subject, namespaced: boolean, path: string): Findings {
  const { kind = '', name = '', apiGroup = '', namespace = '' } = subject;
  const [namePath, groupPath] = [child(path, 'name'), child(path, 'apiGroup')];
  if (!name) yield required(namePath);
  switch (kind) {
    case 'ServiceAccount':
      if (name) yield* problemsOf(namePath, name, isSubdomain1123(name));
      if (apiGroup) yield notSupported(groupPath, apiGroup, ['']);
      if (!namespaced && !namespace) yield required(child(path, 'namespace'));
      break;
    case 'User':
    case 'Group':
      if (apiGroup !== rbacGroup) yield notSupported(groupPath, apiGroup, [rbacGroup]);
      break;
    default:
      yield notSupported(child(path, 'kind'), kind, subjectKinds);
  }
}

/** roleRef is immutable: permission to change the subjects must not allow granting another role. */
function roleChangeErrors({ roleRef: now = {} }: Binding, { roleRef: old = {} }: Binding): FieldError[] {
  const { apiGroup: APIGroup = '', kind: Kind = '', name: Name = '' } = now;
  if (APIGroup === (old.apiGroup ?? '') && Kind === (old.kind ?? '') && Name === (old.name ?? '')) return [];
  // Kubernetes quotes the value with its internal field names.
  return [invalid('roleRef', { APIGroup, Kind, Name }, 'cannot change roleRef')];
}

const bindingColumns: readonly Column[] = [
  nameColumn,
  { name: 'Role', description: 'Kind and name of the role that is granted.' },
  ageColumn,
  { name: 'Users', description: 'Users that are granted the role.', wide: true },
  { name: 'Groups', description: 'Groups that are granted the role.', wide: true },
  { name: 'ServiceAccounts', description: 'Service accounts that are granted the role.', wide: true },
];

function bindingCells(binding: Binding): Cell[] {
  const { roleRef: { kind = '', name = '' } = {}, subjects } = binding;
  const named = (wanted: string, text: (subject: Subject) => string): string =>
    (subjects ?? [])
      .filter((subject) => subject.kind === wanted)
      .map(text)
      .join(', ');
  const nameOf = (subject: Subject): string => subject.name ?? '';
  return [
    binding.metadata.name,
    `${kind}/${name}`,
    ageCell(binding),
    named('User', nameOf),
    named('Group', nameOf),
    named('ServiceAccount', (subject) => `${subject.namespace ?? ''}/${nameOf(subject)}`),
  ];
}

export const bindingForm = {
  ...rbacForm,
  defaults: defaultBinding,
  validateUpdate: roleChangeErrors,
  columns: bindingColumns,
  cells: bindingCells,
} as const;
