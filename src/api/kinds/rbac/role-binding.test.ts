// Proves RoleBinding and ClusterRoleBinding: groups filled in, roles and subjects that can be, one role for good, table.
import { describe, expect, test } from 'vitest';
import type { RoleBinding } from '../../generated/types.ts';
import { cells, createdAge, createErrors, error, texts, updateErrors, written } from '../kind.fixture.ts';
import { clusterRoleBinding } from './cluster-role-binding.ts';
import { roleBinding } from './role-binding.ts';

const group = 'rbac.authorization.k8s.io';
const roleRef = { apiGroup: group, kind: 'ClusterRole', name: 'system:node' };
const ann = { kind: 'User', name: 'ann' };
const staff = { kind: 'Group', name: 'system:staff' };
const web = { kind: 'ServiceAccount', name: 'web', namespace: 'ns2' };
const unsupported = (field: string, value: string, ...supported: string[]) =>
  error(
    'N',
    field,
    `Unsupported value: "${value}": supported values: ${supported.map((item) => `"${item}"`).join(', ')}`,
  );

describe.each([roleBinding, clusterRoleBinding])('$kind', (kind) => {
  test('gets the groups of its role and its subjects', () => {
    const body = { roleRef: { kind: 'ClusterRole', name: 'x' }, subjects: [ann, staff, web] };
    const binding = written(kind, body) as RoleBinding;
    expect(binding).toMatchObject({
      roleRef: { apiGroup: group, kind: 'ClusterRole', name: 'x' },
      subjects: [{ ...ann, apiGroup: group }, { ...staff, apiGroup: group }, web],
    });
    expect(binding.subjects?.[2]).not.toHaveProperty('apiGroup');
    expect(binding.metadata).not.toHaveProperty('generation');
    expect(written(kind, {})).toMatchObject({ roleRef: { apiGroup: group, kind: '', name: '' } });
    expect(kind).toMatchObject({ hasStatus: false, createOnUpdate: true });
    expect(kind.nameRule('system:node', false)).toEqual([]);
  });

  const kinds = kind === roleBinding ? ['Role', 'ClusterRole'] : ['ClusterRole'];

  test.each([
    [roleRef, []],
    [{}, [unsupported('roleRef.kind', '', ...kinds), error('R', 'roleRef.name', 'Required value')]],
    [{ ...roleRef, apiGroup: 'apps' }, [unsupported('roleRef.apiGroup', 'apps', group)]],
    [{ ...roleRef, kind: 'Pod' }, [unsupported('roleRef.kind', 'Pod', ...kinds)]],
    [{ ...roleRef, name: 'a/b' }, [error('I', 'roleRef.name', `Invalid value: "a/b": may not contain '/'`)]],
  ])('of the role %j', (ref, errors) => {
    expect(createErrors(kind, { roleRef: ref })).toEqual(errors);
  });

  test.each([
    [ann, []],
    [staff, []],
    [web, []],
    [
      {},
      [
        error('R', 'subjects[0].name', 'Required value'),
        unsupported('subjects[0].kind', '', 'ServiceAccount', 'User', 'Group'),
      ],
    ],
    [{ kind: 'User' }, [error('R', 'subjects[0].name', 'Required value')]],
    [{ kind: 'Group' }, [error('R', 'subjects[0].name', 'Required value')]],
    [{ ...ann, apiGroup: 'apps' }, [unsupported('subjects[0].apiGroup', 'apps', group)]],
    [{ ...staff, apiGroup: 'apps' }, [unsupported('subjects[0].apiGroup', 'apps', group)]],
    [{ ...web, apiGroup: group }, [unsupported('subjects[0].apiGroup', group, '')]],
    [{ ...web, name: 'a:b' }, [error('I', 'subjects[0].name', `Invalid value: "a:b": ${texts.subdomain}`)]],
    [{ ...web, name: '' }, [error('R', 'subjects[0].name', 'Required value')]],
    [{ ...ann, kind: 'Pod' }, [unsupported('subjects[0].kind', 'Pod', 'ServiceAccount', 'User', 'Group')]],
  ])('of the subject %j', (subject, errors) => {
    expect(createErrors(kind, { roleRef, subjects: [subject] })).toEqual(errors);
  });

  test('keeps its role, and changes its subjects', () => {
    const old = { roleRef, subjects: [ann] };
    expect(updateErrors(kind, { roleRef, subjects: [web] }, old)).toEqual([]);
    expect(updateErrors(kind, { roleRef: { ...roleRef, apiGroup: '' } }, old)).toEqual([]);
    expect(updateErrors(kind, { roleRef: { ...roleRef, name: 'x' } }, old)).toEqual([
      error(
        'I',
        'roleRef',
        `Invalid value: {"APIGroup":"${group}","Kind":"ClusterRole","Name":"x"}: cannot change roleRef`,
      ),
    ]);
  });

  test('is shown with its role and its subjects', () => {
    const bob = { ...ann, name: 'bob' };
    expect(cells(kind, { roleRef, subjects: [ann, web, staff, bob] })).toEqual({
      Name: 'a',
      Role: 'ClusterRole/system:node',
      Age: createdAge,
      '*Users': 'ann, bob',
      '*Groups': 'system:staff',
      '*ServiceAccounts': 'ns2/web',
    });
    expect(cells(kind, { roleRef })).toMatchObject({ '*Users': '', '*Groups': '', '*ServiceAccounts': '' });
  });
});

test('only bindings of a namespace grant its roles', () => {
  const local = { roleRef: { ...roleRef, kind: 'Role' } };
  expect(createErrors(roleBinding, local)).toEqual([]);
  expect(createErrors(clusterRoleBinding, local)).toEqual([
    unsupported('roleRef.kind', 'Role', 'ClusterRole'),
  ]);
  expect(updateErrors(roleBinding, local, { roleRef })).toHaveLength(1);
});

test('a service account is one of the namespace of its binding, if there is one', () => {
  const body = { roleRef, subjects: [{ ...web, namespace: '' }] };
  expect(createErrors(roleBinding, body)).toEqual([]);
  expect(createErrors(clusterRoleBinding, body)).toEqual([
    error('R', 'subjects[0].namespace', 'Required value'),
  ]);
});
