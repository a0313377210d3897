/** The names of a custom kind: plural, singular, short names, kind and list kind. */
import { child, index, invalid, required } from '../../errors/field-error.ts';
import type { CustomResourceDefinitionNames } from '../../generated/types.ts';
import { isLabel1035 } from '../../values/names.ts';
import { collect, type Findings, joinedProblems } from '../shared/findings.ts';

export function* namesErrors(names: CustomResourceDefinitionNames, path: string): Findings {
  const { plural = '', singular = '', kind = '', listKind = '' } = names;
  for (const [name, value] of Object.entries({ plural, singular, kind, listKind }))
    if (!value) yield required(child(path, name));
  yield* nameErrors(names, path);
}

/** The rules that also hold for names of which some are missing. */
function* nameErrors(names: CustomResourceDefinitionNames, path: string): Findings {
  for (const name of ['plural', 'singular'] as const)
    if (names[name]) yield* joinedProblems(child(path, name), names[name], isLabel1035(names[name]));
  for (const name of ['kind', 'listKind'] as const)
    if (names[name])
      yield* joinedProblems(
        child(path, name),
        names[name],
        isLabel1035(names[name].toLowerCase()),
        'may have mixed case, but should otherwise match: ',
      );
  for (const name of ['shortNames', 'categories'] as const)
    for (const [i, value] of (names[name] ?? []).entries())
      yield* joinedProblems(index(child(path, name), i), value, isLabel1035(value));
  if (names.kind && names.kind === names.listKind)
    yield invalid(child(path, 'listKind'), names.listKind, 'kind and listKind may not be the same');
}

export const acceptedNamesErrors = (names: CustomResourceDefinitionNames) =>
  collect(nameErrors(names, 'status.acceptedNames'));
