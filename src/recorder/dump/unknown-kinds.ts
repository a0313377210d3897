/** Kinds of objects that Wherry does not know: what the objects, their files and unfinished definitions say of them. */
import type { CustomResourceDefinition } from '../../api/generated/types.ts';
import { composedKey } from '../../composed-key.ts';
import { type CopiedKinds, splitVersion, type UnknownKind } from './copied-kinds.ts';
import type { NamedObject } from './stored-form.ts';

interface Noted {
  readonly group: string;
  readonly kind: string;
  readonly versions: Set<string>;
  namespaced: boolean;
  plural: string | undefined;
}

export class UnknownKinds {
  readonly #noted = new Map<string, Noted>();
  readonly #definitions = new Map<string, CustomResourceDefinition>();

  note({ apiVersion, kind, metadata }: NamedObject, path: string): void {
    const { group, version } = splitVersion(apiVersion);
    const key = composedKey(group, kind);
    let noted = this.#noted.get(key);
    if (!noted) {
      noted = { group, kind, versions: new Set(), namespaced: false, plural: undefined };
      this.#noted.set(key, noted);
    }
    noted.versions.add(version);
    if (metadata['namespace']) noted.namespaced = true;
    noted.plural ??= pluralIn(path, kind, group);
  }

  /** A definition that its server had not accepted, or that says nothing of that. */
  noteDefinition(definition: CustomResourceDefinition): void {
    const { group = '', names } = definition.spec ?? {};
    if (names?.kind) this.#definitions.set(composedKey(group, names.kind), definition);
  }

  /** Those that the definitions of the dump do not explain. */
  *left(kinds: CopiedKinds): Generator<UnknownKind> {
    for (const [key, { versions, ...noted }] of this.#noted) {
      const left = [...versions].filter(
        (version) => !kinds.find(versionOf(noted.group, version), noted.kind),
      );
      if (left.length === 0) continue;
      const { names, scope } = this.#definitions.get(key)?.spec ?? {};
      yield {
        ...noted,
        versions: new Set(left),
        plural: names?.plural ?? noted.plural,
        namespaced: scope ? scope === 'Namespaced' : noted.namespaced,
        singular: names?.singular,
        shortNames: names?.shortNames,
      };
    }
  }
}

const versionOf = (group: string, version: string): string => (group ? `${group}/${version}` : version);

/** A part of the path that is the plural of the kind: `ships.example.com`, or `ships` as a file or a folder. */
function pluralIn(path: string, kind: string, group: string): string | undefined {
  const word = kind.toLowerCase();
  for (const part of path
    .toLowerCase()
    .replace(/\.(json|ya?ml)$/, '')
    .split('/')
    .reverse()) {
    const name = group && part.endsWith(`.${group}`) ? part.slice(0, -group.length - 1) : part;
    const isPlural = name.length > word.length && name.length <= word.length + 3 && name.endsWith('s');
    if (isPlural && name.startsWith(word.slice(0, -1))) return name;
  }
  return undefined;
}
