/** Selection: parses the selectors of a list or watch request into a filter. */
import { badRequest } from '../../api/errors/errors.ts';
import { FieldSelector, parseFieldSelector } from '../../api/kind/field-selector.ts';
import type { Kind } from '../../api/kind/kind.ts';
import { parseLabelSelector } from '../../api/kind/label-selector.ts';
import { Filter } from './filter.ts';

export interface Selection {
  /** undefined: all namespaces. */
  readonly namespace: string | undefined;
  /** Only the object of this name. */
  readonly name?: string;
  readonly labelSelector?: string;
  readonly fieldSelector?: string;
}

export function filterOf(kind: Kind, selection: Selection): Filter {
  const labels = selection.labelSelector
    ? asBadRequest(() => parseLabelSelector(selection.labelSelector!))
    : undefined;
  const fields = selection.fieldSelector
    ? asBadRequest(() => parseFieldSelector(selection.fieldSelector!))
    : undefined;
  const known =
    fields && new FieldSelector(fields.terms.map((term) => ({ ...term, path: knownPath(kind, term.path) })));
  let name = selection.name;
  if (known) {
    const required = known.requires('metadata.name');
    if (name !== undefined && !known.empty && required !== name)
      throw badRequest("fieldSelector metadata.name doesn't match requested name");
    name ??= required;
  }
  const as = known && fieldsVersion(kind, known);
  const { labelSelector = '', fieldSelector = '' } = selection;
  const selectors = JSON.stringify([labelSelector, fieldSelector, as?.apiVersion]);
  return new Filter(kind.namespaced ? selection.namespace : '', name, labels, known, selectors, as);
}

/**
 * The version in which fields are read, because custom kinds may have them elsewhere in each version. Undefined when
 * the stored version will do.
 */
function fieldsVersion(kind: Kind, { terms }: FieldSelector): Kind | undefined {
  if (!kind.custom || (kind === kind.storage && !kind.conversion)) return undefined;
  return terms.every(({ path }) => path.startsWith('metadata.')) ? undefined : kind;
}

/** The canonical field path of a field selector, old names included; other fields are refused. */
function knownPath(kind: Kind, path: string): string {
  if (path === 'metadata.name') return path;
  if (path === 'metadata.namespace' && kind.namespaced) return path;
  const now = Object.hasOwn(kind.fieldAliases, path) ? kind.fieldAliases[path]! : path;
  if (Object.hasOwn(kind.selectableFields, now)) return now;
  if (kind.unknownField) throw badRequest(kind.unknownField(path));
  throw badRequest(
    Object.keys(kind.selectableFields).length
      ? `field label not supported: ${path}`
      : `"${path}" is not a known field selector: only "metadata.name", "metadata.namespace"`,
  );
}

function asBadRequest<T>(parse: () => T): T {
  try {
    return parse();
  } catch (error) {
    throw badRequest((error as Error).message);
  }
}
