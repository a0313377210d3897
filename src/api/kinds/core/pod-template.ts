/** PodTemplate: a stored pod template. */
import type { PodTemplate } from '../../generated/types.ts';
import { defineKind } from '../../kind/kind.ts';
import { changedTemplateWarnings } from '../../rules/pod-warnings/pod-warnings.ts';
import {
  containersCell,
  containersColumn,
  imagesCell,
  imagesColumn,
  mapCell,
  nameColumn,
} from '../../rules/shared/columns.ts';
import { defaultPodTemplate, validatePodTemplate } from '../../rules/workload/template.ts';

export const podTemplate = defineKind<PodTemplate>({
  kind: 'PodTemplate',
  resource: 'podtemplates',
  singular: 'podtemplate',
  namespaced: true,
  deletion: { returnsObject: true },
  generationOf: 'template',

  defaults(object) {
    defaultPodTemplate((object.template ??= {}));
  },

  validate: ({ template = {} }) => validatePodTemplate(template, 'template'),

  warnings: (object, old) => changedTemplateWarnings(object, old, object.template, 'template'),

  columns: [
    nameColumn,
    containersColumn,
    imagesColumn,
    { name: 'Pod Labels', description: 'Labels of the pods to be made.' },
  ],
  cells: ({ metadata, template }) => [
    metadata.name,
    containersCell(template?.spec?.containers),
    imagesCell(template?.spec?.containers),
    mapCell(template?.metadata?.labels),
  ],
});
