/**
 * Operations as the documents of a minor of Kubernetes show them: with its models, with the answers that it names, without
 * later parameters, and without creates outside a namespace.
 */
import type { ChosenMinor } from '../../../api/kind/chosen-minor.ts';
import { builtinModels, type Model } from '../../../api/model/model.ts';
import { customTypes, type Operation } from './operations.ts';
import { listParameters, parameter, readParameters } from './parameters.ts';

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
  const isCustom = operations.some(({ custom }) => custom);
  return operations
    .filter(({ action = '', custom, gvk, isOutside }) =>
      custom ? !action.startsWith('watch') : !isOutside && (gvk || !isCustom),
    )
    .map(asCustom)
    .map((operation) => ({ ...operation, answer: answerIn(operation) }))
    .map(({ answer, body, parameters, ...operation }) => ({
      ...operation,
      ...(answer ? { answer: then(answer) } : {}),
      ...(body ? { body: body.model === 'Patch' ? body : { ...body, model: then(body.model) } } : {}),
      parameters: parameters.filter(({ name }) => !later.has(name)),
    }));
}

/**
 * The answer as documents of Kubernetes have it, which is not always what a server answers: a namespace that is deleted,
 * the objects of a collection, and a Status for bindings and evictions.
 */
function answerIn({ action, answer, body, gvk }: Operation): Model | undefined {
  const isNamespace = action === 'delete' && gvk?.kind === 'Namespace' && !gvk.group;
  if (action === 'deletecollection' || isNamespace) return builtinModels.of('Status');
  const isStatus = action === 'post' && answer?.name === 'Status';
  return isStatus && body && body.model !== 'Patch' ? body.model : answer;
}

/** An operation on a custom kind, which documents of Kubernetes describe in another way than that on others. */
function asCustom(operation: Operation): Operation {
  const { action, custom } = operation;
  if (!custom) return operation;
  const shown = { ...operation, gvk: custom, requestTypes: customTypes };
  switch (action) {
    case 'get':
      return { ...shown, parameters: readParameters.map(parameter) };
    case 'patch':
      return { ...shown, codes: [200] };
    case 'deletecollection': {
      const { body: _, ...others } = shown;
      return { ...others, parameters: listParameters.map(parameter) };
    }
    default:
      return shown;
  }
}
