/** An index of the names of all definitions by group, so that comparing one definition does not read all others. */
import type { CustomResourceDefinition, CustomResourceDefinitionNames } from '../../api/generated/types.ts';
import { definitionCondition } from '../../api/kinds/apiextensions/custom-resource-definition.ts';

interface Indexed {
  readonly names: CustomResourceDefinitionNames;
  readonly isAccepted: boolean;
}

export class DefinitionIndex {
  readonly #groups = new Map<string, Map<string, Indexed>>();

  set(definition: CustomResourceDefinition): void {
    const group = definition.spec?.group ?? '';
    const definitions = this.#groups.get(group) ?? new Map<string, Indexed>();
    this.#groups.set(group, definitions);
    definitions.set(definition.metadata.name!, {
      names: definition.status?.acceptedNames ?? {},
      isAccepted: definitionCondition(definition, 'NamesAccepted')?.status === 'True',
    });
  }

  /** Removes a definition, whose name ends with its group. */
  delete(name: string): void {
    const group = name.slice(name.indexOf('.') + 1);
    const definitions = this.#groups.get(group);
    definitions?.delete(name);
    if (definitions?.size === 0) this.#groups.delete(group);
  }

  /** The accepted names of all definitions of a group but one. */
  namesBeside(group: string, name: string): CustomResourceDefinitionNames[] {
    return [...(this.#groups.get(group) ?? [])].flatMap(([other, { names }]) =>
      other === name ? [] : [names],
    );
  }

  /** Definitions of a group whose names are not accepted. */
  waitingIn(group: string): string[] {
    return [...(this.#groups.get(group) ?? [])].flatMap(([name, { isAccepted }]) =>
      isAccepted ? [] : [name],
    );
  }
}
