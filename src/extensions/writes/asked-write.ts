/**
 * A write as webhooks and policies see it: the object in the version that each of them understands, its labels, and the
 * object after a webhook has patched it.
 */

import { badRequest, internal } from '../../api/errors/errors.ts';
import { PatchError } from '../../api/errors/patch-error.ts';
import type { Kind } from '../../api/kind/kind.ts';
import type { LabelSelector, Labels } from '../../api/kind/label-selector.ts';
import { DecodeError, decodeObject } from '../../api/model/decode.ts';
import { encodeObject } from '../../api/model/encode.ts';
import { findModel, type Model } from '../../api/model/model.ts';
import { applyJsonPatch, type JsonPatch, parseJsonPatch } from '../../api/patch/json-patch.ts';
import { jsonPatchFailure } from '../../api/patch/json-patch-failure.ts';
import { parseExact } from '../../api/text/exact-json.ts';
import { JsonError } from '../../api/text/json.ts';
import { jsonText } from '../../api/text/json-text.ts';
import { type ApiObject, cloneJson, type JsonObject } from '../../api/text/object.ts';
import type { Admission } from '../../registry/admission-chain.ts';
import type { Registry } from '../../registry/registry.ts';
import { readSentJson } from '../../registry/sliced-json.ts';
import { subresourceOf } from '../../registry/target.ts';
import { customScaleForm, rescaled } from '../../registry/verbs/custom-scale.ts';
import { type Scale, type ScaleForm, scaleFormOf, scaleOfObject } from '../../registry/verbs/scale.ts';
import type { Operation, WriteQuestion } from './write-question.ts';

/** Admission configurations and policies are exempt from webhooks: a broken one could not be repaired otherwise. */
const exemptGroup = 'admissionregistration.k8s.io';

const operations: Readonly<Record<Admission['operation'], Operation>> = {
  create: 'CREATE',
  update: 'UPDATE',
  delete: 'DELETE',
  connect: 'CONNECT',
};

/** Subresources whose body is not an object of their resource's kind. */
const ownBodies = new Set(['binding', 'eviction', 'token', 'exec', 'attach', 'portforward', 'proxy']);

/** What the rules of webhooks are matched against; undefined for writes that webhooks do not see. */
export function questionOf({ kinds }: Registry, admission: Admission): WriteQuestion | undefined {
  const { target, operation } = admission;
  // A `whole` object is written by the server itself.
  if (target.part === 'whole' || target.kind.group === exemptGroup) return undefined;
  return {
    kind: kinds.presented(target.kind),
    subresource: subresourceOf(target.part) ?? '',
    operation: operations[operation],
  };
}

export interface GroupVersionKind {
  readonly group: string;
  readonly version: string;
  readonly kind: string;
}

/** The selectors of a webhook or policy. */
interface Selectors {
  readonly namespaceSelector: LabelSelector;
  readonly objectSelector: LabelSelector;
}

/** An object and its stored state in one version. */
interface Versioned {
  readonly object: ApiObject | undefined;
  readonly old: ApiObject | undefined;
}

export class AskedWrite {
  /** Objects converted by a conversion webhook. */
  readonly #converted = new Map<Kind, Versioned>();

  constructor(
    private readonly registry: Registry,
    readonly admission: Admission,
    readonly question: WriteQuestion,
  ) {}

  /** The namespace of the write; a namespace counts as being inside itself. */
  get namespace(): string {
    const { kind, namespace } = this.admission.target;
    return kind.id === 'core/namespaces' ? this.name : namespace;
  }

  get name(): string {
    const { target, object } = this.admission;
    return target.name || (object?.metadata?.name ?? '');
  }

  isSelectedBy({ namespaceSelector, objectSelector }: Selectors): boolean {
    return (
      (namespaceSelector.empty || this.#isInSelectedNamespace(namespaceSelector)) &&
      (objectSelector.empty || this.#labelSets().some((labels) => objectSelector.matches(labels)))
    );
  }

  #isInSelectedNamespace(selector: LabelSelector): boolean {
    const { kind } = this.question;
    if (kind.id !== 'core/namespaces' && !kind.namespaced) return true;
    return selector.matches(this.#namespaceLabels());
  }

  #namespaceLabels(): Labels | undefined {
    const { object, target } = this.admission;
    if (object && target.kind.id === 'core/namespaces' && !ownBodies.has(target.part))
      return object.metadata.labels;
    return this.registry.view.collection('core/namespaces').get('', this.namespace)?.peek().metadata.labels;
  }

  /** The labels of the new and of the stored object, where they exist. */
  #labelSets(): Labels[] {
    const { object, old } = this.admission;
    return [object, old].flatMap((one) => (one?.metadata ? [one.metadata.labels ?? {}] : []));
  }

  /** The kind of what is sent: of the object, of its scale, or of the body of a connection. */
  kindIn(version: Kind): GroupVersionKind {
    const { target, object } = this.admission;
    if (target.part === 'scale') return groupVersionKind(scaleForm(target.kind));
    if (object && ownBodies.has(target.part))
      return groupVersionKind(object as { kind: string; apiVersion: string });
    return { group: version.group, version: version.version, kind: version.kind };
  }

