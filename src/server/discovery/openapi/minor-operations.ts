/**
 * Operations as the documents of a minor of Kubernetes show them: with its models, without later parameters, and without
 * creates outside a namespace.
 */
import type { ChosenMinor } from '../../../api/kind/chosen-minor.ts';
import { builtinModels, type Model } from '../../../api/model/model.ts';
import type { Operation } from './operations.ts';

/** Models whose fields are parameters. */
const optionModels = ['ListOptions', 'DeleteOptions', 'PatchOptions', 'PodLogOptions'];

export function operationsIn(minor: ChosenMinor, operations: readonly Operation[]): Operation[] {
  const then = (model: Model): Model =>
    (model.definition.custom ? undefined : minor.models.find(model.name, model.file)) ?? model;
  const later = new Set(
    optionModels.flatMap((name) =>
      [...builtinModels.of(name).fields.keys()].filter((field) => !minor.models.of(name).fields.has(field)),
    ),
  );
  return operations
    .filter((operation) => !operation.isOutside)
    .map(({ answer, body, parameters, ...operation }) => ({
      ...operation,
      ...(answer ? { answer: then(answer) } : {}),
      ...(body ? { body: body.model === 'Patch' ? body : { ...body, model: then(body.model) } } : {}),
      parameters: parameters.filter(({ name }) => !later.has(name)),
    }));
}
