/** Proves which names a definition gets when some are taken, by others or by itself. */
import { expect, test } from 'vitest';
import type { CustomResourceDefinitionNames } from '../../api/generated/types.ts';
import { namedStatus, takenNames } from './accepted-names.ts';

const now = '2026-01-01T00:00:00Z';
const apple = { plural: 'apples', singular: 'apple', kind: 'Apple', listKind: 'AppleList' };

function named(
  names: CustomResourceDefinitionNames,
  others: CustomResourceDefinitionNames[],
  acceptedNames: CustomResourceDefinitionNames = {},
) {
  const definition = {
    kind: 'CustomResourceDefinition',
    apiVersion: 'apiextensions.k8s.io/v1',
    metadata: { name: 'apples.example.com' },
    spec: { group: 'example.com', names },
    status: { acceptedNames },
  };
  const { conditions, acceptedNames: accepted } = namedStatus(definition, takenNames(others), now);
  const condition = conditions?.find(({ type }) => type === 'NamesAccepted');
  return { accepted, reason: condition?.reason, message: condition?.message };
}

test('a short name that stands twice is told once', () => {
  const shortNames = ['x', 'x', 'y'];
  expect(named({ ...apple, shortNames }, [{ shortNames: ['x'] }])).toMatchObject({
    accepted: apple,
    reason: 'ShortNamesConflict',
    message: '"x" is already in use',
  });
  expect(named({ ...apple, shortNames }, [{ shortNames }])).toMatchObject({
    message: '["x" is already in use, "y" is already in use]',
  });
});

test('names of its own are taken, unless they stay what they are', () => {
  const accepted = { ...apple, shortNames: ['ap'] };
  expect(named({ ...accepted, singular: 'ap' }, [accepted], accepted)).toMatchObject({
    accepted,
    reason: 'SingularConflict',
    message: '"ap" is already in use',
  });
  expect(named({ ...accepted, shortNames: ['apples'] }, [], accepted).reason).toBe('ShortNamesConflict');
  expect(named({ ...accepted, listKind: 'Apple' }, [], accepted).reason).toBe('ListKindConflict');
  expect(named({ ...accepted, shortNames: ['ap', 'new'] }, [], accepted).reason).toBe('NoConflicts');
});

test('the last name that is refused is told, and categories are always taken over', () => {
  const wanted = { ...apple, categories: ['fruit'] };
  expect(named(wanted, [apple])).toMatchObject({
    accepted: { categories: ['fruit'] },
    reason: 'ListKindConflict',
    message: '"AppleList" is already in use',
  });
});