  /** Converts the objects to a version; call it before requesting their text, because a webhook may be needed. */
  async prepare(version: Kind): Promise<void> {
    const { object, old, target } = this.admission;
    if (version === target.kind || !version.conversion || this.#converted.has(version)) return;
    const objects = [object, old].filter((one) => one !== undefined);
    const results = await version.conversion.convert(objects.map(copyOf), version);
    const [first, second] = results;
    this.#converted.set(version, object ? { object: first, old: second } : { object: undefined, old: first });
  }

  /** The JSON of the new object in a version, or `null`. */
  objectText(version: Kind): string {
    const { object, target } = this.admission;
    if (!object) return 'null';
    return ownBodies.has(target.part) ? jsonText(object) : this.#text(object, version, 'object');
  }

  /** The JSON of the stored object in a version, or `null`. */
  oldText(version: Kind): string {
    const { old } = this.admission;
    return old ? this.#text(old, version, 'old') : 'null';
  }

  #text(object: ApiObject, version: Kind, which: keyof Versioned): string {
    const { kind, part } = this.admission.target;
    if (part === 'scale') {
      const form = scaleForm(kind);
      return modelText(form, scaleOfObject(kind, object, form));
    }
    return modelText(version, this.#converted.get(version)?.[which] ?? inVersion(object, kind, version));
  }

  /**
   * Applies a JSON patch to the object in the version that was sent, and adopts the result. Returns whether it changed
   * anything; throws a Status when the patch cannot be applied.
   */
  async patch(version: Kind, patch: Buffer): Promise<boolean> {
    const operations = await operationsIn(patch);
    return this.replace(version, patchedDocument(parseExact(this.objectText(version)), operations));
  }

  /** Adopts a changed object in a version. Returns whether it differs. */
  async replace(version: Kind, document: unknown): Promise<boolean> {
    const { kind } = this.question;
    const before = this.objectText(kind);
    await this.#take(version, document);
    this.#converted.clear();
    return this.objectText(kind) !== before;
  }

  async #take(version: Kind, patched: unknown): Promise<void> {
    const { target, operation } = this.admission;
    const object = this.admission.object!;
    const { kind, apiVersion } = object;
    if (target.part === 'scale') {
      const scale = decoded(scaleForm(target.kind).model, patched) as unknown as Scale;
      const { replicas = 0 } = scale.spec ?? {};
      if (target.kind.scaling?.paths) rescaled(object, target.kind.scaling?.paths, replicas);
      else object.spec = { ...(object.spec as object), replicas };
      return;
    }
    const model = ownBodies.has(target.part) ? findModel(kind ?? '') : version.model;
    if (!model) return;
    const result = decoded(model, patched) as unknown as ApiObject;
    if (!ownBodies.has(target.part)) {
      result.kind = version.kind;
      result.apiVersion = version.apiVersion;
      version.prune?.(result, []);
      version.defaults?.(result);
      if (operation === 'update' && result.metadata.name !== target.name)
        throw badRequest(
          `the name of the object (${result.metadata.name}) does not match the name on the URL (${target.name})`,
        );
    }
    const own =
      version !== target.kind && target.kind.conversion
        ? (await target.kind.conversion.convert([result], target.kind))[0]!
        : inVersion(result, version, target.kind, object);
    replaceContent(object, { ...own, kind, apiVersion });
  }
}

const scaleForm = ({ apiVersion, scaling }: Kind): ScaleForm =>
  scaling?.paths ? customScaleForm : scaleFormOf(apiVersion);

function groupVersionKind({ kind, apiVersion }: { kind: string; apiVersion: string }): GroupVersionKind {
  const slash = apiVersion.indexOf('/');
  return { group: apiVersion.slice(0, Math.max(slash, 0)), version: apiVersion.slice(slash + 1), kind };
}

/** An object in another version of its kind; `old` provides fields that the first version lacks. */
function inVersion(object: ApiObject, from: Kind, to: Kind, old?: ApiObject): ApiObject {
  if (from === to) return object;
  // Versions of custom kinds differ in their name alone; defaults come with the next read.
  if (to.custom) return { ...copyOf(object), apiVersion: to.apiVersion };
  const stored = from.stored ? from.stored.toStored(copyOf(object), old && storedForm(old, to)) : object;
  return to.stored ? to.stored.fromStored(copyOf(stored)) : stored;
}

const storedForm = (object: ApiObject, { stored }: Kind): ApiObject =>
  stored ? stored.toStored(copyOf(object), undefined) : object;

const copyOf = (object: ApiObject): ApiObject => cloneJson(object) as ApiObject;

function modelText({ model, kind, apiVersion }: Kind | ScaleForm, object: ApiObject): string {
  const { selfLink: _, ...metadata } = object.metadata;
  return encodeObject(model, { ...object, kind, apiVersion, metadata } as unknown as JsonObject);
}

/** The operations of a patch, which may be as long as an answer. */
async function operationsIn(patch: Buffer): Promise<JsonPatch> {
  try {
    const { value } = await readSentJson(patch);
    return parseJsonPatch(value);
  } catch (error) {
    if (error instanceof PatchError || error instanceof JsonError) throw internal(error.message);
    throw error;
  }
}

function patchedDocument(document: unknown, patch: JsonPatch): unknown {
  try {
    return applyJsonPatch(document, patch);
  } catch (error) {
    if (error instanceof PatchError) throw internal(jsonPatchFailure(document, patch).text);
    throw error;
  }
}

function decoded(model: Model, value: unknown): JsonObject {
  try {
    return decodeObject(model, value);
  } catch (error) {
    if (error instanceof DecodeError) throw internal(error.message);
    throw error;
  }
}

/** Replaces the content in place, because the verbs keep a reference to the object. */
function replaceContent(object: ApiObject, content: ApiObject): void {
  const target = object as unknown as JsonObject;
  for (const key of Object.keys(target)) delete target[key];
  Object.assign(target, content);
}
