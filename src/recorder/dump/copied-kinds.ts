/**
 * The kinds of a copied cluster: those that Wherry knows, those that definitions in it explain, and for all other objects
 * kinds that are made from what the objects show.
 */
import type { CustomResourceDefinition } from '../../api/generated/types.ts';
import type { Kind } from '../../api/kind/kind.ts';
import {
  definitionCondition,
  storageVersionOf,
} from '../../api/kinds/apiextensions/custom-resource-definition.ts';
import { builtinKinds } from '../../api/kinds/kinds.ts';
import { composedKey } from '../../composed-key.ts';
import { kindsOf } from '../../extensions/definitions/custom-kind.ts';

/** Kinds that are made from objects. */
const inferredMax = 2_000;
const groupForm = /^([a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?)?$/;
const versionForm = /^[a-z][a-z0-9]{0,62}$/;
const kindForm = /^[A-Za-z][A-Za-z0-9]{0,62}$/;
const pluralForm = /^[a-z][a-z0-9-]{0,62}$/;

/** Kinds of copies never ask a webhook: its server is elsewhere. */
const noTools = {
  hooks: { call: () => Promise.reject(new Error('a copy calls no webhooks')) },
  uid: () => '',
};

/** A kind that nothing explains, as far as its objects show it. */
export interface UnknownKind {
  readonly group: string;
  readonly kind: string;
  readonly versions: ReadonlySet<string>;
  readonly namespaced: boolean;
  /** The name of its resource, where something said it. */
  readonly plural?: string | undefined;
  readonly singular?: string | undefined;
  readonly shortNames?: readonly string[] | undefined;
}

const builtins = new Map<string, Kind>();
/** By group and kind, for versions that Wherry does not serve. */
const builtinStorage = new Map<string, Kind>();
/** Names of resources and kinds by group. */
const builtinNames = new Set<string>();
for (const kind of builtinKinds) {
  builtinNames.add(composedKey(kind.group, kind.resource)).add(composedKey(kind.group, kind.kind));
  builtins.set(composedKey(kind.apiVersion, kind.kind), kind);
  builtinStorage.set(composedKey(kind.group, kind.kind), kind.storage);
}

/** Why a definition cannot be stored: no server could start with it; undefined: it can. */
export function definitionProblem({ metadata, spec }: CustomResourceDefinition): string | undefined {
  const { group = '', names } = spec ?? {};
  const { plural = '', kind = '' } = names ?? {};
  if (metadata.name !== `${plural}.${group}`) return 'its name is not that of its resource and group';
  const isOwn = [plural, kind].some((name) => builtinNames.has(composedKey(group, name)));
  return isOwn ? 'the server has such a kind of its own' : undefined;
}

/** Whether the server that the definition is from serves its kinds. */
export const isEstablished = (definition: CustomResourceDefinition): boolean =>
  ['NamesAccepted', 'Established'].every(
    (type) => definitionCondition(definition, type)?.status === 'True',
  ) && kindsOfCopy(definition).length > 0;

/** The kinds of a definition. Versions are told apart by their names alone, because no webhook is asked. */
function kindsOfCopy(definition: CustomResourceDefinition): Kind[] {
  const spec = { ...definition.spec, conversion: undefined };
  return kindsOf({ ...definition, spec } as CustomResourceDefinition, noTools);
}

export class CopiedKinds {
  readonly #defined = new Map<string, Kind>();
  readonly #inferred = new Map<string, Kind>();
  /** Kinds without a definition, which the server is to be handed. */
  readonly inferred: Kind[] = [];

  /** Takes an established definition. */
  define(definition: CustomResourceDefinition): void {
    for (const kind of kindsOfCopy(definition))
      this.#defined.set(composedKey(kind.apiVersion, kind.kind), kind);
  }

  find(apiVersion: string, kind: string): Kind | undefined {
    const key = composedKey(apiVersion, kind);
    return builtins.get(key) ?? this.#defined.get(key) ?? this.#inferred.get(key);
  }

  /** What is wrong with the names of a kind; undefined: nothing. */
  static problem(apiVersion: string, kind: string): string | undefined {
    const { group, version } = splitVersion(apiVersion);
    return groupForm.test(group) && versionForm.test(version) && kindForm.test(kind)
      ? undefined
      : 'its kind or apiVersion cannot be one';
  }

  /** Makes a kind. Returns why it cannot be made; undefined: it was. */
  infer(unknown: UnknownKind): string | undefined {
    if (this.inferred.length >= inferredMax)
      return `there are more than ${inferredMax} kinds without a definition`;
    const kinds = inferredKinds(unknown);
    this.inferred.push(...kinds);
    for (const kind of kinds) this.#inferred.set(composedKey(kind.apiVersion, kind.kind), kind);
    return undefined;
  }
}

/** The kind as which Wherry stores objects of a version that it does not serve; undefined: it does not know the kind. */
export const knownInOtherVersion = (apiVersion: string, kind: string): Kind | undefined =>
  builtins.has(composedKey(apiVersion, kind))
    ? undefined
    : builtinStorage.get(composedKey(splitVersion(apiVersion).group, kind));

export const builtinKind = (apiVersion: string, kind: string): Kind | undefined =>
  builtins.get(composedKey(apiVersion, kind));

export function splitVersion(apiVersion: string): { group: string; version: string } {
  const slash = apiVersion.indexOf('/');
  return { group: apiVersion.slice(0, Math.max(0, slash)), version: apiVersion.slice(slash + 1) };
}

function inferredKinds({ group, kind, versions, namespaced, ...names }: UnknownKind): Kind[] {
  const plural = names.plural !== undefined && pluralForm.test(names.plural) ? names.plural : pluralOf(kind);
  const accepted = {
    plural,
    kind,
    singular: names.singular || kind.toLowerCase(),
    shortNames: names.shortNames && [...names.shortNames],
  };
  const [newest] = [...versions].sort().reverse();
  const definition: CustomResourceDefinition = {
    metadata: { name: `${plural}.${group}` },
    spec: {
      group,
      scope: namespaced ? 'Namespaced' : 'Cluster',
      names: accepted,
      versions: [...versions].map((name) => ({
        name,
        served: true,
        storage: name === newest,
        schema: { openAPIV3Schema: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true } },
      })),
    },
    status: { acceptedNames: accepted },
  } as CustomResourceDefinition;
  return storageVersionOf(definition) ? kindsOf(definition, noTools) : [];
}

/** The plural as most definitions form it. */
function pluralOf(kind: string): string {
  const word = kind.toLowerCase();
  if (/(s|x|z|ch|sh)$/.test(word)) return `${word}es`;
  return /[^aeiou]y$/.test(word) ? `${word.slice(0, -1)}ies` : `${word}s`;
}
