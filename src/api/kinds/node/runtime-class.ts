/** RuntimeClass: a way to run the containers of pods, and what pods of it need. */
import { child, duplicate, index, invalid, required } from '../../errors/field-error.ts';
import type { RuntimeClass, Toleration } from '../../generated/types.ts';
import { defineKind } from '../../kind/kind.ts';
import { innerForm } from '../../model/inner-form.ts';
import { modelOf } from '../../model/model.ts';
import { identity, tolerationErrors } from '../../rules/pod/toleration.ts';
import { ageCell, ageColumn, nameColumn } from '../../rules/shared/columns.ts';
import { collect, type Findings, problemsOf } from '../../rules/shared/findings.ts';
import { nodeLabelDeprecation } from '../../rules/shared/node-labels.ts';
import { roundResources } from '../../rules/shared/resource-name.ts';
import { requirementErrors } from '../../rules/shared/resources.ts';
import { isLabel1123, validateLabels } from '../../values/names.ts';

function* classErrors({ handler, overhead, scheduling }: RuntimeClass): Findings {
  if (handler) yield* problemsOf('handler', handler, isLabel1123(handler));
  else yield required('handler');
  // Kubernetes checks the overhead as limits, and its paths show that.
  if (overhead) yield* requirementErrors({ limits: overhead.podFixed }, 'overhead');
  if (scheduling?.nodeSelector) yield* validateLabels(scheduling.nodeSelector, 'scheduling.nodeSelector');
  if (scheduling?.tolerations) yield* tolerationsErrors(scheduling.tolerations, 'scheduling.tolerations');
}

function* tolerationsErrors(tolerations: readonly Toleration[], path: string): Findings {
  yield* tolerationErrors(tolerations, path);
  const seen = new Set<string>();
  for (const [i, toleration] of tolerations.entries()) {
    if (seen.has(identity(toleration)))
      yield duplicate(index(path, i), innerForm(modelOf('Toleration'), toleration));
    seen.add(identity(toleration));
  }
}

const warnings = ({ scheduling }: RuntimeClass): string[] =>
  Object.keys(scheduling?.nodeSelector ?? {}).flatMap((label) => {
    const deprecation = nodeLabelDeprecation(label);
    return deprecation ? [`${child('scheduling', 'nodeSelector')}: ${deprecation}`] : [];
  });

export const runtimeClass = defineKind<RuntimeClass>({
  kind: 'RuntimeClass',
  resource: 'runtimeclasses',
  singular: 'runtimeclass',
  group: 'node.k8s.io',
  version: 'v1',
  table: 'node-v1',
  namespaced: false,
  createOnUpdate: true,
  versionRequired: true,

  defaults({ overhead }) {
    roundResources(overhead?.podFixed);
  },

  validate: (runtime) => collect(classErrors(runtime)),
  validateUpdate: ({ handler }, old) =>
    handler === old.handler ? [] : [invalid('handler', handler ?? '', 'field is immutable')],
  warnings,

  columns: [nameColumn, { name: 'Handler', description: 'What the runtime of a node calls it.' }, ageColumn],
  cells: (runtime) => [runtime.metadata.name, runtime.handler ?? '', ageCell(runtime)],
});
