/**
 * Late finalizing of namespaces. Test suites for servers without a namespace controller delete a namespace, read it,
 * and remove its finalizer themselves. Where a controller does that, too, both succeed: finalizing a namespace that has
 * changed or is gone already is not a conflict.
 */
import { StatusError } from '../../api/errors/errors.ts';
import type { ApiObject } from '../../api/text/object.ts';
import type { Request } from '../request.ts';
import type { Target } from '../target.ts';
import { Entry } from '../view/entry.ts';
import type { Writing } from '../writing.ts';
import { modify } from './modify.ts';

/** @param replacement decodes the namespace that the client sent, again with every call */
export async function finalizeLate(
  writing: Writing,
  request: Request,
  target: Target,
  replacement: (current?: Entry) => ApiObject,
): Promise<Entry> {
  const { kind, namespace, name } = target;
  const sent = replacement();
  const { uid, deletionTimestamp } = sent.metadata;
  const isOther = (current: Entry | undefined): boolean => uid !== undefined && current?.uid !== uid;
  const found = writing.registry.view.collection(kind).get(namespace, name);
  try {
    if (!found || !isOther(found))
      return await modify(writing, request, target, (current) => {
        const object = replacement(current);
        if (current.mayBeMarked && !isOther(current)) delete object.metadata.resourceVersion;
        return object;
      });
  } catch (error) {
    if (!(error instanceof StatusError && error.code === 404)) throw error;
    if (!uid || !deletionTimestamp) throw error;
  }
  if (!uid || !deletionTimestamp) return modify(writing, request, target, replacement);
  return Entry.of(kind, namespace, name, writing.registry.encode(request, target, sent), 0);
}
